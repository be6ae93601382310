"""Starting topics for a Gibbs chain: stepwise CVB0 over small batches of documents, then one draw for each token."""
