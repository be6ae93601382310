"""What is released of the units: integer sums over them, each unit held to norm 1."""
