"""The table of mechanisms holds: every test is there, every switch is a setting of a run, every
recipe has a row."""

import ast
import re
from functools import cache

import pytest

from envmill.base.settings import ROOT
from envmill.recipes import RECIPES
from schemas.run import RunConfig

PAGE = ROOT / "docs/recipes/README.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8")
    .partition("## Mechanisms")[2]
    .partition("\n## ")[0]
    .splitlines()
    if line.startswith("|") and "::" in line
]


@cache
def list_functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def find_switch_fault(told: str) -> str:
    """What is wrong with a switch as it stands in the table; empty where it is a setting, or there
    is none for a reason."""
    if told.startswith("none: "):
        return "" if len(told.split()) > 4 else "no reason"
    found = re.fullmatch(r"`--(?:(no)-)?([a-z-]+)(?: (\S+))?`", told)
    if found is None:
        return "neither an option nor `none: ` with a reason"
    no, option, value = found.groups()
    field = RunConfig.model_fields.get(option.replace("-", "_"))
    if field is None:
        return f"no setting of a run is named {option}"
    if no and field.annotation is not bool:
        return f"{option} is no switch"
    if value:
        RunConfig.model_validate({"probe": "model", option.replace("-", "_"): value})
    return "" if no or value else "says no value"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0].strip('`')}: {row[1]}")
def test_a_mechanism_has_a_test_and_a_switch(row: list[str]) -> None:
    _, _, switch, test = row
    path, name = test.strip("` ").split("::")
    assert name in list_functions(path)
    assert find_switch_fault(switch) == ""


def test_every_recipe_has_a_mechanism() -> None:
    assert {name for row in ROWS for name in re.findall(r"`([a-z_0-9]+)`", row[0])} == set(RECIPES)
    assert len(ROWS) >= 30


@pytest.mark.parametrize("told", ["`--no-such`", "`--no-seed`", "`--reach`", "", "none: odd"])
def test_a_switch_that_is_none_is_seen(told: str) -> None:
    assert find_switch_fault(told)
