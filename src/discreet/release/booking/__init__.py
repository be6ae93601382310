"""What a private estimator books, and what it must refuse or warn of before it does."""
