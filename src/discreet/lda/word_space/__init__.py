"""Public word vectors as a space in which topics lie: directions, and topics of the vectors alone."""
