"""The version, alone, so that a release can name it without importing the package."""

__all__ = ["__version__"]

__version__ = "0.1.0"
