"""Formats of corpora: one module a format, and what they share."""
