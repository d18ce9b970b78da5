"""What every gate owes: a place in the table, a page, reason codes that the page explains,
specimens on both sides."""

import inspect
import re
import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

from envmill.base.settings import ROOT
from envmill.gates import (
    DECISIONS,
    ENVIRONMENT_GATES,
    GATES,
    SCENARIO_GATES,
    f1,
    f2,
    f3,
    f4,
    f5,
    w10,
)
from envmill.gates import protected_texts as protected
from tests.gates.specimens.faults import DROPPED, KEPT
from tests.gates.specimens.filtering import CONTAMINATED, REPEATS, SOLVED, TRIVIAL, UNTRAINABLE

PAGES = ROOT / "docs" / "gates"
_REASON = re.compile(
    r"""(?:drop|skip|pass_by)\(\s*GATE,\s*"(\w+)"|(?:Breach\(\s*|Hit\(\s*|yield (?:\(\s*)?)"([a-z_]+)","""
)
_SECTIONS = (
    "**Catches.**",
    "**Really seen.**",
    "**Does.**",
    "**Costs.**",
    "| reason code |",
    "**A specimen.**",
)
FILTERS = {"F1": [f1], "F2": [f2], "F3": [f3, protected], "F4": [f4], "F5": [f5]}
FILTERED = {
    "F1": [reason for _, reason in SOLVED.values()],
    "F2": [reason for *_, reason in TRIVIAL.values()],
    "F3": [reason for _, reason in CONTAMINATED.values()],
    "F4": [reason for *_, reason in REPEATS.values()],
    "F5": [reason for *_, reason in UNTRAINABLE.values()],
}
"""Gate of the filter → the reason of each specimen, empty where it is kept."""
ENVIRONMENTS = [*(gate.name for gate in ENVIRONMENT_GATES if gate.name != "W4"), "W10"]


def read_page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def list_reasons(name: str) -> set[str]:
    """Reason codes in the text of the gate's module, and of those that W12 asks."""
    if name in FILTERS:
        return _read_reasons(FILTERS[name])
    module = w10 if name == "W10" else sys.modules[GATES[name].check.__module__]
    modules = [
        module,
        *(
            [
                sys.modules[f"envmill.gates.exploring.{one}"]
                for one in ("relations", "vocabulary", "amounts")
            ]
            if name == "W12"
            else []
        ),
    ]
    return _read_reasons(modules)


def _read_reasons(modules: Sequence[ModuleType]) -> set[str]:
    found = [pair for one in modules for pair in _REASON.findall(inspect.getsource(one))]
    return {one or other for one, other in found}


def test_every_gate_stands_in_one_table_under_its_own_name() -> None:
    names = [gate.name for gate in (*ENVIRONMENT_GATES, *SCENARIO_GATES)]
    assert len(set(names)) == len(names)
    assert set(GATES) == set(names)
    assert not set(names) & set(DECISIONS)
    assert {gate.lap for gate in ENVIRONMENT_GATES} == {"environments"}
    assert {gate.lap for gate in SCENARIO_GATES} == {"scenarios"}
    for name, gate in GATES.items():
        assert sys.modules[gate.check.__module__].__dict__["GATE"] == name
        assert gate.title.endswith("?")


@pytest.mark.parametrize("name", [*ENVIRONMENTS, *FILTERS])
def test_its_page_says_what_it_catches_and_explains_every_reason(name: str) -> None:
    page = read_page(name)
    assert page.startswith(f"# {name}: ")
    assert [section for section in _SECTIONS if section not in page] == []
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert list_reasons(name) - told == set()
    assert {reason for _, reason, _ in DROPPED.get(name, ())} - told == set()
    assert set(FILTERED.get(name, ())) - told <= {""}


@pytest.mark.parametrize("name", sorted(DROPPED))
def test_it_has_specimens_on_both_sides(name: str) -> None:
    assert len(DROPPED[name]) >= 3
    assert len(KEPT[name]) >= 3


@pytest.mark.parametrize("name", FILTERS)
def test_a_gate_of_the_filter_has_specimens_on_both_sides(name: str) -> None:
    dropped = [reason for reason in FILTERED[name] if reason]
    assert len(dropped) >= 3
    assert len(FILTERED[name]) - len(dropped) >= 3
    assert set(DECISIONS) == {*FILTERS, "W10"}
