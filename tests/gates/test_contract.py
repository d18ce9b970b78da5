"""What every gate owes: a place in the table, a page, reason codes that the page explains, specimens on both sides."""

import inspect
import re
import sys

import pytest

from envmill.gates import DECISIONS, ENVIRONMENT_GATES, GATES, SCENARIO_GATES, w10
from envmill.settings import ROOT
from tests.gates.specimens.faults import DROPPED, KEPT

PAGES = ROOT / "docs" / "gates"
_REASON = re.compile(r"""(?:drop|skip|pass_by)\(\s*GATE,\s*"(\w+)"|(?:Breach\(|yield )"([a-z_]+)",""")
_SECTIONS = ("**Catches.**", "**Really seen.**", "**Does.**", "**Costs.**", "| reason code |", "**A specimen.**")
ENVIRONMENTS = [*(gate.name for gate in ENVIRONMENT_GATES if gate.name != "W4"), "W10"]


def read_page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def list_reasons(name: str) -> set[str]:
    """Reason codes in the text of the gate's module, and of those that W12 asks."""
    module = w10 if name == "W10" else sys.modules[GATES[name].look.__module__]
    modules = [module, *([sys.modules[f"envmill.gates.{one}"] for one in ("relations", "vocabulary", "amounts")] if name == "W12" else [])]
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
        assert sys.modules[gate.look.__module__].__dict__["GATE"] == name
        assert gate.title.endswith("?")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_its_page_says_what_it_catches_and_explains_every_reason(name: str) -> None:
    page = read_page(name)
    assert page.startswith(f"# {name}: ")
    assert [section for section in _SECTIONS if section not in page] == []
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert list_reasons(name) - told == set()
    assert {reason for _, reason, _ in DROPPED.get(name, ())} - told == set()


@pytest.mark.parametrize("name", sorted(DROPPED))
def test_it_has_specimens_on_both_sides(name: str) -> None:
    assert len(DROPPED[name]) >= 3
    assert len(KEPT[name]) >= 3
