"""Which words a corpus is counted in, where they come from, and what public vectors say of them."""
