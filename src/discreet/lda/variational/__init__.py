"""Variational Bayes for LDA: the estimator, the steps, the E-step."""
