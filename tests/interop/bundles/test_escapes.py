"""Folders written to lead their reader out: the factory and an exported folder's own reader refuse
them with the same words."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from envmill.base.errors import SettingsError
from envmill.interop.bundles import read_folder
from envmill.interop.bundles.envrun import files as carried
from envmill.interop.bundles.envrun import open as open_folder
from envmill.interop.bundles.envrun.digests import UNCOMPARED
from envmill.interop.bundles.envrun.files import (
    MAX_DEPTH,
    MAX_FILE,
    MAX_FOLDER,
    MAX_SOURCE,
    MAX_VALUES,
    FolderError,
    PlainFiles,
    parse_json,
)
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from flows.cli import make_app
from schemas.scenario import Check
from tests.interop.bundles.openers import run_bare
from tests.specimens import STATE, VERIFIER, make_environment, make_scenario, make_tests

SECRET = "SECRET-TOKEN-123"
POSED, VERDICT, STOCK = (
    "scenarios/000/scenario.json",
    "scenarios/000/verifier.json",
    "states/tests-1.json",
)
CHECK = "scenarios/000/checks/001.py"
LENT = "def check(initial, final):\n    return bool(final['loans'])\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file of the machine that no folder may show."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/config.json").write_text(
        json.dumps(STATE | {"tools": {SECRET: {"name": SECRET, "free": True}}})
    )
    (tmp_path / "secret/keys.env").write_text(f"{SECRET} = = \n")
    return tmp_path / "secret"


@pytest.fixture
def folder(tmp_path: Path, secret: Path) -> Path:
    shed = make_environment()
    judged = VERIFIER.model_copy(
        update={"guards": [Check(name="something is lent", op="generated", path=[], source=LENT)]}
    )
    output = pack_environment(shed, [make_scenario(shed, verifier=judged)], make_tests(shed))
    write_output(output, tmp_path, "r")
    (tmp_path / output.name / "SHA256SUMS").unlink()
    return tmp_path / output.name


def put(home: Path, name: str, value: Any) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(value if isinstance(value, str) else json.dumps(value))


def name_state(state: str) -> Callable[[Path], None]:
    return lambda home: put(
        home, POSED, json.loads((home / POSED).read_text()) | {"initial_state": state}
    )


def name_check(file: str) -> Callable[[Path], None]:
    def do(home: Path) -> None:
        written = json.loads((home / VERDICT).read_text())
        written["guards"][0]["file"] = file.replace("SECRET", str(home.parents[1] / "secret"))
        put(home, VERDICT, written)

    return do


def link(name: str, target: str) -> Callable[[Path], None]:
    """Put a link to a file or folder beside the exports in a file's place."""

    def do(home: Path) -> None:
        if (home / name).is_dir():
            shutil.rmtree(home / name)
        (home / name).unlink(missing_ok=True)
        (home / name).symlink_to(home.parents[1] / target)

    return do


def read_aside(home: Path) -> None:
    """A first check holds a file of the machine, a second one quotes it."""
    name_check("SECRET/keys.env")(home)
    written = json.loads((home / VERDICT).read_text())
    quoting = (
        "import linecache\ndef check(initial, final):\n    raise "
        "ValueError(linecache.cache.get('check_1.py'))\n"
    )
    put(home, CHECK, quoting)
    written["goals"].append(
        {"name": "quotes", "op": "generated", "path": [], "file": "checks/001.py"}
    )
    put(home, VERDICT, written)


