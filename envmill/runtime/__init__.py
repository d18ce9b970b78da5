"""What a generated program may import of ours. Standard library only: this folder runs inside the
jail."""

from envmill.runtime.actors import actors, discoverable
from envmill.runtime.blob import Blob
from envmill.runtime.coupling import coupling
from envmill.runtime.rejection import Rejection
from envmill.runtime.world import new_id, notify, now, rng

__all__ = [
    "Blob",
    "Rejection",
    "actors",
    "coupling",
    "discoverable",
    "new_id",
    "notify",
    "now",
    "rng",
]
