"""W10: the same structure again, and structures that differ."""

import random

import pytest

from envmill.gates.mutating.sketch import PERMUTATIONS, Sketch, make_sketch
from envmill.gates.w10 import NEAR, find_duplicates, read_seen
from schemas.environment import Environment
from schemas.ledger import Evidence
from tests.gates.specimens import make_studio
from tests.gates.specimens.studio import PROGRAM as STUDIO
from tests.specimens import PROGRAM, make_environment


def test_takes_a_program_deeper_than_our_stack() -> None:
    deep = "def pick(x):\n    if x == 0: return 0\n" + "".join(
        f"    elif x == {n}: return {n}\n" for n in range(1, 3000)
    )
    assert find_duplicates([make_environment(PROGRAM + deep), make_environment()]).values()


def test_keeps_the_first_of_a_structure_in_id_order() -> None:
    twins = [
        make_environment(
            PROGRAM.replace("drill", "x").replace("Shed", "Barn").replace("lent", "gone")
        ),
        make_environment(),
    ]
    other = make_environment(
        PROGRAM.replace("if not self.tools", "if self.loans or not self.tools")
    )
    findings = find_duplicates([*twins, other])
    first, second = sorted(twins, key=lambda one: one.id)
    assert [findings[one.id].outcome for one in (first, second, other)] == [
        "kept",
        "dropped",
        "kept",
    ]
    assert find_duplicates([other, *reversed(twins)]) == findings


_IDLE = """
    def _tell(self, rows: dict) -> str:
        names = sorted(row["name"] for row in rows.values())
        return ", ".join(names)
"""


def move_first_method_last(program: str) -> str:
    """The same class with its methods in another order."""
    start, end = program.index("    def find_members"), program.index("    def list_classes")
    return program[:start] + program[end:].rstrip() + "\n\n" + program[start:end].rstrip() + "\n"


COPIES = {
    "renamed": STUDIO.replace("member", "guest")
    .replace("booking", "ticket")
    .replace("wanted", "sought"),
    "in another order": move_first_method_last(STUDIO),
    "with something idle": STUDIO + _IDLE,
    "reworded": STUDIO.replace("look it up first", "ask for the list").replace(
        "Find members", "Search the people"
    ),
}
OTHERS = {
    "a rule more": STUDIO.replace(
        "        price = seats",
        "        if seats > 3:\n            raise Rejection('many', 'Too many.')\n        price = seats",
    ),
    "a rule less": STUDIO.replace("if seats > course", "if False and seats > course"),
    "a limit compared otherwise": STUDIO.replace(
        'if price > member["balance"]', 'if price >= member["balance"]'
    ),
}


@pytest.mark.parametrize("copy", COPIES)
def test_drops_a_copy(copy: str) -> None:
    findings = find_duplicates(
        [make_studio(), make_studio(COPIES[copy], tools=make_studio().tools)]
    )
    assert sorted(finding.outcome for finding in findings.values()) == ["dropped", "kept"], findings
    assert {finding.reason for finding in findings.values()} <= {"", "duplicate", "near_duplicate"}


@pytest.mark.parametrize("other", OTHERS)
def test_keeps_a_program_with_another_rule(other: str) -> None:
    assert OTHERS[other] != STUDIO
    findings = find_duplicates([make_studio(), make_studio(OTHERS[other])])
    assert [finding.outcome for finding in findings.values()] == ["kept", "kept"], findings


def test_what_an_earlier_run_made_comes_first() -> None:
    """Its evidence is all that is left of it."""
    first = find_duplicates([make_studio()])
    kept = [
        Evidence(gate="W10", subject=name, finding=finding.evidence)
        for name, finding in first.items()
    ]
    other = Evidence(gate="W3", subject="env_x", finding={"tests": 9})
    seen = list(read_seen([*kept, other]))
    copy = make_studio(COPIES["in another order"])
    (finding,) = find_duplicates([copy], seen).values()
    assert (finding.outcome, finding.evidence["twin"]) == ("dropped", make_studio().id)
    (again,) = find_duplicates([make_studio()], seen).values()
    assert again.outcome == "kept"


def draw_programs(dice: random.Random, count: int) -> list[Environment]:
    """Copies and others, some with an idle method of random statements."""

    def draw_idle(place: int) -> str:
        lines = [
            f"        x = [y {dice.choice('+-*')} {n} for y in z if y {dice.choice('<>')} len(q){'[0]' * dice.randrange(4)}]"
            for n in range(9)
        ]
        return (
            f"\n    def _idle_{place}(self, z: list, q: str) -> None:\n" + "\n".join(lines) + "\n"
        )

    sources = [STUDIO, *COPIES.values(), *OTHERS.values()]
    made = [
        dice.choice(sources) + "".join(draw_idle(place) for place in range(dice.choice([0, 0, 1])))
        for _ in range(count)
    ]
    return [make_studio(program, tools=make_studio().tools) for program in made]


def compare_all(
    environments: list[Environment], seen: dict[str, Sketch]
) -> dict[str, tuple[str, str, str]]:
    """The decision as it reads: every program beside those that were kept and that an index in memory finds worth comparing."""
    # Imported here because the import takes a second, and every process that collects tests would pay for it.
    from datasketch import MinHash, MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

    def hash_all(sketch: Sketch) -> MinHash:
        return MinHash(hashvalues=sketch.hash_shingles(), scheme="affine32")

    kept, found, index = (
        dict(sorted(seen.items())),
        dict[str, tuple[str, str, str]](),
        MinHashLSH(threshold=0.6, num_perm=PERMUTATIONS),
    )
    for name, sketch in kept.items():
        index.insert(name, hash_all(sketch))
    for one in sorted(environments, key=lambda environment: environment.id):
        own = make_sketch(one)
        same = [name for name, other in kept.items() if other.structure == own.structure]
        worth = {str(name) for name in index.query(hash_all(own))} - {one.id}  # pyright: ignore[reportUnknownMemberType]
        near = [
            (-own.contain(kept[name]), name) for name in worth if kept[name].guards == own.guards
        ]
        if same and same[0] != one.id:
            found[one.id] = "dropped", "duplicate", same[0]
        elif near and -min(near)[0] >= NEAR:
            found[one.id] = "dropped", "near_duplicate", min(near)[1]
        else:
            found[one.id] = "kept", "", ""
            if one.id not in kept:
                kept[one.id] = own
                index.insert(one.id, hash_all(own))
    return found


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("seed", range(3))
def test_decides_on_disk_what_a_comparison_of_all_decides(seed: int) -> None:
    dice = random.Random(seed)
    environments, before = draw_programs(dice, 40), draw_programs(dice, 6)
    seen = {one.id: make_sketch(one) for one in before}
    found = find_duplicates(environments, dice.sample([*seen.items()], len(seen)))
    told = {
        name: (one.outcome, one.reason, "" if one.outcome == "kept" else one.evidence["twin"])
        for name, one in found.items()
    }
    assert told == compare_all(environments, seen)
    assert len({reason for _, reason, _ in told.values()}) >= 2
