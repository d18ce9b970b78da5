"""Two vendors on loopback, in a process of their own: their wire formats, their batches, and every
way they can fail.

`launch.py` is the only part a test imports; the rest runs in the other process and imports nothing of the engine, so that a misreading of
a format cannot hide on both sides.
"""
