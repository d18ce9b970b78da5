"""Measurements against targets: `make bench`, or `make bench AREA=sandbox`. One file per area, each
with a function `rows`."""
