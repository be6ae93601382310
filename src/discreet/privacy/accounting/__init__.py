"""What was spent: events, their totals, and the curves behind them."""
