"""`envmill lock`, `rebuild` and `diff`: the same bytes from a copy of the lake elsewhere, and
whatever was tampered with is named."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner, Result

from envmill.base.settings import ROOT
from envmill.lake.arrow import Stamp, to_arrow
from envmill.lake.lake import Lake
from envmill.lake.reading import encode
from envmill.pipeline import rebuilding
from envmill.pipeline.locking import find_versions, read_lock
from flows.cli import make_app
from flows.local.home import Home
from flows.opening import open_walk
from schemas.quality import Reverification, Withdrawal
from schemas.rollout import Bundle, Rollout, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Scenario

_SMALL: dict[str, Any] = {
    "environments": 1,
    "scenarios": 2,
    "attempts": 2,
    "keep": 1,
    "mistakes": 0.0,
    "search": 20,
}
RUNS = {
    "r1": RunConfig.model_validate(
        _SMALL | {"seed": 11, "polarities": {"achieve": 1}, "exporters": ("sft",)}
    ),
    "r2": RunConfig.model_validate(
        _SMALL | {"seed": 12, "polarities": {"achieve": 1}, "exporters": ("sft",)}
    ),
}
WALK = """
import asyncio, sys
from flows.local.home import Home
from flows.opening import open_walk
from schemas.run import RunConfig
import os

async def walk() -> None:
    async with open_walk(sys.argv[1], RunConfig.model_validate_json(sys.argv[2]), Home.read(dict(os.environ)).settings) as opened:
        await opened.walk()

