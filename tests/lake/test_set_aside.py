"""Rows that quality set aside are seen in `quarantine` alone: no table, view or lookup shows them
as if they had been kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from envmill.lake import lineage
from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.lake.views import open_views
from schemas.ledger import Attrition
from schemas.quality import Quarantine
from schemas.rollout import Rollout
from schemas.seed import Seed
from tests.lake.views.example import FIRST, SECOND, fill
from tests.lake.views.test_shell import ask_program, ask_shell

MakeStamp = Callable[..., Stamp]


def set_aside(lake: Lake, run: str, table: str, row: str) -> None:
    """As `envmill.pipeline.quarantine` does for rows that no step made."""
    aside = Quarantine(
        table_name=table, row=row, promise="licence_said", detail="by hand", content={"id": row}
    )
    lake.put(
        Quarantine,
        [aside],
        f"quality-{aside.id}",
        Stamp(run, "quality", "", 0, 1, "0", "2026-01-01T00:00:00+00:00"),
    )


@pytest.fixture
def full(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    fill(lake)
    return lake


@pytest.fixture
def gone(full: Lake) -> str:
    """A rollout of the first run that is set aside."""
    ((found,),) = fetch(full, f"select min(id) from rollouts where run = '{FIRST}'")
    set_aside(full, FIRST, "rollouts", found)
    return found


def test_a_row_set_aside_is_in_no_table_but_quarantine(full: Lake, gone: str) -> None:
    everywhere = len(full.read(Rollout, FIRST)) + len(full.read(Rollout, SECOND))
    assert fetch(
        full, "select count(*), count(*) filter (id = $id) from rollouts", {"id": gone}
    ) == [(everywhere - 1, 0)]
    assert fetch(full, 'select "row" from quarantine') == [(gone,)]


def test_views_do_not_count_it(tmp_path: Path, full: Lake, gone: str) -> None:
    before = Lake(tmp_path / "whole")
    fill(before)
    count = "select sum(attempts) from pass_rate where run = ?"
    assert fetch(before, count, [FIRST])[0][0] - fetch(full, count, [FIRST])[0][0] == 1


def test_only_the_run_it_was_set_aside_in_lacks_it(lake: Lake, make_seed: Callable[[int], Seed], make_exit: Callable[..., Attrition],
    make_stamp: MakeStamp) -> None:  # fmt: skip
    for run in ("r1", "r2"):
        note(lake, run, "started", {})
        lake.publish([make_seed(1)], [make_exit("a", "kept", 1)], make_stamp(run=run))
    set_aside(lake, "r1", "seeds", make_seed(1).id)
    set_aside(lake, "r2", "blueprints", make_seed(1).id)
    assert fetch(lake, "select run from seeds") == [("r2",)]


def test_the_ledger_stays_whole(full: Lake) -> None:
    ((line, count),) = fetch(full, f"select min(id), count(*) from attrition where run = '{FIRST}'")
    set_aside(full, FIRST, "attrition", line)
    assert fetch(full, f"select count(*) from attrition where run = '{FIRST}'") == [(count,)]


@pytest.mark.long
def test_it_stays_away_when_the_run_is_merged_and_rolled_up(full: Lake, gone: str) -> None:
    before = ask_program(Path(full.url))
    assert compact(full, FIRST).rollups
    assert ask_program(Path(full.url)) == before
    assert gone not in {row[0] for row in before["rollouts"]}


@pytest.mark.long
def test_the_shell_does_not_see_it_either(full: Lake, gone: str) -> None:
    answers = ask_shell(Path(full.url))
    assert answers == ask_program(Path(full.url))
    assert gone not in {row[0] for row in answers["rollouts"]}


def test_a_lookup_finds_what_became_of_it(full: Lake, gone: str) -> None:
    with open_views(full) as connection:
        found = lineage.find(connection, gone)
        assert (found.table, found.run) == ("quarantine", FIRST)
        assert lineage.read(connection, found)["content"] == {"id": gone}
