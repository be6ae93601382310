"""The cards of releases, in Markdown."""
