"""Formats that hold text: one module a format."""
