"""Word-level privacy: Gibbs sampling that hides single words, its cost, its baselines."""
