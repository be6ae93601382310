"""What every room stands on: checks, arrays, persons, files, threads, kernels, progress."""
