"""Names of runners, alone, so that those who only name one import nothing else."""

from typing import Literal

RunnerName = Literal["local", "dask", "ray"]
"""Where the buckets of a run are worked on."""
