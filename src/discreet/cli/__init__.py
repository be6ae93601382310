"""The command `discreet`: thin, one file a sub-command.

Exit codes: 0 done, 2 bad input or refused, 3 an audit found more than was promised, 4 there is nothing to send.
"""

import sys

try:  # what is imported takes half a second
    from discreet.cli.app import main
except KeyboardInterrupt:
    sys.stderr.write("discreet: interrupted: nothing was read or booked.\n")
    sys.exit(130)

__all__ = ["main"]
