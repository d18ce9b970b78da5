"""Tests with rows of their own foretell what the program does, also of rows that the calls before
had made."""

import pytest

from envmill.gates import w3
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.sandbox import Sandbox
from offline.casing import list_cases
from offline.tests import try_brief
from schemas.seed import Brief
from tests.offline.questions import SEED, THEMES, compose
from tests.trust.tabled import Planted, make

MAKERS = [("tool_lending", "register_member"), ("clinic_scheduling", "register_patient")]


@pytest.mark.parametrize(("theme", "tool"), MAKERS)
def test_a_row_that_a_call_makes_is_not_one_that_was_made_before(theme: str, tool: str) -> None:
    brief = Brief(theme=theme, text=THEMES[theme], number=0)
    made = [
        case
        for case in list_cases(brief, compose(theme, 0), tool, SEED)
        if case.expect == "success"
    ]
    assert try_brief(brief, SEED)[0].ids, "the first rows were not made by calls"
    assert made
    assert [list(rows) for case in made for rows in case.after.values()] == [["*"]] * len(made)


@pytest.mark.parametrize("theme", [theme for theme, _ in MAKERS])
def test_what_a_call_changes_in_rows_that_were_there_is_foretold(theme: str) -> None:
    brief, domain = Brief(theme=theme, text=THEMES[theme], number=0), compose(theme, 0)
    found = {
        tool: [case.after for case in list_cases(brief, domain, tool, SEED) if case.after]
        for tool in domain.operations
    }
    assert sum(map(bool, found.values())) >= 5


@pytest.mark.parametrize("theme", [theme for theme, _ in MAKERS])
async def test_a_right_program_passes_them(theme: str, jail: Sandbox) -> None:
    built = await make("scaleenv", theme, 0, Planted(), jail)
    assert isinstance(built, EnvironmentCase)
    finding = await w3.check(built, GateContext(jail, seed=SEED))
    assert (finding.outcome, finding.detail) == ("kept", "")
