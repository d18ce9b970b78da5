"""Protected benchmarks: reads their texts from files, and makes sketches that can be compared with
a text but contain none."""
