"""How often a failure scenario is tried: a few times under `make test`, the full count under `make
soak`."""

import os


def count(reduced: int, full: int) -> int:
    """The full count when ENVMILL_SOAK=1."""
    return full if os.environ.get("ENVMILL_SOAK") == "1" else reduced
