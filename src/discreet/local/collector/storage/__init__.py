"""Where reports are kept, each exactly once: SQLite or PostgreSQL, and the sums that are brought up to date."""
