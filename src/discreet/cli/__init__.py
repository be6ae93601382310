"""The command `discreet`: thin, one file a sub-command.

Exit codes: 0 done, 2 bad input or refused, 3 an audit found more than was promised, 4 there is nothing to send.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command. Errors on purpose become one line on standard error, never a traceback."""
    try:  # what is imported takes half a second
        from discreet.cli.app import run
    except KeyboardInterrupt:
        sys.stderr.write("discreet: interrupted: nothing was read or booked.\n")
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
