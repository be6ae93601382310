"""Formats that hold counts: one module a format, read and write side by side."""
