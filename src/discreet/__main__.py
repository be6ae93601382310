"""``python -m discreet``: the command, where its folder is not on the path."""

from discreet.cli import main

if __name__ == "__main__":
    main()
