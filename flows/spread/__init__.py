"""Spreading a run: its buckets are worked on by the processes of a Dask or Ray cluster."""
