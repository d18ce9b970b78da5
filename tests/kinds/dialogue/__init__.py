"""The kind `dialogue`."""
