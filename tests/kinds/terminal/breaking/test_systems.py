"""Systems as data: every variation renders whole, and every place that can be broken can be put
right by reading."""

import ast
import itertools
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.kinds.terminal.breaking import OPERATORS, list_faults
from envmill.kinds.terminal.breaking.composing import choose_probes, find_underivable
from envmill.kinds.terminal.breaking.systems import (
    FOLDER,
    SLOT,
    count_variations,
    list_systems,
    load_system,
)
from envmill.sandbox.machines.files import read_machine, write_machine
from envmill.sandbox.machines.machine import PROGRAMS, write_set_up
from schemas.system import BrokenSystem, Proof

VARIATIONS = [(name, each) for name in list_systems() for each in range(count_variations(name))]


def test_there_are_enough_of_them() -> None:
    assert len(list_systems()) >= 12
    assert all(count_variations(name) >= 2 for name in list_systems())


@pytest.mark.parametrize("name", list_systems())
def test_variations_differ_and_are_whole(name: str) -> None:
    variations = [load_system(name, each) for each in range(count_variations(name))]
    assert len({each.files[each.system.page] for each in variations}) == len(variations)
    for each in variations:
        rest = [
            text
            for text in [*each.files, *(content.decode() for content in each.files.values())]
            if SLOT.search(text)
        ]
        assert rest == []
        assert not SLOT.search(write_set_up(each))


@pytest.mark.parametrize("name", list_systems())
def test_the_first_complaint_is_the_first_of_an_environment_too(name: str) -> None:
    """Of probes that fail over the same thing the first is spoken of: the one that is true whatever
    it is."""
    healthy = load_system(name)
    assert list(read_machine(write_machine(healthy, "b")).system.complaints) == list(
        healthy.system.complaints
    )
    proof = Proof(
        symptoms=dict.fromkeys(healthy.system.complaints, "`x` ends with 1"), walks=1, checks=1
    )
    assert choose_probes(healthy, proof) == list(healthy.system.complaints)[:1]


@pytest.mark.parametrize("name", list_systems())
def test_every_probe_has_its_complaint(name: str) -> None:
    healthy = load_system(name)
    probes = {
        line.removeprefix("def ").partition("(")[0]
        for mark, line in _pair_lines(healthy.check)
        if mark == "@probe"
    }
    assert set(healthy.system.complaints) == probes | (
        {"services"} if healthy.system.services else set()
    )


@pytest.mark.parametrize(("name", "variation"), VARIATIONS)
def test_what_has_to_be_known_can_be_read(name: str, variation: int) -> None:
    healthy = load_system(name, variation)
    faults = list(list_faults(healthy, random.Random(variation)))
    assert (
        find_underivable(healthy, BrokenSystem(system=name, variation=variation, faults=faults))
        == []
    )


@pytest.mark.parametrize(("name", "variation"), VARIATIONS)
def test_wrong_values_are_wrong_and_scripts_have_no_slots(name: str, variation: int) -> None:
    for fault in list_faults(load_system(name, variation), random.Random(variation)):
        assert fault.break_script != fault.mend_script
        assert fault.wrong not in fault.right
        assert not SLOT.search(fault.break_script + fault.mend_script + "".join(fault.places))


def test_every_operator_has_a_place_somewhere() -> None:
    used = Counter(
        fault.operator
        for name in list_systems()
        for fault in list_faults(load_system(name), random.Random(0))
    )
    assert len(OPERATORS) >= 30
    assert set(used) == set(OPERATORS)


@pytest.mark.parametrize(
    "path",
    [*PROGRAMS.glob("*.py"), *FOLDER.glob("*/check.py")],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_what_runs_in_containers_needs_nothing_but_python(path: Path) -> None:
    """By Debian's own interpreter, so nothing newer than 3.11 either; what runs test files has
    pytest of the base image."""
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 11))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names | {
        "probing",
        "_blake2",
    } | ({"pytest", "_pytest"} if path.name == "examining.py" else set())


def test_the_page_lists_what_exists() -> None:
    page = (ROOT / "docs/recipes/perturb.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)`", page))
    assert {*OPERATORS, *list_systems()} <= told


def test_an_unknown_system_says_which_there_are() -> None:
    with pytest.raises(SettingsError, match="website"):
        load_system("webside")


def _pair_lines(text: str) -> list[tuple[str, str]]:
    lines = text.splitlines()
    return list(itertools.pairwise(lines))


ACTS = {"run", "must_run", "fetch", "find_listeners", "want_loopback", "kill", "connect"}
"""What a probe calls when it asks behaviour."""


@pytest.mark.parametrize("name", list_systems())
def test_the_page_says_of_each_probe_what_it_asks(name: str) -> None:
    tree = ast.parse(load_system(name).check)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    probes = [each.name for each in functions.values() if each.decorator_list]
    page = (ROOT / "docs/kinds/terminal.md").read_text(encoding="utf-8")
    files, behaviour = (
        re.findall(r"`(\w+)`", part)
        for part in re.findall(rf"^\| `{name}` \|(.*)\|(.*)\|$", page, re.MULTILINE)[0]
    )
    assert behaviour == [probe for probe in probes if _acts(probe, functions)]
    assert files == [probe for probe in probes if not _acts(probe, functions)]


def _acts(name: str, functions: dict[str, ast.FunctionDef]) -> bool:
    nodes = [node.func for node in ast.walk(functions[name]) if isinstance(node, ast.Call)]
    called = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    }
    return bool(called & ACTS) or any(
        _acts(each, functions) for each in called & functions.keys() - {name}
    )
