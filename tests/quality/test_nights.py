"""Nights: what drifts is found, what is quiet is not, and what is broken holds an export back until
somebody accepts it."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envmill.base.settings import ROOT
from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.stages.review import write_review
from quality.nights.docs import write_docs
from quality.nights.drift import LEAST_NIGHTS, NIGHTS, Mean, bound, measure
from quality.nights.frames import FRAMES, read_frames
from quality.nights.judging import GATE, judge_night, write_night
from quality.nights.suites import run_suites
from schemas.base import Record
from schemas.ledger import Attrition, Evidence
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tasks.night import find_family, list_latest
from tests.quality import drifted
from tests.quality.drifted import show_drift
from tests.quality.nights import DRIFTS, Frames, draw_night
from tests.quality.specimen import FINGERPRINTS, TIME, make_line

SOAK = bool(os.environ.get("ENVMILL_SOAK"))
SIZES = ((20, 6), (6, 4)) if SOAK else ((20, 6),)


def outside(tonight: Frames, nights: Sequence[Mapping[str, Mean]]) -> list[str]:
    """Means that lie outside their bounds."""
    found = measure(tonight)
    return [name for name, one in bound(found, nights).items() if not one.holds(found[name])]


@cache
def before(seed: int, environments: int = 20, scenarios: int = 6) -> tuple[Mapping[str, Mean], ...]:
    return tuple(
        measure(draw_night(1000 * seed + number, environments, scenarios))
        for number in range(NIGHTS)
    )


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_drift_of_each_kind_is_found(drift: str) -> None:
    found = [
        outside(draw_night(77_000 + seed, drifted=DRIFTS[drift]), before(seed))
        for seed in range(20 if SOAK else 3)
    ]
    assert all(found), drift


@pytest.mark.parametrize("size", SIZES)
def test_quiet_nights_raise_at_most_one_alarm_in_fifty(size: tuple[int, int]) -> None:
    """The last fourteen nights move along. A night that raised an alarm is no longer compared
    with."""
    for seed in range(40 if SOAK else 1):
        nights, alarms = [*before(500 + seed, *size)], 0
        for number in range(50):
            tonight = draw_night(90_000_000 + 100 * seed + number, *size)
            if outside(tonight, nights):
                alarms += 1
            else:
                nights.append(measure(tonight))
        assert alarms <= 1, seed


def test_too_few_nights_or_rows_say_nothing() -> None:
    nights = before(1)
    assert bound(measure(draw_night(5)), nights[: LEAST_NIGHTS - 1]) == {}
    assert "environments.tools" not in measure(draw_night(5, environments=5))
    assert "environments.tools" in measure(draw_night(5, environments=6))


@pytest.mark.long
def test_the_suites_name_what_is_broken_in_words() -> None:
    nights, tonight = before(2), draw_night(7, drifted=DRIFTS["longer requests"])
    tonight["scenarios"].loc[0, "polarity"] = "shout"
    tonight["rollouts"].loc[0, "reward"] = 1.5
    tonight["environments"].loc[1, "id"] = tonight["environments"].loc[0, "id"]
    broken = run_suites("r1", tonight, bound(measure(tonight), nights))
    assert set(broken) == {
        "scenarios.words mean",
        "scenarios.polarity",
        "rollouts.reward",
        "environments.id",
    }
    assert re.fullmatch(r"words of a request: \d+\.?\d* to \d+\.?\d* on average, as in the last 14 nights; it is "
r"2\d\d(\.\d)?",
                        broken["scenarios.words mean"])  # fmt: skip
    assert broken["scenarios.polarity"].endswith(
        "one of achieve, answer, refuse, escalate, clarify; 1 rows differ"
    )


def test_a_quiet_night_meets_every_expectation() -> None:
    tonight = draw_night(8)
    assert run_suites("r1", tonight, bound(measure(tonight), before(3))) == {}


@pytest.mark.long
@pytest.mark.parametrize("frame", FRAMES, ids=lambda one: one.name)
def test_every_expectation_can_fail(frame: object) -> None:
    """Of each column one value that it must not have."""
    assert isinstance(frame, type(FRAMES[0]))
    for column in frame.columns:
        tonight = {name: rows.astype(object) for name, rows in draw_night(9).items()}
        rows = tonight[frame.name]
        for wrong in _spoil(
            column.least,
            column.most,
            column.among,
            column.unique,
            column.filled and not column.share,
        ):
            spoilt = rows.copy()
            spoilt.loc[0, column.name] = rows.loc[1, column.name] if wrong == "same" else wrong
            kinds = spoilt.infer_objects() if wrong is not None else spoilt
            assert f"{frame.name}.{column.name}" in run_suites("r1", {frame.name: kinds}, {}), (
                column.name,
                wrong,
            )
        if column.share:
            assert column.drifts


def _spoil(
    least: float | None, most: float | None, among: tuple[str, ...], unique: bool, filled: bool
) -> Sequence[object]:
    share = (least, most) == (0, 1) and not filled
    ranges = (
        []
        if share
        else [
            value - 1 if value is least else value + 1
            for value in (least, most)
            if value is not None
        ]
    )
    return [
        *ranges,
        *(["strange"] if among else []),
        *(["same"] if unique else []),
        *([None] if filled else []),
    ]


def test_a_run_of_the_lake_becomes_frames(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    make_line().write(lake, "r1", FINGERPRINTS)
    with open_views(lake, ["r1"]) as connection:
        frames = read_frames(connection, "r1")
    assert {name: len(rows) for name, rows in frames.items()} == {
        "exits": 10,
        "environments": 1,
        "scenarios": 1,
        "rollouts": 2,
    }
    assert frames["exits"]["kept_scenarios_generate"].dropna().tolist() == [1, 0]
    assert frames["rollouts"]["passed"].tolist() in ([1, 0], [0, 1])
    assert all(
        list(rows.columns) == [one.name for one in frame.columns]
        for frame in FRAMES
        for rows in [frames[frame.name]]
    )
    assert run_suites("r1", frames, {}) == {}


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    ("record", "changes", "column"),
    [
        (Scenario, {"environment": "env_elsewhere"}, "scenarios.environment_exists"),
        (Scenario, {"do_nothing_reward": 1.0}, "scenarios.idle_reward"),
        (Rollout, {"scenario": "scn_elsewhere"}, "rollouts.scenario_exists"),
        (Rollout, {"outcome": "error", "reward": 0.0}, "rollouts.error_has_no_reward"),
    ],
)
def test_rows_of_the_lake_that_break_an_expectation(
    tmp_path: Path, record: type[Record], changes: dict[str, Any], column: str
) -> None:
    lake, line = Lake(tmp_path), make_line()
    line.change(record, **changes)
    line.write(lake, "r1", FINGERPRINTS)
    with open_views(lake, ["r1"]) as connection:
        assert column in run_suites("r1", read_frames(connection, "r1"), {})


def test_what_a_gate_dropped_was_paid_for_nothing_and_holds_no_night_back(tmp_path: Path) -> None:
    lake, line = Lake(tmp_path), make_line()
    line.change(Scenario, do_nothing_reward=1.0)
    line.change(
        Attrition,
        lambda one: (one.lap, one.stage, one.gate) == ("scenarios", "filter", "exit"),
        outcome="dropped",
        reason="x",
    )
    line.write(lake, "r1", FINGERPRINTS)
    with open_views(lake, ["r1"]) as connection:
        assert run_suites("r1", read_frames(connection, "r1"), {}) == {}


def test_a_run_is_looked_at_beside_those_it_takes_environments_from(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for number in range(70):
        note(lake, f"r{number}", "started", {})
    assert set(list_latest(lake, "r69", "r2", "")) - set(list_latest(lake, "r69")) == {"r2"}


def write_night_row(
    lake: Lake, run: str, family: str, words: float, broken: Mapping[str, str] = {}
) -> None:
    mean = {"rows": 100, "mean": words, "spread": 1.0}
    finding = {
        "family": family,
        "means": {"scenarios.words": mean},
        "bounds": {},
        "broken": dict(broken),
    }
    note(lake, run, "started", {})
    row = Evidence(gate=GATE, subject=f"run:{run}", finding=finding)
    lake.put(
        Evidence,
        [row],
        f"{GATE}-{row.id}",
        Stamp(run, GATE, "", 0, 1, "0", f"{TIME[:-7]}{int(run[1:]):02}+00:00"),
    )


def write_wide_line(lake: Lake, run: str, words: int) -> None:
    """A run with enough scenarios for a mean."""
    note(lake, run, "started", {})
    line = make_line()
    (scenario,) = line.all(Scenario)
    rows = line.rows["scenarios-build"]
    for number in range(9):
        rows.append(
            scenario.model_copy(
                update={"id": f"scn_{number}", "request": " ".join(["word"] * (words + number % 2))}
            )
        )
    line.write(lake, run, FINGERPRINTS)


def judge(lake: Lake, run: str) -> tuple[bool, list[str], int]:
    with open_views(lake) as connection:
        found = judge_night(connection, run, "family")
    nights = found.bounds["scenarios.words"].nights if "scenarios.words" in found.bounds else 0
    return found.passes, list(found.broken), nights


@pytest.mark.long
@pytest.mark.parametrize(("words", "passes"), [(10, True), (60, False)])
def test_a_night_is_compared_with_those_of_its_family_until_it_is_accepted(
    tmp_path: Path, words: int, passes: bool
) -> None:
    lake = Lake(tmp_path)
    for number in range(6):
        write_night_row(lake, f"r{number}", "family", 10 + number % 2)
    write_night_row(lake, "r6", "other", 60)
    write_night_row(lake, "r7", "family", 60, {"scenarios.words mean": "strange"})
    write_wide_line(lake, "r9", words)
    assert judge(lake, "r9") == (passes, [] if passes else ["scenarios.words mean"], 6)
    write_review(lake, "r9", "run:r9", "me", "reject", "no")
    assert judge(lake, "r9")[0] is passes
    write_review(lake, "r9", "run:r9", "me", "accept", "a new prompt")
    assert judge(lake, "r9")[0]


def test_an_accepted_night_is_one_of_the_nights(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for number in range(6):
        write_night_row(lake, f"r{number}", "family", 10)
    write_night_row(lake, "r7", "family", 60, {"scenarios.words mean": "strange"})
    write_wide_line(lake, "r9", 10)
    assert judge(lake, "r9")[2] == 6
    write_review(lake, "r7", "run:r7", "me", "accept", "right as it is")
    assert judge(lake, "r9")[2] == 7


def test_data_docs_ask_nothing_of_the_network(tmp_path: Path) -> None:
    tonight = draw_night(10, drifted=DRIFTS["cost"])
    index = write_docs("r1", tonight, bound(measure(tonight), before(4)), tmp_path)
    pages = {page: page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")}
    assert len(pages) == 1 + 2 * len(FRAMES)
    assert not re.search(r"<(script|img|iframe)\b|<link\b[^>]*https?:", "".join(pages.values()))
    assert "model tokens per step of a scenario" in pages[index]
    linked = re.findall(r'<a href="([^"]+)"', pages[index])
    assert len(linked) == len(FRAMES)
    assert all((tmp_path / one).exists() for one in linked)
    assert (
        "as in the last 14 nights"
        in pages[tmp_path / next(one for one in linked if "exits" in one)]
    )


@pytest.mark.long
def test_the_docs_of_a_planted_drift_show_it_and_nothing_else(tmp_path: Path) -> None:
    broken = show_drift(tmp_path, "longer requests")
    assert list(broken) == ["scenarios.words mean"]
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert index.count("words of a request") == 1
    assert index.count("<td>none</td>") == len(FRAMES) - 1
    page = next((tmp_path / "validations" / "scenarios").rglob("*.html")).read_text(
        encoding="utf-8"
    )
    assert "fa-times" in page.split("</head>")[1], "the expectation that is not met is marked"


def test_a_drift_that_nobody_plants_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="There is no drift 'gravity'"):
        drifted.main([str(tmp_path), "gravity"])


@pytest.mark.long
def test_docs_are_written_of_a_night_that_was_judged_alone(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    make_line().write(lake, "r1", FINGERPRINTS)
    with open_views(lake, ["r1"]) as connection:
        assert write_night(connection, "r1", tmp_path / "docs") is None
    assert not (tmp_path / "docs").exists()
    write_night_row(lake, "r1", "family", 10)
    with open_views(lake) as connection:
        assert write_night(connection, "r1", tmp_path / "docs") == tmp_path / "docs/index.html"


@pytest.mark.long
def test_nothing_heavy_is_imported_before_a_night_is_judged() -> None:
    code = (
        "import sys, flows.factory, quality.nights.judging; print({'great_expectations', "
        "'pandas', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["set()"]


def test_a_share_that_never_was_otherwise_may_be_so_once() -> None:
    """A first error after fourteen nights without one is no drift; a night full of them is."""

    def calm(errors: int) -> Mean:
        return Mean(100, errors / 100, float(np.std([1] * errors + [0] * (100 - errors))))

    nights = [{"exits.error": calm(0)}] * NIGHTS
    assert bound({"exits.error": calm(1)}, nights)["exits.error"].holds(calm(1))
    assert not bound({"exits.error": calm(20)}, nights)["exits.error"].holds(calm(20))


def test_a_family_is_what_was_set_on_purpose() -> None:
    config = RunConfig(recipe="awm", scenarios=3)
    assert find_family(config) == find_family(
        config.model_copy(update={"run": "r2", "seed": 9, "budget": 5.0, "environments": 50})
    )
    assert find_family(config) != find_family(config.model_copy(update={"model": "another"}))
