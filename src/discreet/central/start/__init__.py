"""Where the topics start: noisy counts and co-occurrences, read through a denoiser and factorised."""