def listen(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        at = os.open(home / "states", os.O_RDONLY)
        opened.bind(f"/proc/self/fd/{at}/x.json")
        os.close(at)


def grow(name: str, size: int) -> Callable[[Path], None]:
    def do(home: Path) -> None:
        with (home / name).open("ab") as opened:
            opened.truncate(size)

    return do


def fill(home: Path) -> None:
    for number in range(MAX_FOLDER // MAX_FILE + 1):
        put(home, f"states/big-{number}.json", "{}")
        grow(f"states/big-{number}.json", MAX_FILE)(home)


ATTACKS = [
    pytest.param(
        name_state("../../../secret/config"),
        ["there is no state '../../../secret/config'"],
        id="state-by-path",
    ),
    pytest.param(
        name_state("/etc/config"), ["there is no state '/etc/config'"], id="state-absolute"
    ),
    pytest.param(
        name_state("．．/．．/secret/config"),
        ["there is no state"],
        id="state-dots-after-normalisation",
    ),
    pytest.param(link(STOCK, "secret/config.json"), [STOCK, "no plain file"], id="state-link"),
    pytest.param(
        link("states", "secret"), ["states: it is no plain file"], id="states-folder-link"
    ),
    pytest.param(link(POSED, "secret/config.json"), [POSED, "no plain file"], id="scenario-link"),
    pytest.param(
        link("scenarios/000", "secret"),
        ["scenarios/000: it is no plain file"],
        id="scenario-folder-link",
    ),
    pytest.param(link(CHECK, "secret/keys.env"), [CHECK, "no plain file"], id="check-link"),
    pytest.param(
        link("bundle.json", "secret/config.json"),
        ["bundle.json", "no plain file"],
        id="manifest-link",
    ),
    pytest.param(name_state("\x1b[2J"), ["Add states/\\x1b[2J.json"], id="state-with-an-escape"),
    pytest.param(
        name_check("\x1b]52;c;eA==\x07.py"),
        ["scenarios/000/\\x1b]52;c;eA==\\x07.py: the file"],
        id="check-with-an-escape",
    ),
    pytest.param(
        name_check("/etc/passwd"), [VERDICT, "leads out of scenarios/000"], id="check-absolute"
    ),
    pytest.param(
        name_check("SECRET/keys.env"), [VERDICT, "leads out of scenarios/000"], id="check-env-file"
    ),
    pytest.param(
        name_check("../../../../secret/keys.env"),
        [VERDICT, "leads out of scenarios/000"],
        id="check-by-path",
    ),
    pytest.param(
        name_check("checks/../../../bundle.json"),
        [VERDICT, "leads out of"],
        id="check-inside-and-out",
    ),
    pytest.param(name_check("C:\\Windows\\win.ini"), [VERDICT, "leads out of"], id="check-windows"),
    pytest.param(
        name_check("C:/Windows/win.ini"),
        ["scenarios/000/C:/Windows/win.ini", "missing"],
        id="check-windows-slashes",
    ),
    pytest.param(
        name_check("．．/．．/keys.env"), ["missing"], id="check-dots-after-normalisation"
    ),
    pytest.param(read_aside, [VERDICT, "leads out of scenarios/000"], id="check-quotes-a-file"),
    pytest.param(
        lambda home: os.mkfifo(home / "states/pipe.json"),
        ["states/pipe.json", "no plain file"],
        id="pipe",
    ),
    pytest.param(listen, ["states/x.json", "no plain file"], id="socket"),
    pytest.param(
        lambda home: put(home, STOCK, "[" * 200_000),
        [STOCK, f"deeper than {MAX_DEPTH}"],
        id="endless-depth",
    ),
    pytest.param(
        lambda home: put(home, STOCK, '{"a":' * 129 + "1" + "}" * 129),
        [STOCK, "deeper than"],
        id="one-too-deep",
    ),
    pytest.param(lambda home: put(home, STOCK, '{"a": NaN}'), [STOCK, "no JSON"], id="nan"),
    pytest.param(lambda home: put(home, STOCK, '{"a": 1e400}'), [STOCK, "no JSON"], id="infinite"),
    pytest.param(
        lambda home: put(home, STOCK, '{"a": "\\ud800"}'),
        [STOCK, "half a character"],
        id="half-character",
    ),
    pytest.param(
        lambda home: put(home, STOCK, '{"a": {}, "a": {}}'), [STOCK, "stands twice"], id="key-twice"
    ),
    pytest.param(
        lambda home: put(home, STOCK, "[]"),
        [STOCK, "no object of collections"],
        id="list-for-a-state",
    ),
    pytest.param(grow(STOCK, MAX_FILE + 1), [STOCK, "allowed"], id="large-file"),
    pytest.param(
        grow("program/more.py", MAX_SOURCE + 1), ["program/more.py", "allowed"], id="large-program"
    ),
    pytest.param(grow(CHECK, MAX_SOURCE + 1), [CHECK, "allowed"], id="large-check"),
    pytest.param(
        lambda home: put(home, STOCK, '{"a": [' + "[]," * (MAX_VALUES // 2) + "[]]}"),
        [f"more than {MAX_VALUES} values"],
        id="many-values",
    ),
    pytest.param(fill, ["more than 256 MB"], id="large-folder"),
    pytest.param(lambda home: put(home, "a/b/c/d/e/f/g/h/i", ""), ["8 levels"], id="deep-folders"),
    pytest.param(
        lambda home: put(home, "states/\x1b]52;.json", "{}"),
        ["'states/\\x1b]52;.json'", "cannot be printed"],
        id="escape-in-a-name",
    ),
    pytest.param(
        lambda home: put(home, "tool.json", "[]"), ["tool.json", "no part"], id="stranger"
    ),
    pytest.param(
        lambda home: put(home, "scenarios/000/checks/002.py", LENT),
        ["002.py", "no check"],
        id="check-nobody-names",
    ),
]


@pytest.mark.long(cases=3)
@pytest.mark.parametrize(("damage", "words"), ATTACKS)
def test_both_readers_refuse_with_the_same_words(
    folder: Path, damage: Callable[[Path], None], words: list[str]
) -> None:
    damage(folder)
    with pytest.raises(SettingsError) as caught:
        read_folder(folder)
    done = run_bare(folder, ["call", "000", "list_tools"])
    told = done.stderr.removeprefix(f"{folder}: {UNCOMPARED}\n")
    assert (done.returncode, told) == (2, f"{caught.value.message}\n")
    assert all(word in caught.value.message for word in words), caught.value.message
    assert SECRET not in done.stdout + done.stderr
    assert "\x1b" not in done.stderr


def test_an_honest_folder_passes_both(folder: Path) -> None:
    assert read_folder(folder).scenarios
    done = run_bare(folder, ["check"])
    assert (done.returncode, json.loads(done.stdout)["sound"]) == (0, True), done.stderr


ROWS = STATE["members"] | {
    f"X{number}": {"name": f"The {number}th of all members", "city": "Ulm"}
    for number in range(100_000)
}
"""A state that the jail takes."""


def link_hard(home: Path) -> None:
    """Installers of packages do so."""
    (home / STOCK).rename(home.parents[1] / "stored.json")
    os.link(home.parents[1] / "stored.json", home / STOCK)


@pytest.mark.long(cases=2)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(link_hard, id="hard-link"),
        pytest.param(
            lambda home: put(home, "states/Tests-1.json", STATE), id="names-that-differ-in-case"
        ),
        pytest.param(
            lambda home: [put(home, f"states/{name}.json", STATE) for name in ("é", "é")],
            id="names-equal-when-normalised",
        ),
        pytest.param(
            lambda home: put(home, "states/deep.json", '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH),
            id="just-deep-enough",
        ),
        pytest.param(
            lambda home: put(home, STOCK, STATE | {"members": ROWS}),
            id="as-many-rows-as-a-run-may-ask-for",
        ),
        pytest.param(
            lambda home: put(home, "states/commas.json", {"a": {"b": "[]," * MAX_VALUES}}),
            id="commas-in-text",
        ),
        pytest.param(
            lambda home: put(home, "states/text.json", {"a": {"b": "[" * 999 + '\\" {{{'}}),
            id="brackets-in-text",
        ),
        pytest.param(
            lambda home: put(home, "states/pair.json", '{"a": {"b": "\\ud83d\\ude00"}}'),
            id="two-halves-of-a-character",
        ),
        pytest.param(
            lambda home: (home.parents[0] / "other").symlink_to(home),
            id="link-to-the-folder-itself",
        ),
    ],
)
def test_what_is_unusual_and_honest_passes_both(
    folder: Path, change: Callable[[Path], None]
) -> None:
    change(folder)
    other = folder.parent / "other"
    chosen = other if other.exists() else folder
    assert read_folder(chosen).scenarios
    done = run_bare(chosen, ["call", "000", "list_tools"])
    assert (done.returncode, "drill" in done.stdout) == (0, True), done.stderr


def test_another_program_than_the_one_that_is_audited_does_not_run(folder: Path) -> None:
    path = folder / "envrun/environment.json"
    program = json.loads(path.read_text())
    program["files"]["program.py"] += "\n# and more\n"
    put(folder, "envrun/environment.json", program)
    done = run_bare(folder, ["call", "000", "list_tools"])
    assert (
        done.returncode,
        "environment.json, files: its program is not the one in program/" in done.stderr,
    ) == (2, True)


NEVER = "def check(initial, final):\n    return False\n"
ALWAYS = NEVER.replace("False", "True")


def test_a_program_does_not_judge_itself_by_the_hash_of_a_check(folder: Path) -> None:
    """The jail knows programs by their hash, those of checks too."""
    lend = {"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}
    put(folder, CHECK, NEVER)
    with open_folder(folder) as bundle:
        assert bundle.play("000", [lend])["outcome"] == "fail"
    program = json.loads((folder / "envrun/environment.json").read_text())
    program["files"]["check_1.py"] = ALWAYS
    put(folder, "program/check_1.py", ALWAYS)
    name = hashlib.blake2b(
        json.dumps(["judge", {"check_1.py": NEVER}]).encode(), digest_size=10
    ).hexdigest()
    put(folder, "envrun/environment.json", program | {"hash": name})
    with (
        pytest.raises(
            FolderError, match=r"environment\.json, hash: its hash is not that of its program"
        ),
        open_folder(folder) as bundle,
    ):
        bundle.play("000", [lend])


@pytest.mark.parametrize(
    "call", [5, "lend", {"name": "lend", "arguments": []}, {"arguments": {}}, {"say": "Done."}]
)
def test_a_reference_path_of_other_things_than_calls_is_wrong_input(
    folder: Path, call: Any
) -> None:
    put(folder, POSED, json.loads((folder / POSED).read_text()) | {"oracle": [call]})
    done = run_bare(folder, ["check"])
    assert (done.returncode, f"{POSED}, oracle.0" in done.stderr) == (2, True), done.stderr


def test_no_output_moves_the_cursor(folder: Path) -> None:
    """JSON leaves C1 control characters as they are."""
    signs = "\x1b[2J \x9b2J \u202e \x07é😀"
    put(
        folder,
        POSED,
        json.loads((folder / POSED).read_text())
        | {"request": signs, "split": signs, "polarity": signs},
    )
    listed, shown = run_bare(folder, ["list"]), run_bare(folder, ["show", "000"])
    assert (listed.returncode, shown.returncode) == (0, 0)
    assert (listed.stdout + shown.stdout).replace("\t", "").replace("\n", "").isprintable()
    assert "é😀" in listed.stdout
    assert json.loads(shown.stdout)["messages"][-1]["content"] == signs


SWAPS = [
    pytest.param(
        lambda home: swap(
            home / "states/a.json", lambda path: path.symlink_to(home / "secret.json")
        ),
        id="file-by-link",
    ),
    pytest.param(
        lambda home: swap(home / "states", lambda path: path.symlink_to(home / "other")),
        id="folder-by-link",
    ),
    pytest.param(lambda home: swap(home / "states/a.json", os.mkfifo), id="file-by-pipe"),
    pytest.param(lambda home: swap(home / "states/a.json", Path.mkdir), id="file-by-folder"),
    pytest.param(lambda home: swap(home / "states/a.json", lambda path: None), id="file-gone"),
]


def swap(path: Path, make: Callable[[Path], None]) -> None:
    path.rename(path.with_name(f".old-{path.name}"))
    make(path)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    put(tmp_path / "home", "states/a.json", "{}")
    put(tmp_path / "home", "other/a.json", f'{{"{SECRET}": 1}}')
    put(tmp_path / "home", "secret.json", f'{{"{SECRET}": 1}}')
    return tmp_path / "home"


@pytest.mark.parametrize("change", SWAPS)
def test_what_is_swapped_after_the_listing_is_not_followed(
    small: Path, change: Callable[[Path], None]
) -> None:
    files = PlainFiles(small)
    assert files.json("states/a.json") == {}
    change(small)
    with pytest.raises(FolderError, match=r"states/a\.json: it is no plain file"):
        files.json("states/a.json")


def test_a_folder_that_takes_the_place_of_the_listed_one_is_not_read(small: Path) -> None:
    files = PlainFiles(small)
    put(small.parent / "elsewhere", "states/a.json", f'{{"{SECRET}": 1}}')
    swap(small, lambda path: path.symlink_to(small.parent / "elsewhere"))
    with pytest.raises(FolderError, match="another folder has taken its place"):
        files.json("states/a.json")


def test_a_file_that_grows_after_the_listing_is_refused(small: Path) -> None:
    files = PlainFiles(small)
    grow("states/a.json", MAX_FILE + 1)(small)
    with pytest.raises(FolderError, match="allowed"):
        files.text("states/a.json")


def test_files_are_counted_over_the_whole_folder(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carried, "MAX_FILES", 5)
    assert len(PlainFiles(small).list()) == 3
    put(small, "other/b.json", "{}")
    with pytest.raises(FolderError, match="more than 5 files"):
        PlainFiles(small)


@pytest.mark.parametrize(
    ("content", "deep"),
    [
        pytest.param(b"[" * 128 + b"]" * 128, False, id="just-enough"),
        pytest.param(b"[{" * 65, True, id="mixed"),
        pytest.param(b"[]," * 1000, False, id="beside-each-other"),
        pytest.param(b'"' + b"[" * 129 + b'"', False, id="in-text"),
        pytest.param(b'"\\"' + b"[" * 129, False, id="after-an-escaped-quote"),
        pytest.param(b'"\\\\"' + b"[" * 129, True, id="after-an-escaped-backslash"),
        pytest.param(b'"' + b'\\"' * 2**21, False, id="unclosed-text-is-read-once"),
    ],
)
def test_depth_is_counted_outside_of_text(content: bytes, deep: bool) -> None:
    assert carried.is_deep(carried.strip_strings(content)) is deep


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-1", -1),
        ("1.5", 1.5),
    ],
)
def test_numbers_are_read_as_the_factory_s_libraries_read_them(text: str, value: float) -> None:
    found = parse_json(text, "x")
    assert (found, type(found)) == (value, type(value))


@pytest.fixture
def trapped(folder: Path) -> Iterator[Path]:
    """A folder whose every Python file says that it ran."""
    mark = folder.parents[1] / "ran"
    for path in (folder / "envrun").rglob("*.py"):
        path.write_text(f"open({str(mark)!r}, 'w').write('ran')\n")
    yield folder
    assert not mark.exists()


def test_an_installed_reader_plays_a_folder_without_its_code(trapped: Path) -> None:
    lend = {"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}
    with open_folder(trapped) as bundle:
        assert bundle.play("000", [lend])["outcome"] == "pass"
        assert bundle.play("000", [])["outcome"] == "fail"
        assert bundle.begin("000", form="conversation").say("Which tool do you mean?")


def test_an_exported_reader_plays_another_folder_without_its_code(
    folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for path in (other / "envrun").rglob("*.py"):
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write('ran')\n")
    done = run_bare(folder, ["--folder", str(other), "check"])
    assert (done.returncode, json.loads(done.stdout)["sound"]) == (0, True), done.stderr
    assert not (tmp_path / "ran").exists()
    run_bare(other, ["list"])
    assert (tmp_path / "ran").exists()


@pytest.mark.long
def test_the_command_line_plays_and_audits_a_folder_without_its_code(
    trapped: Path, tmp_path: Path
) -> None:
    surroundings = {
        "ENVMILL_HOME": str(tmp_path / "home"),
        "ENVMILL_LAKE": str(tmp_path / "lake"),
        "ENVMILL_PORT": "0",
    }
    result = CliRunner().invoke(make_app(), ["audit", str(trapped)], env=surroundings)
    assert (result.exit_code in (0, 1), "W1" in result.stdout) == (True, True), result.output
    served = run_served(trapped, surroundings)
    assert '"serverInfo"' in served, served


def run_served(folder: Path, surroundings: dict[str, str]) -> str:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    words = [sys.executable, "-m", "flows.cli", "mcp", str(folder), "--scenario", "000"]
    done = subprocess.run(
        words,
        input=asked,
        env={**os.environ, **surroundings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr
