"""Accountants of earlier papers, kept for their figures."""
