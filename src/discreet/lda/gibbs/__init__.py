"""Gibbs sampling for LDA: the start, sweeps by table and by lists, what a chain gives, and the estimator."""
