"""Programs and reference paths with one change each, and comparisons of programs by their
syntax."""
