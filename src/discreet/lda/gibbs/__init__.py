"""Gibbs sampling for LDA: the estimator, its chains, and one folder for each sampler."""
