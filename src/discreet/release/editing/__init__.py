"""What may be done to a release by hand before it leaves: details, words left out, topics named or merged."""
