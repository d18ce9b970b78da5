"""The kind `dialogue`: two sides, coupled, under a policy whose clauses are data."""
