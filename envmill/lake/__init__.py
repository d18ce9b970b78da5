"""The lake: Parquet tables in immutable files, the journal of model calls, and SQL over both."""
