"""Prevalence: how much of each released topic stands in each group of private documents, or in each month."""
