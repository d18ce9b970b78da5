"""W10: the same structure again, and structures that differ."""

import pytest

from envmill.gates.w10 import find_duplicates, read_seen
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
        "        if seats > 3:\n            raise Rejection('many', 'Too many.')\n        price "
        "= seats",
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
