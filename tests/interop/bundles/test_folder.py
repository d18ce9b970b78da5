"""Bundle folders: what is written is read back the same, and what cannot be read says which file,
where, and what to do."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, read_folder, write_folder
from envmill.interop.bundles.envrun.files import MAX_SOURCE
from schemas.scenario import Check, Verifier
from tests.specimens import (
    EFFECTS,
    PROGRAM,
    STATE,
    VERIFIER,
    make_environment,
    make_scenario,
    make_tests,
)

PAID = "def check(initial, final):\n    return bool(final['loans'])\n"


def make_folder() -> Folder:
    shed = make_environment()
    judged = VERIFIER.model_copy(
        update={"guards": [Check(name="something is lent", op="generated", path=[], source=PAID)]},
    )
    scenarios = (
        make_scenario(shed),
        make_scenario(
            shed, number=3, verifier=judged, say="Done.", initial_state=STATE | {"loans": {}}
        ),
    )
    return Folder(shed, tuple(make_tests(shed)), scenarios, {"stocked": STATE})


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_folder(tmp_path / "shed", make_folder())
    return tmp_path / "shed"


def test_what_is_written_is_read_back_the_same(written: Path) -> None:
    assert read_folder(written) == make_folder()


def test_a_state_that_has_no_name_gets_one(tmp_path: Path) -> None:
    shed = make_environment()
    write_folder(tmp_path / "shed", Folder(shed, tuple(make_tests(shed))))
    assert (tmp_path / "shed/states/tests-1.json").exists()
    read = read_folder(tmp_path / "shed")
    assert (read.tests, read.states) == (tuple(make_tests(shed)), {"tests-1": STATE})


def test_a_folder_is_never_written_over_another(written: Path) -> None:
    with pytest.raises(SettingsError, match="exists already"):
        write_folder(written, make_folder())


def test_the_least_a_person_must_write(tmp_path: Path) -> None:
    """No interface, no tests, no provenance: the interface comes from the code."""
    home = tmp_path / "shed"
    put(
        home,
        "bundle.json",
        {
            "bundle": 1,
            "kind": "stateful",
            "name": "Shed",
            "entry": "program:Shed",
            "effects": EFFECTS,
        },
    )
    (home / "program").mkdir()
    (home / "program/program.py").write_text(PROGRAM)
    put(home, STOCK, STATE)
    put(
        home,
        "scenarios/drill/scenario.json",
        {"request": "Lend the drill to Ada.", "initial_state": "stocked"},
    )
    put(home, "scenarios/drill/verifier.json", VERIFIER.model_dump(mode="json"))
    read = read_folder(home)
    assert [tool.name for tool in read.environment.tools] == list(EFFECTS)
    assert (read.environment.licence, read.environment.brief.theme) == ("unknown", "shed")
    (scenario,) = read.scenarios
    assert (scenario.user.opening, scenario.oracle, scenario.verifier) == (
        "Lend the drill to Ada.",
        [],
        VERIFIER,
    )


def put(home: Path, name: str, value: Any) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(value if isinstance(value, str) else json.dumps(value))


def change(name: str, path: list[str | int], value: Any) -> Callable[[Path], None]:
    """Set one place of a JSON file."""

    def do(home: Path) -> None:
        whole = json.loads((home / name).read_text())
        inner = whole
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        put(home, name, whole)

    return do


def replace_by_link(home: Path) -> None:
    (home / "program/program.py").unlink()
    (home / "program/program.py").symlink_to("/etc/hostname")


def link_folder(home: Path) -> None:
    (home / "states/more").symlink_to("/etc")


STOCK = "states/stocked.json"
VERDICT, POSED = "scenarios/003/verifier.json", "scenarios/003/scenario.json"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(lambda home: (home / "bundle.json").unlink(), ["bundle.json", "missing", "Add it"], id="no-manifest"),
        pytest.param(lambda home: (home / "program/program.py").unlink(), ["bundle.json, entry", "program/program.py"], id="no-program"),
        pytest.param(lambda home: (home / VERDICT).unlink(), [VERDICT, "missing"], id="no-verifier"),
        pytest.param(lambda home: (home / "scenarios/003/checks/001.py").unlink(), ["checks/001.py", "missing"], id="no-check"),
        pytest.param(lambda home: put(home, "tests.json", '[\n {"name": }]'), ["tests.json, line 2, column", "no JSON"], id="bad-json"),
        pytest.param(lambda home: put(home, STOCK, '{"a": NaN}'), [STOCK, "no JSON"], id="nan"),
        pytest.param(lambda home: put(home, STOCK, '{"a": "\\ud800"}'), [STOCK, "no JSON"], id="half-character"),
        pytest.param(lambda home: put(home, STOCK, '{"a": {}, "a": {"x": 1}}'), ["'a' stands twice"], id="key-twice"),
        pytest.param(lambda home: put(home, STOCK, "[" * 990 + "]" * 990), ["states/stocked.json"], id="deep"),
        pytest.param(lambda home: put(home, STOCK, "[]"), ["states/stocked.json", "no object"], id="list-for-a-state"),
        pytest.param(change("bundle.json", ["nmae"], "x"), ["bundle.json, nmae", "unknown", "Known to Manifest"], id="unknown-field"),
        pytest.param(change("bundle.json", ["bundle"], 2), ["bundle.json, bundle"], id="other-layout"),
        pytest.param(change("bundle.json", ["entry"], "../x:Y"), ["bundle.json, entry"], id="entry-escapes"),
        pytest.param(change("tools.json", [0, "effect"], "maybe"), ["tools.json, 0.effect", "'maybe'"], id="wrong-choice"),
        pytest.param(change("tests.json", [4, "call", "name"], 7), ["tests.json, 4.call.name", "7"], id="wrong-type"),
        pytest.param(change("tests.json", [0, "initial_state"], "gone"), ["tests.json, 0.initial_state", "gone.json"], id="no-state"),
        pytest.param(change(POSED, ["clock"], "soon"), [POSED, "clock", "'soon'"], id="no-time"),
        pytest.param(change(POSED, ["number"], 0), [POSED, "number 0 is also that of 000"], id="number-twice"),
        pytest.param(change(VERDICT, ["guards", 0, "file"], "../../../bundle.json"), [VERDICT, "leads out of"], id="path-escapes"),
        pytest.param(change(VERDICT, ["guards", 0, "file"], "/etc/hostname"), [VERDICT, "leads out of"], id="path-absolute"),
        pytest.param(change(VERDICT, ["guards", 0, "op"], "absent"), [VERDICT, "is absent and"], id="source-of-a-declared-check"),
        pytest.param(change(VERDICT, ["goals"], {"x": 1}), [VERDICT, "goals"], id="goals-no-list"),
        pytest.param(lambda home: put(home, VERDICT, "[1]"), [VERDICT], id="verifier-no-object"),
        pytest.param(replace_by_link, ["program/program.py", "no plain file"], id="link"),
        pytest.param(link_folder, ["states/more", "no plain file"], id="link-to-a-folder"),
        pytest.param(lambda home: os.mkfifo(home / "program/pipe.py"), ["program/pipe.py", "no plain file"], id="pipe"),
        pytest.param(lambda home: put(home, "program/long.py", "#" * (MAX_SOURCE + 1)), ["program/long.py", "allowed"], id="too-large"),
        pytest.param(lambda home: (home / "program/x.py").write_bytes(b"ok = 1\n# \xff"), ["program/x.py, byte 9", "UTF-8"], id="not-utf8"),
        pytest.param(lambda home: put(home, "tool.json", []), ["tool.json", "no part"], id="misspelled-file"),
        pytest.param(lambda home: put(home, "scenario/1/scenario.json", {}), ["scenario/1", "no part"], id="misspelled-folder"),
        pytest.param(lambda home: put(home, "scenarios/003/checks/002.py", PAID), ["checks/002.py", "no check"], id="check-nobody-names"),
        pytest.param(lambda home: (home / "tools.json").unlink(), ["bundle.json, effects", "tools.json"], id="nothing-says-what-tools-do"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_names_file_place_and_mend(
    written: Path, damage: Callable[[Path], None], words: list[str]
) -> None:
    read_folder(written)
    damage(written)
    with pytest.raises(SettingsError) as caught:
        read_folder(written)
    assert all(word in caught.value.message for word in words), caught.value.message
    assert caught.value.message.endswith((".", "`."))
    assert "Traceback" not in caught.value.message


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "LICENSE",
        "import.json",
        "NOTICE.txt",
        ".git/config",
        "program/__pycache__/x.pyc",
    ],
)
def test_papers_and_what_tools_leave_behind_may_lie_beside(written: Path, name: str) -> None:
    put(written, name, "anything")
    assert read_folder(written) == make_folder()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        read_folder(tmp_path / "gone")


def test_code_the_interface_cannot_be_derived_from_says_why(written: Path) -> None:
    (written / "tools.json").unlink()
    change("bundle.json", ["effects"], {"list_tools": "query"})(written)
    with pytest.raises(
        SettingsError, match=r"program/program.py: Line .* was not planned.*tools.json"
    ):
        read_folder(written)


def test_a_verifier_may_be_empty_of_checks(written: Path) -> None:
    put(written, VERDICT, Verifier(goals=[], guards=[], frame=[]).model_dump(mode="json"))
    (written / "scenarios/003/checks/001.py").unlink()
    assert read_folder(written).scenarios[1].verifier.goals == []
