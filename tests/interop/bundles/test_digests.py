"""Every command that opens a folder with SHA256SUMS compares all files first, and refuses the first
that differs."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from envmill.base.errors import SettingsError
from envmill.interop.bundles import read_folder
from envmill.interop.bundles.envrun import files as carried
from envmill.interop.bundles.envrun import open as open_folder
from envmill.interop.bundles.envrun.digests import UNCOMPARED
from envmill.interop.bundles.envrun.files import FolderError
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from flows.cli import make_app
from tests.interop.bundles.openers import run_bare
from tests.specimens import make_environment, make_scenario, make_tests

Damage = Callable[[Path], None]
LEND = {"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}
POSED, STATE, SUMS = "scenarios/000/scenario.json", "states/tests-1.json", "SHA256SUMS"
ADDED, CHANGED, MISSING = (
    "it was added after the export",
    "it was changed after the export",
    "SHA256SUMS names it, and it is missing",
)
AGAIN = "Fetch or export the folder again. If you changed it yourself, remove SHA256SUMS."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shed = make_environment()
    output = pack_environment(shed, [make_scenario(shed)], make_tests(shed))
    write_output(output, tmp_path, "r")
    return tmp_path / output.name


def add(name: str, text: str = "{}") -> Damage:
    def do(home: Path) -> None:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)

    return do


def change(name: str) -> Damage:
    return edit(lambda text: text + "\n", name)


def swap(name: str, other: str) -> Damage:
    """Two files of the export change places: every digest is still in the list."""

    def do(home: Path) -> None:
        one, two = (home / name).read_bytes(), (home / other).read_bytes()
        (home / name).write_bytes(two)
        (home / other).write_bytes(one)

    return do


def edit(make: Callable[[str], str], name: str = SUMS) -> Damage:
    def do(home: Path) -> None:
        (home / name).write_bytes(make((home / name).read_text()).encode())

    return do


def link_sums(home: Path) -> None:
    (home / SUMS).rename(home.parents[1] / "sums")
    (home / SUMS).symlink_to(home.parents[1] / "sums")


def convert(home: Path) -> None:
    """What a checkout on another system does to every text."""
    for path in (*home.glob("*.json"), home / SUMS):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


ATTACKS = [
    pytest.param(change(POSED), f"{POSED}: {CHANGED}", id="scenario"),
    pytest.param(
        change("scenarios/000/verifier.json"),
        f"scenarios/000/verifier.json: {CHANGED}",
        id="verifier",
    ),
    pytest.param(change("program/program.py"), f"program/program.py: {CHANGED}", id="program"),
    pytest.param(
        change("envrun/environment.json"), f"envrun/environment.json: {CHANGED}", id="interface"
    ),
    pytest.param(change("README.md"), f"README.md: {CHANGED}", id="paper"),
    pytest.param(
        change("envrun/judge/envmill/verifiers/judge.py"),
        f"envrun/judge/envmill/verifiers/judge.py: {CHANGED}",
        id="judge",
    ),
    pytest.param(swap("README.md", "NOTICE"), f"NOTICE: {CHANGED}", id="two-in-each-other-s-place"),
    pytest.param(add("states/more.json"), f"states/more.json: {ADDED}", id="state-added"),
    pytest.param(add("envrun/json.py", ""), f"envrun/json.py: {ADDED}", id="code-added"),
    pytest.param(add("moves.jsonl"), "Put files of your own into recordings/", id="moves-beside"),
    pytest.param(
        add("Recordings/1.jsonl"), f"Recordings/1.jsonl: {ADDED}", id="recordings-in-another-case"
    ),
    pytest.param(
        add("scenarios/recordings/x.json"),
        f"scenarios/recordings/x.json: {ADDED}",
        id="recordings-deeper",
    ),
    pytest.param(lambda home: (home / STATE).unlink(), f"{STATE}: {MISSING}", id="missing"),
    pytest.param(
        lambda home: (home / "README.md").rename(home / "readme.md"),
        f"README.md: {MISSING}",
        id="other-case",
    ),
    pytest.param(
        edit(lambda text: text + f"{'0' * 64}  ../secret\n"), f"{SUMS}, line", id="path-out"
    ),
    pytest.param(
        edit(lambda text: text + f"{'0' * 64}  /etc/passwd\n"), f"{SUMS}, line", id="path-absolute"
    ),
    pytest.param(
        edit(lambda text: text.replace("  NOTICE", "  x/../NOTICE")),
        f"{SUMS}, line",
        id="path-round",
    ),
    pytest.param(
        edit(lambda text: text + f"{'0' * 64}  recordings/1\n"),
        f"recordings/1: {MISSING}",
        id="path-passed-over",
    ),
    pytest.param(
        edit(lambda text: text + text.splitlines()[0] + "\n"),
        "the path stands twice",
        id="line-twice",
    ),
    pytest.param(
        edit(lambda text: text + f"{'0' * 64}  ./NOTICE\n"),
        "the path stands twice",
        id="path-twice-in-two-spellings",
    ),
    pytest.param(edit(lambda text: text.replace("\n", "\r\n")), f"{SUMS}, line 1", id="crlf"),
    pytest.param(convert, f"{SUMS}, line 1", id="crlf-everywhere"),
    pytest.param(edit(lambda text: "\ufeff" + text), f"{SUMS}, line 1", id="byte-order-mark"),
    pytest.param(edit(lambda text: text + "\n"), f"{SUMS}, line", id="empty-line"),
    pytest.param(edit(lambda text: text.upper()), f"{SUMS}, line 1", id="capitals"),
    pytest.param(edit(lambda text: text + f"{'0' * 64}  {SUMS}\n"), f"{SUMS}, line", id="itself"),
    pytest.param(edit(lambda _: ""), f"{SUMS}, line 1", id="empty"),
    pytest.param(edit(lambda text: text + f"{'0' * 64}  \x1b[2J\n"), f"{SUMS}, line", id="escape"),
    pytest.param(link_sums, f"{SUMS}: it is no plain file", id="list-by-link"),
    pytest.param(
        lambda home: [(home / SUMS).unlink(), os.mkfifo(home / SUMS)],
        f"{SUMS}: it is no plain file",
        id="list-by-pipe",
    ),
]


@pytest.mark.parametrize(("damage", "words"), ATTACKS)
def test_both_readers_refuse_the_first_difference_with_the_same_words(
    folder: Path, damage: Damage, words: str
) -> None:
    damage(folder)
    with pytest.raises(SettingsError) as caught:
        read_folder(folder)
    assert words in caught.value.message
    assert AGAIN in caught.value.message or "no plain file" in words
    with pytest.raises(FolderError) as refused, open_folder(folder):
        pass
    assert str(refused.value) == caught.value.message


SURROUNDINGS = ("ENVMILL_HOME", "ENVMILL_LAKE")
COMMANDS = [
    pytest.param("flows.cli", ["audit", "FOLDER"], id="audit"),
    pytest.param("flows.cli", ["audit", "PARENT"], id="audit-of-several"),
    pytest.param("flows.cli", ["mcp", "FOLDER", "--scenario", "000"], id="mcp"),
    pytest.param("flows.cli", ["mcp", "FOLDER", "--score", "moves.jsonl"], id="mcp-score"),
    *(
        pytest.param("envmill.interop.bundles.envrun", ["--folder", "FOLDER", *words], id=f"envrun-{words[0]}")
        for words in (
            ["list"], ["tools"], ["show", "000"], ["open", "000"], ["call", "000", "list_tools"],
            ["score", "000", "moves.jsonl"], ["check"], ["mcp", "--scenario", "000"],
        )
    ),
]  # fmt: skip


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(("program", "words"), COMMANDS)
def test_each_command_compares_before_anything_runs(
    folder: Path, tmp_path: Path, program: str, words: list[str]
) -> None:
    change("envrun/judge/envmill/verifiers/judge.py")(folder)
    filled = [
        word.replace("FOLDER", str(folder)).replace("PARENT", str(folder.parent)) for word in words
    ]
    environ = {**os.environ, **{name: str(tmp_path / name) for name in SURROUNDINGS}}
    command = [sys.executable, "-m", program, *filled]
    done = subprocess.run(
        command, env=environ, input="", capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert CHANGED in done.stderr


def test_an_exported_reader_compares_its_own_folder_and_another(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, other := tmp_path / "other")
    change(POSED)(other)
    own, foreign = run_bare(other, ["list"]), run_bare(folder, ["--folder", str(other), "list"])
    assert own.returncode == foreign.returncode == 2
    assert own.stderr == foreign.stderr
    assert CHANGED in own.stderr


HONEST = [
    pytest.param(lambda _: None, id="as-exported"),
    pytest.param(add("recordings/1.jsonl"), id="recording"),
    pytest.param(add("recordings/over/http/2.jsonl", "no JSON\x00"), id="recordings-of-sessions"),
    pytest.param(lambda home: (home / "recordings").symlink_to("/tmp"), id="recordings-elsewhere"),
    pytest.param(add("envrun/__pycache__/bundle.cpython-311.pyc"), id="compiled-by-an-import"),
    pytest.param(add(".git/config"), id="kept-in-git"),
    pytest.param(
        edit(lambda text: text.replace("  ", " *")), id="as-sha256sum-writes-in-binary-mode"
    ),
    pytest.param(edit(lambda text: text.replace("  ", "  ./")), id="as-find-and-sha256sum-write"),
    pytest.param(
        edit(lambda text: "".join(sorted(text.splitlines(keepends=True)))), id="in-another-order"
    ),
    pytest.param(edit(lambda text: text.removesuffix("\n")), id="without-the-last-line-break"),
]


@pytest.mark.parametrize("change", HONEST)
def test_an_honest_folder_opens_without_a_word(folder: Path, change: Damage) -> None:
    change(folder)
    assert read_folder(folder).compared
    done = run_bare(folder, ["list"])
    assert (done.returncode, done.stderr) == (0, "")


def test_a_recording_where_the_docs_put_it_is_scored(folder: Path) -> None:
    add("recordings/moves.jsonl", json.dumps(LEND) + "\n")(folder)
    done = run_bare(folder, ["score", "000", "recordings/moves.jsonl"])
    assert (done.returncode, json.loads(done.stdout)["outcome"], done.stderr) == (0, "pass", "")


@pytest.mark.long
def test_a_folder_without_digests_opens_with_one_line(folder: Path, tmp_path: Path) -> None:
    """People write such folders, and an edited one is such."""
    change(POSED)(folder)
    (folder / SUMS).unlink()
    done = run_bare(folder, ["list"])
    assert (done.returncode, done.stderr) == (0, f"{folder}: {UNCOMPARED}\n")
    assert not read_folder(folder).compared
    result = CliRunner().invoke(
        make_app(),
        ["audit", str(folder)],
        env={name: str(tmp_path / name) for name in SURROUNDINGS},
    )
    assert (result.exit_code in (0, 1), result.stderr.splitlines()) == (
        True,
        [f"{folder}: {UNCOMPARED}"],
    ), result.output


def test_each_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    reach = carried.PlainFiles._reach  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(
        carried.PlainFiles, "_reach", lambda self, path: read.append(path) or reach(self, path)
    )
    read_folder(folder)
    with open_folder(folder) as bundle:
        assert bundle.play("000", [LEND])["outcome"] == "pass"
        assert bundle.play("000", [])["outcome"] == "fail"
    every = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert sorted(read) == sorted([*every, *every])


def test_a_file_exchanged_after_the_comparison_is_not_used(folder: Path) -> None:
    with open_folder(folder) as bundle:
        told = bundle.read_scenario("000")["request"]
        text = (folder / POSED).read_text()
        (folder / POSED).write_text(text.replace(told, "Do something else."))
        (folder / "envrun/environment.json").write_text("{}")
        assert bundle.read_scenario("000")["request"] == told
        assert bundle.play("000", [LEND])["outcome"] == "pass"


RELEASED = [
    pytest.param("{good}  environments.json\n", "", id="as-published"),
    pytest.param("{good} *./environments.json\n", "", id="other-spelling"),
    pytest.param("{bad}  environments.json\n", CHANGED, id="changed"),
    pytest.param("{good}  environments.json\n{bad}  scenarios.json\n", MISSING, id="missing"),
    pytest.param("SHA256 (environments.json) = {good}\n", f"{SUMS}, line 1", id="another-form"),
    pytest.param(None, UNCOMPARED, id="none"),
]


@pytest.mark.parametrize(("sums", "words"), RELEASED)
def test_a_release_of_another_system_is_compared_with_what_its_list_names(
    tmp_path: Path, sums: str | None, words: str
) -> None:
    home = tmp_path / "release"
    add("environments.json")(home)
    add("notes.txt", "not named by the list")(home)
    good = hashlib.sha256((home / "environments.json").read_bytes()).hexdigest()
    if sums is not None:
        (home / SUMS).write_text(sums.format(good=good, bad="0" * 64))
    environ = {name: str(tmp_path / name) for name in SURROUNDINGS}
    result = CliRunner().invoke(
        make_app(), ["import", "envscaler", str(home), str(tmp_path / "out")], env=environ
    )
    refused = isinstance(result.exception, SettingsError) and result.exception.message
    assert words in (refused or result.stderr)
    assert bool(refused) == (words not in ("", UNCOMPARED)), result.output
    assert (UNCOMPARED in result.stderr) == (words == UNCOMPARED)
