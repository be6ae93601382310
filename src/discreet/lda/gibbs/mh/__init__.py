"""The Metropolis-Hastings sweep: a constant cost a token."""
