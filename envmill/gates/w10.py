"""W10: not a program that was there before: a copy under other names, in another order, or with
something idle added."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envmill.gates.base import Finding, drop, keep
from envmill.gates.mutating.sketch import PERMUTATIONS, Sketch, make_sketch
from schemas.environment import Environment
from schemas.ledger import Evidence

GATE = "W10"

NEAR = 0.92
"""Containment from which two programs with the same rules are one. Copies that were renamed,
reordered, reworded or padded are contained wholly; of 246 offline environments of 41 domains no two
with the same rules share 0.7, though with other rules many share 0.9."""
_WORTH = 0.6
"""Likeness from which two are compared closely: padding by a third brings a copy down to 0.75."""


Seen = tuple[str, Sketch]
"""An environment's id, and what is compared of it."""


def find_duplicates(
    environments: Sequence[Environment], earlier: Iterable[Seen] = (), given: bool = False
) -> Mapping[str, Finding]:
    """A decision over the whole set, in id order: the first of a kind is kept. `earlier` are those
    of other runs, which come before all.

    Environments that are `given` with the factory come again when all were used. Nobody copied
    them: they are held against their run alone.
    """
    before, index = _Index(), _Index()
    for name, sketch in sorted(earlier, key=lambda one: one[0]):
        before.add(name, sketch)
        if not given:
            index.add(name, sketch)
    findings: dict[str, Finding] = {}
    for environment in sorted(environments, key=lambda one: one.id):
        sketch = make_sketch(environment)
        twin, reason, share = index.find(environment.id, sketch)
        if twin:
            words = (
                f"same structure as {twin}"
                if reason == "duplicate"
                else f"{share:.0%} of it is in {twin}, and its rules are the same"
            )
            findings[environment.id] = drop(
                GATE, reason, words, {"twin": twin, "contained": round(share, 3)}
            )
        else:
            findings[environment.id] = keep(
                GATE, {"sketch": sketch.describe(), "known": before.find_structure(sketch)}
            )
            index.add(environment.id, sketch)
    return findings


def read_seen(dossiers: Iterable[Evidence]) -> Iterator[Seen]:
    """What this gate kept elsewhere, out of its own evidence; that of older versions holds no
    sketch."""
    for row in dossiers:
        if row.gate == GATE and "sketch" in row.finding:
            yield row.subject, Sketch.read(row.finding["sketch"])


class _Index:
    """Sketches of what was kept."""

    def __init__(self) -> None:
        # Imported late: a second, of scipy and redis, that only those pay who compare.
        from datasketch import MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

        self._sketches: dict[str, Sketch] = {}
        self._structures: dict[str, str] = {}
        self._near = MinHashLSH(threshold=_WORTH, num_perm=PERMUTATIONS)

    def add(self, name: str, sketch: Sketch) -> None:
        if name in self._sketches:
            return
        self._sketches[name] = sketch
        self._structures.setdefault(sketch.structure, name)
        self._near.insert(name, sketch.hash_shingles())

    def find_structure(self, sketch: Sketch) -> str:
        """The first of this structure, by id; empty where there is none."""
        return self._structures.get(sketch.structure, "")

    def find(self, name: str, sketch: Sketch) -> tuple[str, str, float]:
        """The twin, why it is one, and how much of the smaller is in the larger; an environment is
        no twin of itself."""
        twin = self._structures.get(sketch.structure, "")
        if twin and twin != name:
            return twin, "duplicate", 1.0
        near = self._near.query(sketch.hash_shingles())  # pyright: ignore[reportUnknownMemberType]
        found = [str(one) for one in near if one != name]
        shares = {
            one: sketch.contain(self._sketches[one])
            for one in found
            if self._sketches[one].guards == sketch.guards
        }
        best = min(shares, key=lambda one: (-shares[one], one), default="")
        return (
            (best, "near_duplicate", shares[best])
            if best and shares[best] >= NEAR
            else ("", "", 0.0)
        )
