"""The ledger: a budget for one corpus, booked before the sums are made, in memory or in a file."""
