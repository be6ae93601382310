"""What a round of training is made of: units, bounded statistics, integer sums, and how the budget is laid out."""
