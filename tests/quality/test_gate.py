"""The suites say what the survey counted, and cost nothing before they run."""

import subprocess
import sys
import warnings

import pytest

from envmill.base.settings import ROOT
from quality.gate import judge
from quality.promise import PromiseTally
from quality.promises import PROMISES
from quality.reference import render
from schemas.tables import TABLES


def tallies(broken: dict[tuple[str, str], int]) -> list[PromiseTally]:
    return [
        PromiseTally(table, one.name, one.severity, one.about, 5, broken.get((table, one.name), 0))
        for table, found in PROMISES.items()
        for one in found.promises
    ]


def test_every_table_has_a_suite() -> None:
    assert set(PROMISES) == set(TABLES)
    assert all(
        len({one.name for one in found.promises}) == len(found.promises)
        for found in PROMISES.values()
    )


def test_what_is_broken_is_reported_and_nothing_else() -> None:
    report = judge(
        tallies({("rollouts", "reward_bounded"): 3, ("seeds", "key_unique"): 1}),
        {("drafts", "json_parses"): 2},
    )
    assert {
        (one.table, promise): count
        for one in report.findings
        for promise, count in one.broken.items()
    } == {
        ("rollouts", "reward_bounded"): 3,
        ("seeds", "key_unique"): 1,
    }
    assert not report.holds
    assert "| rollouts | 5 | 6 | `reward_bounded` 3 |  |" in report.to_markdown()
    assert "| drafts | 5 | 5 |  | `json_parses` 2 |" in report.to_markdown()


@pytest.mark.parametrize("times", [1, 2])
def test_a_sound_run_holds_however_often_it_is_judged(times: int) -> None:
    assert all(judge(tallies({})).holds for _ in range(times))


def test_judging_leaves_warnings_as_they_were() -> None:
    before = list(warnings.filters)
    judge(tallies({}))
    assert warnings.filters == before


@pytest.mark.long
def test_flows_do_not_pay_for_the_suites_before_they_run() -> None:
    code = (
        "import sys, flows.factory; print('great_expectations' in sys.modules, 'pandas' in "
        "sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split()[-2:] == ["False", "False"]


def test_the_page_lists_every_promise() -> None:
    assert (ROOT / "docs/quality.md").read_text(encoding="utf-8") == render()