asyncio.run(walk())
"""


def place(folder: Path) -> dict[str, str]:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """Two runs, the second killed on its way and gone on with, and the lock of both."""
    folder = tmp_path_factory.mktemp("locked")
    surroundings = place(folder)

    async def walk(run: str) -> None:
        async with open_walk(run, RUNS[run], Home.read(surroundings).settings) as opened:
            await opened.walk()

    asyncio.run(walk("r1"))
    _kill_on_the_way(surroundings, folder / "lake")
    asyncio.run(walk("r2"))
    done = ask(surroundings, "lock", "r1", "r2", "--out", str(folder / "both.lock"))
    assert done.exit_code == 0, done.exception
    return surroundings, folder / "both.lock"


def _kill_on_the_way(surroundings: dict[str, str], lake: Path) -> None:
    words = [sys.executable, "-c", WALK, "r2", RUNS["r2"].model_dump_json()]
    worker = subprocess.Popen(
        words, env=os.environ | surroundings, cwd=ROOT, start_new_session=True
    )
    ends = time.monotonic() + 60
    while (
        worker.poll() is None and time.monotonic() < ends and not [*lake.glob("scenarios/run=r2/*")]
    ):
        time.sleep(0.02)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def ask(surroundings: dict[str, str], *words: str) -> Result:
    return CliRunner(env=surroundings).invoke(make_app(words), [*words])


def hash_files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def copy(surroundings: dict[str, str], folder: Path) -> dict[str, str]:
    """The lake in another place, and nothing else of its home."""
    shutil.copytree(surroundings["ENVMILL_LAKE"], folder / "lake")
    return place(folder)


@pytest.mark.long
def test_a_copy_of_the_lake_elsewhere_gives_the_same_bytes_in_another_process(
    locked: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    surroundings, lock = locked
    there = copy(surroundings, tmp_path / "there")
    assert (
        ask(surroundings, "export", "r1", "r2", "--out", str(tmp_path / "exported")).exit_code == 0
    )
    words = [
        sys.executable,
        "-m",
        "flows.cli",
        "rebuild",
        str(lock),
        "--out",
        str(tmp_path / "rebuilt"),
    ]
    done = subprocess.run(
        words, env=os.environ | there, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert hash_files(tmp_path / "rebuilt") == hash_files(tmp_path / "exported")
    told = {
        f"{one.name}/{name}": found
        for one in read_lock(lock).folders
        for name, found in one.files.items()
    }
    assert hash_files(tmp_path / "rebuilt") == told
    assert {
        one.path.partition("/rebuilt")[0]
        for one in Lake(there["ENVMILL_LAKE"]).read(Bundle, "r2")
        if "rebuilt" in one.path
    } == {str(tmp_path)}, "a recall finds the copy"


@pytest.mark.long
def test_a_lock_is_the_same_twice_and_is_never_overwritten(
    locked: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    surroundings, lock = locked
    again = tmp_path / "again.lock"
    assert ask(surroundings, "lock", "r2", "r1", "--out", str(again)).exit_code == 0
    assert again.read_bytes() == lock.read_bytes()
    assert "exists already" in str(ask(surroundings, "lock", "r1", "--out", str(again)).exception)
    same = ask(surroundings, "diff", str(lock), str(again))
    assert (same.exit_code, same.stdout) == (0, "The locks say the same.\n")


@pytest.mark.long
def test_rows_of_attempts_with_token_ids_are_locked_with_their_tokenizer(
    locked: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    pytest.importorskip("tokenizers", reason="the extra `tokens` is not installed: make setup")
    from tests.interop.tokens.families import FAMILIES, write_folder

    surroundings, _ = locked
    folder = write_folder(FAMILIES["chatml"], tmp_path / "chatml")
    asked = [
        "r1",
        "--exporter",
        "rl",
        "--attempts",
        "--tokenizer",
        str(folder),
        "--template-args",
        '{"x": 1}',
    ]
    assert ask(surroundings, "export", *asked, "--out", str(tmp_path / "exported")).exit_code == 0
    done = ask(surroundings, "lock", *asked, "--out", str(tmp_path / "rl.lock"))
    assert done.exit_code == 0, done.exception
    told = read_lock(tmp_path / "rl.lock")
    assert told.transcripts.keys() == told.attempts.keys()
    assert told.tokenizer
    assert told.tokenizer.template_args == {"x": 1}

    def rebuild(*words: str) -> Result:
        return ask(
            surroundings,
            "rebuild",
            str(tmp_path / "rl.lock"),
            *words,
            "--out",
            str(tmp_path / f"rebuilt{len(words)}"),
        )

    assert "name their tokenizer with --tokenizer" in rebuild().stderr
    other = write_folder(FAMILIES["thinking"], tmp_path / "other")
    refused = rebuild("--tokenizer", str(other))
    assert refused.exit_code == 1
    assert "tokenizer.json of the tokenizer is another one than in the lock" in refused.stderr
    assert not (tmp_path / "rebuilt2").exists()
    moved = Path(shutil.copytree(folder, tmp_path / "under another name"))
    done = rebuild("--tokenizer", str(moved))
    assert done.exit_code == 0, done.stderr
    assert hash_files(tmp_path / "rebuilt2") == hash_files(tmp_path / "exported")
    ask(surroundings, "lock", *asked[:5], str(other), "--out", str(tmp_path / "other.lock"))
    compared = ask(surroundings, "diff", str(tmp_path / "rl.lock"), str(tmp_path / "other.lock"))
    assert "tokenizer.json of the tokenizer is another one" in compared.stdout


def rewrite(lake: Path, table: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """One row of run r1 changed in its file, past all checks."""
    path = min(lake.glob(f"{table}/run=r1/*.parquet"))
    found = parquet.read_table(path)
    rows = found.to_pylist()
    rows[0] = change(rows[0])
    parquet.write_table(type(found).from_pylist(rows, schema=found.schema), path)


def withdraw(lake: Path) -> None:
    first = min(Lake(lake).read(Scenario, "r1"), key=lambda one: one.id)
    row = Withdrawal(
        subject=first.id,
        reason="S8: does nothing",
        bundles=[],
        withdrawn_at="2026-11-27T00:00:00+00:00",
    )
    Lake(lake).put(
        Withdrawal, [row], "recall-0", Stamp("r1", "recall", "", 0, 1, "0", row.withdrawn_at)
    )


def change_verifier(row: dict[str, Any]) -> dict[str, Any]:
    verifier = json.loads(row["verifier"])
    verifier["goals"][0]["weight"] = 0.5
    return row | {"verifier": json.dumps(verifier)}


def replace_verifier(lake: Path) -> None:
    """A whole row with another verifier, whose id fits."""
    path = min(lake.glob("scenarios/run=r1/*.parquet"))
    old = Lake(lake).read(Scenario, "r1")
    goals = [
        old[0].verifier.goals[0].model_copy(update={"weight": 0.5}),
        *old[0].verifier.goals[1:],
    ]
    told = old[0].model_dump(mode="json", exclude={"id"})
    told["verifier"]["goals"] = [goal.model_dump(mode="json") for goal in goals]
    stamp = parquet.read_table(path).to_pylist()[0]
    written = Stamp(
        *(
            stamp[name]
            for name in (
                "run",
                "step",
                "fingerprint",
                "bucket",
                "try_number",
                "code_version",
                "written_at",
            )
        )
    )
    path.write_bytes(encode(to_arrow(Scenario, [Scenario.model_validate(told), *old[1:]], written)))


TAMPERED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a verifier under the same id": (
        lambda lake: rewrite(lake, "scenarios", change_verifier),
        "does not match its content",
    ),
    "a verifier": (replace_verifier, "its draft has scenario scn_.* now, with another verifier"),
    "a row": (
        lambda lake: rewrite(lake, "scenarios", lambda row: row | {"features": '{"steps":99}'}),
        "its content is another one",
    ),
    "an attempt": (
        lambda lake: rewrite(lake, "rollouts", lambda row: row | {"checkpoint": "x"}),
        "does not match its content",
    ),
    "a withdrawal": (withdraw, "was withdrawn since: S8: does nothing"),
    "a lost file": (
        lambda lake: next(iter(sorted(lake.glob("trajectories/run=r2/*")))).unlink(),
        "trajectories/run=r2/.* counts and is gone",
    ),
    "a lost run": (
        lambda lake: shutil.rmtree(lake / "attrition/run=r2"),
        "Run r2 has not come to scenarios-build",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_tampered_with_is_named_and_nothing_is_written(
    name: str, locked: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    there = copy(locked[0], tmp_path / "there")
    tamper, words = TAMPERED[name]
    tamper(Path(there["ENVMILL_LAKE"]))
    done = ask(there, "rebuild", str(locked[1]), "--out", str(tmp_path / "out/rebuilt"))
    assert (done.exit_code, done.stdout) == (1, ""), done.exception
    assert re.search(words, done.stderr), done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_other_code_is_named_and_allowed_where_no_byte_changes(
    locked: tuple[dict[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surroundings, lock = locked
    there, other = (
        copy(surroundings, tmp_path / "there"),
        find_versions().model_copy(update={"verifiers": "x", "libraries": {"pyarrow": "0"}}),
    )
    monkeypatch.setattr(rebuilding, "find_versions", lambda: other)
    refused = ask(there, "rebuild", str(lock), "--out", str(tmp_path / "out"))
    assert refused.exit_code == 1
    assert "the judging code is of another version: x here" in refused.stderr
    assert "pyarrow is of another version" in refused.stderr
    allowed = ask(there, "rebuild", str(lock), "--other-versions", "--out", str(tmp_path / "out"))
    assert allowed.exit_code == 0, allowed.stderr
    assert "the bytes are the same" in allowed.stderr
    changed = json.loads(lock.read_bytes())
    changed["folders"][0]["files"]["manifest.json"] = "0" * 64
    (tmp_path / "changed.lock").write_text(json.dumps(changed))
    told = ask(
        there,
        "rebuild",
        str(tmp_path / "changed.lock"),
        "--other-versions",
        "--out",
        str(tmp_path / "no"),
    )
    assert (told.exit_code, (tmp_path / "no").exists()) == (1, False)
    assert "manifest.json has other bytes" in told.stderr


@pytest.mark.long
def test_a_killed_rebuild_leaves_no_folder(
    locked: tuple[dict[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = copy(locked[0], tmp_path / "there")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", die)
        assert (
            ask(there, "rebuild", str(locked[1]), "--out", str(tmp_path / "out/rebuilt")).exit_code
            != 0
        )
    assert [*(tmp_path / "out").iterdir()] == []
    assert (
        ask(there, "rebuild", str(locked[1]), "--out", str(tmp_path / "out/rebuilt")).exit_code == 0
    )


@pytest.mark.long
def test_what_a_run_got_since_is_no_part_of_it(
    locked: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    """A lock of one split's scenarios stays what it is while the other run goes on."""
    there = copy(locked[0], tmp_path / "there")
    one = tmp_path / "one.lock"
    assert ask(there, "lock", "r1", "--exporter", "rl", "--out", str(one)).exit_code == 0
    lake = Lake(there["ENVMILL_LAKE"])
    row = next(row for row in lake.read(Rollout, "r1") if row.rollout_group == "probe")
    files = {
        found["id"]: (path, found)
        for path in lake.files("rollouts", "r1")
        for found in parquet.read_table(path).to_pylist()
    }
    path, stamp = files[row.id]
    fresh = Rollout.model_validate(row.model_dump(exclude={"id"}) | {"attempt": 77})
    names = ("run", "step", "fingerprint", "bucket", "try_number", "code_version", "written_at")
    rows = [*(one for one in lake.read(Rollout, "r1") if files[one.id][0] == path), fresh]
    Path(path).write_bytes(encode(to_arrow(Rollout, rows, Stamp(*(stamp[name] for name in names)))))
    assert (
        ask(there, "lock", "r1", "--exporter", "rl", "--out", str(tmp_path / "two.lock")).exit_code
        == 0
    )
    assert (
        f"rollout {fresh.id}: added"
        in ask(there, "diff", str(one), str(tmp_path / "two.lock")).stdout
    )
    assert ask(there, "rebuild", str(one), "--out", str(tmp_path / "out")).exit_code == 0


