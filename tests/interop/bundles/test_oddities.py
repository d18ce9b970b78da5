"""Odd values in the place of each field of a folder: both readers open it or refuse it in words,
and none ends in a traceback."""

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import read_folder
from envmill.interop.bundles.envrun import JudgeError
from envmill.interop.bundles.envrun import open as open_folder
from envmill.interop.bundles.envrun.files import FolderError
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from tests.specimens import make_environment, make_scenario, make_tests

NAMES = (
    "bundle.json", "tools.json", "tests.json", "provenance.json", "states/tests-1.json", "envrun/environment.json",
    "scenarios/000/scenario.json", "scenarios/000/verifier.json",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 1e300, "", " ", "x" * 5000, "\x1b[2J", "../..", "/", "000", "2026-02-30T25:00:00", "tests-1",
    [], [[]], [None], {}, {"": None}, {"op": "equals"},
)  # fmt: skip
EACH = 4
"""Odd values a field; the next field is given the next ones."""
LEND = {"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shed, home = make_environment(), tmp_path_factory.mktemp("out")
    output = pack_environment(shed, [make_scenario(shed)], make_tests(shed))
    write_output(output, home, "r")
    (home / output.name / "SHA256SUMS").unlink()
    return home / output.name


def list_places(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Paths to every value, the whole among them; of a list its first."""
    yield ()
    keys = (
        list(value) if isinstance(value, dict) else [0] if isinstance(value, list) and value else []
    )
    for key in keys:
        yield from ((key, *rest) for rest in list_places(value[key]))


def replace_at(value: Any, place: tuple[str | int, ...], odd: Any) -> Any:
    if not place:
        return odd
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = odd
    return copy


def read_whole(folder: Path) -> str:
    """What the reader of an exported folder is asked without playing; the complaint, where there is
    one."""
    try:
        with open_folder(folder) as bundle:
            bundle.tools()
            bundle.read_start()
            for name in bundle.list_scenarios():
                bundle.read_scenario(name)
                bundle.find_id(name)
                bundle._read_verifier(name)  # pyright: ignore[reportPrivateUsage]
    except FolderError as error:
        return str(error)
    return ""


def read_in_the_factory(folder: Path) -> str:
    """The factory's complaint, where there is one."""
    try:
        read_folder(folder)
    except SettingsError as error:
        return error.message
    return ""


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("name", NAMES)
def test_an_odd_value_anywhere_is_read_or_refused_in_words(folder: Path, name: str) -> None:
    path = folder / name
    whole, odd, refused = path.read_text(), cycle(ODD), 0
    try:
        for place in list_places(json.loads(whole)):
            for value in islice(odd, EACH):
                path.write_text(json.dumps(replace_at(json.loads(whole), place, value)))
                for told in (read_whole(folder), read_in_the_factory(folder)):
                    refused += bool(told)
                    assert told.replace("\n", "").isprintable(), (place, value)
    finally:
        path.write_text(whole)
    assert refused or name == "provenance.json"


PLAYED = [
    ("scenarios/000/scenario.json", {"clock": "yesterday"}),
    ("scenarios/000/scenario.json", {"clock": "9999-12-31T23:59:59+00:00"}),
    ("scenarios/000/scenario.json", {"seed": 2**70}),
    ("scenarios/000/scenario.json", {"initial_state": {}}),
    ("scenarios/000/scenario.json", {"initial_state": {"tools": 5, "members": None}}),
    ("scenarios/000/scenario.json", {"user": {"opening": "", "facts": 5}}),
    ("scenarios/000/verifier.json", {"goals": [{"name": "", "op": "", "path": 5}]}),
    (
        "scenarios/000/verifier.json",
        {"goals": [{"name": "n", "op": "equals", "path": [None, {}], "value": {}}]},
    ),
    ("scenarios/000/verifier.json", {"goals": [], "guards": []}),
    ("scenarios/000/verifier.json", {"frame": {"x": 1}}),
    ("scenarios/000/verifier.json", {"facts": [5]}),
]


def play(folder: Path) -> str:
    """The outcome, or the complaint."""
    try:
        with open_folder(folder) as bundle:
            return bundle.play("000", [LEND, {"say": "Done."}])["outcome"]
    except (FolderError, JudgeError) as error:
        return str(error)


@pytest.mark.long(cases=4)
@pytest.mark.parametrize(("name", "odd"), PLAYED)
def test_what_is_odd_and_read_is_played_to_a_verdict_or_refused_in_words(
    folder: Path, name: str, odd: dict[str, Any]
) -> None:
    path = folder / name
    whole = path.read_text()
    path.write_text(json.dumps(json.loads(whole) | odd))
    try:
        assert play(folder).isprintable()
    finally:
        path.write_text(whole)
