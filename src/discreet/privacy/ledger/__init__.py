"""The ledger: a budget for one corpus, booked before the data are read, in memory or in a file."""
