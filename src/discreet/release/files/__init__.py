"""A release on disk: its folder, its arrays and its words, read defensively."""
