"""Choosing words privately: which words of private texts may be named at all."""
