"""`views.sql` in a process that knows nothing of EnvMill: the same rows, whatever was half-written,
retried or merged."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.files import file_name
from envmill.lake.lake import Lake
from envmill.lake.views import VIEWS, open_views
from envmill.lake.views.shell import write_sql
from schemas.ledger import Attrition
from schemas.seed import Seed
from schemas.tables import TABLES
from tests.lake.views.example import FIRST, SECOND, fill

SHELL = """
import json, sys, duckdb
assert not [name for name in sys.modules if name.startswith(("envmill", "schemas"))]
connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")  # a slow question draws one among the answers
connection.execute(sys.stdin.read())
answers = {name: connection.execute(f'from "{name}" order by all').fetchall() for name in sys.argv[1:]}
print(json.dumps(answers, default=str))
"""

NAMES = [*TABLES, *VIEWS]

Write = Callable[[int, int], None]


def ask_shell(place: Path) -> dict[str, list[Any]]:
    """Outside the checkout, so that nothing of ours can be imported."""
    command = [sys.executable, "-I", "-c", SHELL, *NAMES]
    done = subprocess.run(
        command,
        input=write_sql(str(place), VIEWS),
        capture_output=True,
        text=True,
        cwd="/",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask_program(place: Path) -> dict[str, list[Any]]:
    with open_views(Lake(place)) as connection:
        answers = {
            name: connection.execute(f'from "{name}" order by all').fetchall() for name in NAMES
        }
    return json.loads(json.dumps(answers, default=str))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "it's a lake"
    fill(Lake(place))
    return place


@pytest.fixture
def add_batch(
    place: Path,
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> Write:
    def add(number: int, attempt: int) -> None:
        stamp = make_stamp(attempt, bucket=7, run=SECOND)
        Lake(place).publish(
            [make_seed(number), make_seed(0)], [make_exit(f"s{number}", "kept", attempt)], stamp
        )

    return add


@pytest.mark.long
def test_the_shell_sees_what_the_program_sees(place: Path) -> None:
    answers = ask_shell(place)
    assert answers == ask_program(place)
    assert answers["funnel"]


@pytest.mark.long
def test_a_retried_batch_counts_once_and_an_uncommitted_one_not_at_all(
    place: Path, add_batch: Write
) -> None:
    add_batch(1, 1)
    add_batch(2, 2)
    add_batch(3, 3)
    (place / file_name("attrition", SECOND, f"environments-generate-07-{'f' * 8}-a3-seed")).unlink()
    answers = ask_shell(place)
    assert answers == ask_program(place)
    assert sorted(json.loads(row[3])["number"] for row in answers["seeds"]) == [0, 1, 2]


@pytest.mark.long
def test_merged_files_count_in_place_of_what_they_replace(place: Path, add_batch: Write) -> None:
    before = ask_shell(place)
    compact(Lake(place), FIRST)
    assert ask_shell(place) == before
    add_batch(1, 1)
    compact(Lake(place), SECOND)
    add_batch(2, 2)
    compact(Lake(place), SECOND, grace=0.0)
    (place / f"seeds/run={SECOND}/merged-000009-00000000-0.parquet").write_bytes(
        b"left by a killed compaction"
    )
    answers = ask_shell(place)
    assert answers == ask_program(place)
    assert len(answers["seeds"]) == 3


def test_a_missing_merge_record_is_an_error(place: Path) -> None:
    for number in (1, 2):
        (place / f"_compact/run={FIRST}").mkdir(parents=True, exist_ok=True)
        (place / f"_compact/run={FIRST}/{number:06d}.json").write_text(
            '{"replaces": {}, "adds": {}}'
        )
    (place / f"_compact/run={FIRST}/000001.json").unlink()
    with pytest.raises(AssertionError, match="merge record of run nightly-1 is missing"):
        ask_shell(place)


def test_an_empty_lake_has_empty_views(tmp_path: Path) -> None:
    assert set(map(len, ask_shell(tmp_path / "lake").values())) == {0}
