"""Rollups: a finished run's answers are kept, are the live answers, and fall away as soon as
anything of the run changes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.rollup import find_rollups, find_stale
from envmill.lake.views import VIEWS, open_views
from schemas.ledger import Attrition
from schemas.seed import Seed

SQLS = {name: view.sql for name, view in VIEWS.items()}


@pytest.fixture
def finished(
    lake: Lake,
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> Lake:
    note(lake, "r1", "started", {})
    for bucket in range(3):
        lake.publish(
            [make_seed(bucket)],
            [make_exit(f"s{bucket}", "kept", 1, 1.0)],
            make_stamp(bucket=bucket),
        )
    lake.publish([], [make_exit("s0", "dropped", 2, 2.0)], make_stamp(2))
    note(lake, "r1", "finished", {})
    return lake


def test_a_finished_run_keeps_every_answer_and_the_answers_are_the_live_ones(
    finished: Lake,
) -> None:
    before = _answers(finished)
    assert compact(finished, "r1").rollups == len(VIEWS)
    assert set(find_rollups(finished, finished.snapshot("r1"), SQLS)) == set(VIEWS)
    assert _answers(finished) == before
    assert compact(finished, "r1").rollups == 0


def test_a_rollup_is_what_is_read(finished: Lake) -> None:
    compact(finished, "r1")
    path = find_rollups(finished, finished.snapshot("r1"), SQLS)["funnel"]
    assert Path(path).read_bytes()[:4] == b"PAR1"
    finished.store.delete(path.removeprefix(f"{finished.url}/"))
    assert find_rollups(finished, finished.snapshot("r1"), SQLS) == {}


@pytest.mark.parametrize("change", ["event", "batch", "sql"])
def test_whatever_changes_makes_it_stale(
    finished: Lake,
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
    change: str,
) -> None:
    compact(finished, "r1")
    sqls = dict(SQLS)
    if change == "event":
        note(finished, "r1", "started", {})
    elif change == "batch":
        finished.publish([], [make_exit("s9", "kept", 1)], make_stamp(bucket=9))
    else:
        sqls["runs"] += " "
    assert find_rollups(finished, finished.snapshot("r1"), sqls) == {}
    if change == "batch":
        entered = open_views(finished).sql("select entered from funnel").fetchall()
        assert entered == [(4,)]


def test_after_a_release_with_another_view_answers_are_live_and_right_until_compaction(
    finished: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact(finished, "r1")
    assert find_stale(finished, SQLS) == []
    released = {
        name: replace(
            view, sql=view.sql.replace("count(*) as entered", "count(*) + 100 as entered")
        )
        for name, view in VIEWS.items()
    }
    for name, view in released.items():
        monkeypatch.setitem(VIEWS, name, view)
    sqls = {name: view.sql for name, view in released.items()}
    assert find_stale(finished, sqls) == ["r1"]
    assert open_views(finished, question="from funnel").execute(
        "select entered from funnel"
    ).fetchall() == [(103,)]
    monkeypatch.setattr("envmill.lake.compaction._SQLS", sqls)
    assert compact(finished, "r1").rollups == len(VIEWS)
    assert find_stale(finished, sqls) == []
    assert open_views(finished, question="from funnel").execute(
        "select entered from funnel"
    ).fetchall() == [(103,)]


def test_a_run_that_goes_on_gets_none(
    lake: Lake, make_exit: Callable[..., Attrition], make_stamp: Callable[..., Stamp]
) -> None:
    note(lake, "r1", "started", {})
    lake.publish([], [make_exit("a", "kept", 1)], make_stamp())
    assert compact(lake, "r1").rollups == 0


def test_a_run_that_moves_while_it_is_asked_gets_none(
    finished: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "envmill.lake.compaction.open_views", lambda lake, runs: _Moving(lake, runs)
    )
    assert compact(finished, "r1").rollups == 0


def test_stale_ones_go_after_the_grace_period(finished: Lake) -> None:
    compact(finished, "r1")
    note(finished, "r1", "finished", {"again": True})
    compact(finished, "r1")
    assert len(finished.store.entries("_rollup/run=r1")) == 2 * len(VIEWS)
    compact(Lake(finished.url), "r1", grace=-1)
    assert len(finished.store.entries("_rollup/run=r1")) == len(VIEWS)
    assert set(find_rollups(finished, finished.snapshot("r1"), SQLS)) == set(VIEWS)


class _Moving:
    """Views over a run to which something happens as soon as it is asked."""

    def __init__(self, lake: Lake, runs: list[str]) -> None:
        self._lake, self._inner = lake, open_views(lake, runs)

    def __enter__(self) -> "_Moving":
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()

    def sql(self, question: str) -> object:
        note(self._lake, "r1", "started", {})
        return self._inner.sql(question)


def _answers(lake: Lake) -> dict[str, list[tuple[object, ...]]]:
    with open_views(lake) as connection:
        return {
            view: sorted(connection.sql(f'select * from "{view}"').fetchall(), key=repr)
            for view in VIEWS
        }
