"""Samplers by name."""

from envmill.toolgraph.samplers.backward import BackwardSampler
from envmill.toolgraph.samplers.base import Sampler
from envmill.toolgraph.samplers.linked import LinkedSampler
from envmill.toolgraph.samplers.merge import MergeSampler
from envmill.toolgraph.samplers.program import ProgramSampler
from envmill.toolgraph.samplers.walk import WeightedSampler

SAMPLERS: dict[str, Sampler] = {
    "weighted": WeightedSampler(),
    "backward": BackwardSampler(),
    "merge": MergeSampler(),
    "program": ProgramSampler(),
    "linked": LinkedSampler(),
}
