"""The exact sweep for many topics, over lists of the topics a word has."""
