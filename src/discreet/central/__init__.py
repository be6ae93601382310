"""central."""
