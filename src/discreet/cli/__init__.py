"""The command `discreet`: thin, one file a sub-command.

Exit codes: 0 done, 2 bad input or refused, 3 an audit found more than was promised, 4 there is nothing to send.
"""

from discreet.cli.app import main

__all__ = ["main"]
