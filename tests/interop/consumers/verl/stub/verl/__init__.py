"""What the adapter takes of verl, where it is not installed."""
