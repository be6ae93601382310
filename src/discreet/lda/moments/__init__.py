"""Moments of words and pairs of words, and topics fitted to them."""
