"""Protected benchmarks: their texts read from files, and sketches of them, which can be compared
with a text and hold none."""