@pytest.mark.long
def test_verifiers_of_several_versions_are_not_locked(
    locked: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    """Of attempts that teach, too, where no reward of an attempt is written."""
    there = copy(locked[0], tmp_path / "there")
    lake = Lake(there["ENVMILL_LAKE"])
    kept = {one.rollout for one in lake.read(Trajectory, "r2")}
    acted = next(row for row in lake.read(Rollout, "r2") if row.id in kept)
    told: dict[str, Any] = {
        "subject": acted.id,
        "outcome": acted.outcome,
        "reward": acted.reward,
        "reason": "",
        "gate": "verifier",
    }
    other = Reverification.model_validate(
        told | {"judged_at": "2026-11-21T00:00:00+00:00", "verifier_version": "another"}
    )
    lake.put(
        Reverification, [other], "rescore-0", Stamp("r2", "rescore", "", 0, 1, "0", other.judged_at)
    )
    refused = ask(
        there,
        "lock",
        "r1",
        "r2",
        "--exporter",
        "sft",
        "--scripted",
        "--out",
        str(tmp_path / "no.lock"),
    )
    assert "1 of another" in str(refused.exception)
    assert not (tmp_path / "no.lock").exists()
    assert (
        ask(
            there,
            "lock",
            "r1",
            "--exporter",
            "sft",
            "--scripted",
            "--out",
            str(tmp_path / "one.lock"),
        ).exit_code
        == 0
    )


@pytest.mark.long
def test_a_difference_is_told_in_words(locked: tuple[dict[str, str], Path], tmp_path: Path) -> None:
    surroundings, lock = locked
    there = copy(surroundings, tmp_path / "there")
    withdraw(Path(there["ENVMILL_LAKE"]))
    after = tmp_path / "after.lock"
    assert ask(there, "lock", "r1", "r2", "--exporter", "rl", "--out", str(after)).exit_code == 0
    done = ask(there, "diff", str(lock), str(after))
    assert done.exit_code == 1
    gone = min(one.id for one in Lake(surroundings["ENVMILL_LAKE"]).read(Scenario, "r1"))
    assert f"scenarios gone:\n  {gone}: withdrawn: S8: does nothing\n" in done.stdout
    assert "options:\n  exporters: " in done.stdout
    alone = tmp_path / "alone.lock"
    assert ask(surroundings, "lock", "r1", "--out", str(alone)).exit_code == 0
    told = ask(surroundings, "diff", str(lock), str(alone)).stdout
    assert "run r2 is in the first lock only" in told
    assert "its run is in the first lock only" in told


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "lock of form None"),
        ('{"lock": 9}', "reads 1"),
        ('{"lock": 1}', "is not a lock: versions"),
    ],
)
def test_a_file_that_is_no_lock_is_refused(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.write_text(content)
    assert said in str(ask(place(tmp_path), "diff", str(path), str(path)).exception)
    assert "cannot be read" in str(
        ask(place(tmp_path), "diff", str(tmp_path / "none"), str(path)).exception
    )
