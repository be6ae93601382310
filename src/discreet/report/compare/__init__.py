"""Two releases side by side: what grew, what vanished, and the page that shows it."""
