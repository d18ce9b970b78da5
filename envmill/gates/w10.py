"""W10: the program is new. A copy under other names, in another order, or with unused code added is
not new."""

from collections.abc import Iterable, Iterator, Mapping

from envmill.gates.base import Finding, drop, keep
from envmill.gates.mutating.sketch import PERMUTATIONS, Sketch, make_sketch
from envmill.lake.spool import RowSpool, Shelf
from envmill.language.similarity import Near
from schemas.environment import Environment
from schemas.ledger import Evidence

GATE = "W10"

NEAR = 0.92
"""Containment from which two programs with the same rules count as one. A copy that was renamed,
reordered, reworded or padded is contained completely. Of 246 offline environments in 41 domains, no
two with the same rules share 0.7. Many with other rules share 0.9."""
_WORTH = 0.6
"""Likeness from which two are compared closely: padding by a third brings a copy down to 0.75."""


Seen = tuple[str, Sketch]
"""An environment's id, and its sketch for comparison."""


def find_duplicates(
    environments: Iterable[Environment], earlier: Iterable[Seen] = (), given: bool = False
) -> Mapping[str, Finding]:
    """The findings for a few environments, in any order."""
    return dict(stream_duplicates(sorted(environments, key=lambda one: one.id), earlier, given))


def stream_duplicates(
    environments: Iterable[Environment], earlier: Iterable[Seen] = (), given: bool = False
) -> Iterator[tuple[str, Finding]]:
    """A decision over the whole set, which comes in id order: the first of a kind is kept.
    `earlier` are environments of other runs, which come before all others.

    Environments that are `given` with the factory come again once all were used. They are no
    copies, so they are compared within their own run only.
    """
    before, index = _Index(), _Index()
    for name, sketch in earlier:
        before.add(name, sketch, first=True)
        if not given:
            index.add(name, sketch, first=True)
    for environment in environments:
        sketch = make_sketch(environment)
        twin, reason, share = index.find(environment.id, sketch)
        if twin:
            words = (
                f"same structure as {twin}"
                if reason == "duplicate"
                else f"{share:.0%} of it is in {twin}, and its rules are the same"
            )
            yield (
                environment.id,
                drop(GATE, reason, words, {"twin": twin, "contained": round(share, 3)}),
            )
        else:
            yield (
                environment.id,
                keep(GATE, {"sketch": sketch.describe(), "known": before.find_structure(sketch)}),
            )
            index.add(environment.id, sketch)


def read_seen(dossiers: Iterable[Evidence]) -> Iterator[Seen]:
    """The environments that this gate kept in other runs, from its own evidence. Evidence of older
    versions has no sketch."""
    for row in dossiers:
        if row.gate == GATE and "sketch" in row.finding:
            yield row.subject, Sketch.read(row.finding["sketch"])


class _Index:
    """Sketches of the environments that were kept. Memory holds their names only."""

    def __init__(self) -> None:
        spool = RowSpool()
        self._sketches: Shelf[Sketch] = spool.shelve(lambda sketch: sketch.describe(), Sketch.read)
        self._known: set[str] = set()
        self._structures: dict[str, str] = {}
        self._near = Near(_WORTH, PERMUTATIONS)

    def add(self, name: str, sketch: Sketch, *, first: bool = False) -> None:
        """With `first`, the environment with the first id stands for its structure, in whatever
        order the environments come."""
        if name in self._known:
            return
        self._known.add(name)
        self._sketches.put_all([(name, sketch)])
        there = self._structures.setdefault(sketch.structure, name)
        if first:
            self._structures[sketch.structure] = min(there, name)
        self._near.add_sketch(name, sketch.hash_shingles())

    def find_structure(self, sketch: Sketch) -> str:
        """The first of this structure, by id; empty where there is none."""
        return self._structures.get(sketch.structure, "")

    def find(self, name: str, sketch: Sketch) -> tuple[str, str, float]:
        """The twin, the reason, and the share of the smaller program that the larger one contains.
        An environment is no twin of itself."""
        twin = self._structures.get(sketch.structure, "")
        if twin and twin != name:
            return twin, "duplicate", 1.0
        found = {
            one: self._sketches.get(one)
            for one in self._near.find_sketch(sketch.hash_shingles())
            if one != name
        }
        shares = {
            one: sketch.contain(other)
            for one, other in found.items()
            if other and other.guards == sketch.guards
        }
        best = min(shares, key=lambda one: (-shares[one], one), default="")
        return (
            (best, "near_duplicate", shares[best])
            if best and shares[best] >= NEAR
            else ("", "", 0.0)
        )
