"""What a generated program may import of ours. Standard library only: this folder runs inside the jail."""

from envmill.runtime.rejection import Rejection
from envmill.runtime.world import new_id, now, rng

__all__ = ["Rejection", "new_id", "now", "rng"]
