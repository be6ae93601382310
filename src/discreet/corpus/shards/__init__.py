"""A corpus on disk in pieces, for what is larger than memory: its files, and the writer that streams into them."""
