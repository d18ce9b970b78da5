"""Samplers by name."""

from envmill.toolgraph.samplers.backward import Backward
from envmill.toolgraph.samplers.base import Sampler
from envmill.toolgraph.samplers.merge import Merge
from envmill.toolgraph.samplers.program import Program
from envmill.toolgraph.samplers.walk import Walk, Weighted

SAMPLERS: dict[str, Sampler] = {
    "walk": Walk(),
    "weighted": Weighted(),
    "backward": Backward(),
    "merge": Merge(),
    "program": Program(),
}
