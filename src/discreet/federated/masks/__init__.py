"""Sums that nobody sees the parts of, and the noise that silos bring together."""
