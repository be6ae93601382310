"""The exact sweep from a frozen word-topic table: kernel, sweep, and the same in plain NumPy."""
