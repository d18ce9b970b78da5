"""The rules that no stored test breaks."""

from offline.domain import Domain
from schemas.base import Contract, Json
from schemas.coverage import CoverageReply


def answer_coverage(_inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    """The embedded judge misses nothing among tests: it is a test double, and its author writes one
    for each rule."""
    return CoverageReply(missing=[])
