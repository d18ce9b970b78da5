"""Boxes, behind their door: the process that makes them, and the first process inside each.
Standard library only."""
