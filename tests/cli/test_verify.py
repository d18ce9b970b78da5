"""`envmill verify`: an exported folder beside what was exported; every file that differs is named,
and nothing in it runs."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envmill.interop.bundles import read_folder
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from flows.cli import make_app
from tests.interop.bundles.openers import run_bare
from tests.specimens import make_environment, make_scenario, make_tests


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shed = make_environment()
    output = pack_environment(shed, [make_scenario(shed)], make_tests(shed))
    write_output(output, tmp_path, "r")
    return tmp_path / output.name


def ask(*words: str | Path) -> Result:
    return CliRunner().invoke(make_app(["verify"]), ["verify", *map(str, words)])


def test_a_folder_as_exported_passes_and_stays_readable(folder: Path) -> None:
    own = hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest()
    run_bare(folder, ["check"])
    put(folder, "recordings/deep/1.jsonl", "{}")
    result = ask(folder)
    assert (result.exit_code, own in result.stdout) == (0, True), result.output
    assert ask(folder, "--sha256", own.upper()).exit_code == 0
    assert read_folder(folder).scenarios


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum")
def test_sha256sum_reads_it(folder: Path) -> None:
    assert (
        subprocess.run(
            ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=False
        ).returncode
        == 0
    )


def put(home: Path, name: str, text: str) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text)


def change(name: str) -> Callable[[Path], None]:
    def do(home: Path) -> None:
        (home / name).write_text((home / name).read_text() + " ")

    return do


def add(name: str) -> Callable[[Path], None]:
    return lambda home: put(home, name, "")


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        pytest.param(change("envrun/bundle.py"), "changed: envrun/bundle.py", id="reader"),
        pytest.param(
            change("scenarios/000/verifier.json"),
            "changed: scenarios/000/verifier.json",
            id="verifier",
        ),
        pytest.param(change("README.md"), "changed: README.md", id="paper"),
        pytest.param(
            lambda home: (home / "program/program.py").unlink(),
            "missing: program/program.py",
            id="missing",
        ),
        pytest.param(add("states/more.json"), "surplus: states/more.json", id="surplus"),
        pytest.param(
            add("envrun/__pycache__/bundle.cpython-311.pyc"),
            "surplus: envrun/__pycache__/bundle.cpython-311.pyc",
            id="compiled",
        ),
        pytest.param(add(".hidden"), "surplus: .hidden", id="hidden"),
        pytest.param(add("envrun/json.py"), "surplus: envrun/json.py", id="shadow"),
        pytest.param(
            lambda home: (home / "README.md").rename(home / "readme.md"),
            "missing: README.md\n{}: surplus: readme.md",
            id="case",
        ),
    ],
)
def test_each_difference_is_named(folder: Path, damage: Callable[[Path], None], line: str) -> None:
    damage(folder)
    result = ask(folder)
    assert (result.exit_code, result.stdout) == (1, f"{folder}: {line.format(folder)}\n")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(
            lambda home: (home / "SHA256SUMS").unlink(),
            "SHA256SUMS: the file is missing",
            id="none",
        ),
        pytest.param(
            lambda home: (home / "SHA256SUMS").write_text("x\n"),
            "SHA256SUMS, line 1",
            id="no-digests",
        ),
        pytest.param(
            lambda home: (home / "SHA256SUMS").write_text(f"{'0' * 64}  a\n" * 2),
            "SHA256SUMS, line 2",
            id="twice",
        ),
        pytest.param(
            lambda home: (home / "SHA256SUMS").write_text(f"{'0' * 64}  a\x1b[2J\n"),
            "SHA256SUMS, line 1",
            id="escape",
        ),
        pytest.param(
            lambda home: os.mkfifo(home / "envrun/pipe"),
            "envrun/pipe: it is no plain file",
            id="pipe",
        ),
        pytest.param(
            lambda home: (home / "envrun/x.py").symlink_to("/etc/hostname"),
            "envrun/x.py: it is no plain file",
            id="link",
        ),
    ],
)
def test_what_cannot_be_compared_is_wrong_input(
    folder: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(folder)
    result = ask(folder)
    assert (type(result.exception).__name__, words in str(result.exception)) == (
        "SettingsError",
        True,
    ), result.output


def test_a_list_that_was_replaced_too_is_not_the_published_one(folder: Path) -> None:
    change("envrun/bundle.py")(folder)
    published = hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest()
    paths = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS"
    )
    digests = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n"
        for path in paths
    )
    (folder / "SHA256SUMS").write_text(digests)
    assert ask(folder).exit_code == 0
    assert ask(folder, "--sha256", published).exit_code == 1


def test_one_bad_folder_of_several_is_named(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    change("tools.json")(other)
    result = ask(folder, other)
    assert (
        result.exit_code,
        f"{other}: changed: tools.json" in result.stdout,
        f"{folder}: " in result.stdout,
    ) == (1, True, True)


@pytest.mark.parametrize("given", ["", "0" * 63, "sha256:" + "0" * 64, "0" * 64 + "\n"])
def test_an_empty_digest_is_not_none(folder: Path, given: str) -> None:
    """Nor is another text: as `--sha256 "$(curl …)"` gives it when curl fails."""
    result = ask(folder, "--sha256", given)
    assert (type(result.exception).__name__, "which is not a SHA-256" in str(result.exception)) == (
        "SettingsError",
        True,
    ), result.output
