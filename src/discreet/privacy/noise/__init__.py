"""Exact noise: one stream of secure randomness, and a module for each distribution."""
