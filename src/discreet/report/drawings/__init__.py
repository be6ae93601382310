"""Drawings in SVG: the map of topics, lines and bands, similarity."""
