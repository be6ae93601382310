"""A battery of checks that any private estimator must pass."""
