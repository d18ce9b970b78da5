"""Every promise has a specimen that breaks it, and the survey names it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from quality.promises import PROMISES
from schemas.base import Record
from schemas.environment import Blueprint, Build, Environment, Test
from schemas.errand_plan import PlannedErrand
from schemas.ledger import Attack, Attrition, Evidence, ModelCall, RunEvent
from schemas.pair import Pair
from schemas.quality import Quarantine, Reverification, Review, Withdrawal
from schemas.rollout import Bundle, Rollout, Trajectory
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed
from schemas.shapes import shape_of
from schemas.tables import TABLES
from tests.quality.conftest import survey_run
from tests.quality.specimen import FINGERPRINTS, Line, exit_row, gate_row, make_line

Break = Callable[[Line], None]


def change(record: type[Record], **changes: Any) -> Break:
    return lambda line: line.change(record, **changes)


def change_at(step: str, **changes: Any) -> Break:
    """The exits of one step."""
    return lambda line: line.change(
        Attrition, lambda row: f"{row.lap}-{row.stage}" == step and row.gate == "exit", **changes
    )


def remove(record: type[Record]) -> Break:
    return lambda line: line.remove(record)


def remove_at(step: str) -> Break:
    return lambda line: line.remove(
        Attrition, lambda row: f"{row.lap}-{row.stage}" == step and row.gate == "exit"
    )


def add(step: str, make: Callable[[Line], Record]) -> Break:
    return lambda line: line.rows[step].append(make(line))


BROKEN: dict[tuple[str, str], Break] = {
    ("run_events", "started"): change(RunEvent, event="finished"),
    ("attrition", "entered_is_kept_dropped_error"): remove_at("environments-verify"),
    ("attrition", "gates_agree"): lambda line: line.change(Attrition, lambda row: row.gate == "S1", outcome="dropped", reason="x"),
    ("attrition", "nothing_lost"): add("environments-build", lambda line: line.all(Environment)[0].model_copy(update={"id": "env_lost"})),
    ("attrition", "nothing_new"): add("environments-filter", lambda _: exit_row("environments-filter", "env_from_nowhere")),
    ("attrition", "batch_whole"): remove(Draft),
    ("attrition", "children_told"): change_at("scenarios-filter", children=1),
    ("attrition", "children_made"): change_at("scenarios-filter", children=3),
    ("attrition", "step_named"): lambda line: line.change(Attrition, lambda row: row.gate == "W1", stage="build"),
    ("attrition", "reason_given"): lambda line: line.change(Attrition, lambda row: row.outcome == "dropped", reason=""),
    ("attrition", "evidence_exists"): lambda line: line.change(Attrition, lambda row: row.gate == "F1", evidence="gev_gone"),
    ("attrition", "spent_counts"): change_at("scenarios-build", seconds=float("nan")),
    ("attrition", "cost_known"): change_at("scenarios-build", cost=None),
    ("gate_evidence", "subject_seen"): change(Evidence, subject="scn_unseen", gate="S2"),
    ("gate_evidence", "pass_rate_holds"): change(Evidence, finding={"passed": 3, "attempts": 2}),
    ("attacks", "scenario_exists"): change(Attack, scenario="scn_gone"),
    ("attacks", "reward_bounded"): change(Attack, reward=1.2),
    ("model_calls", "cost_known"): change(ModelCall, cost=None),
    ("model_calls", "usage_counts"): change(ModelCall, tokens_in=5, tokens_cached=6),
    ("model_calls", "price_sourced"): change(ModelCall, cost=0.1),
    ("model_calls", "failure_told"): change(ModelCall, outcome="failure"),
    ("seeds", "licence_said"): change(Seed, licence=""),
    ("blueprints", "licence_said"): change(Blueprint, licence=""),
    ("blueprints", "tools_there"): change(Blueprint, tools=[]),
    ("blueprints", "seed_exists"): remove(Seed),
    ("environments", "licence_said"): change(Environment, licence=""),
    ("environments", "tools_there"): change(Environment, tools=[]),
    ("environments", "files_there"): change(Environment, files={}),
    ("environments", "blueprint_exists"): change(Environment, blueprint="bp_gone"),
    ("builds", "subject_exists"): change(Build, subject="bp_gone"),
    ("builds", "failure_told"): change(Build, outcome="failed"),
    ("tests", "environment_exists"): change(Test, environment="env_gone"),
    ("errands", "environment_exists"): change(PlannedErrand, environment="env_gone"),
    ("errands", "what_said"): change(PlannedErrand, what=""),
    ("errands", "planned_in_full"): change(PlannedErrand, about=[]),
    ("drafts", "environment_exists"): change(Draft, environment="env_gone"),
    ("drafts", "oracle_there"): change(Draft, oracle=[]),
    ("drafts", "gold_hash_said"): change(Draft, gold_hash=""),
    ("scenarios", "environment_exists"): change(Scenario, environment="env_gone"),
    ("scenarios", "draft_exists"): change(Scenario, draft="dft_gone"),
    ("scenarios", "oracle_pays_and_idling_does_not"): change(Scenario, do_nothing_reward=0.4),
    ("scenarios", "oracle_reward_bounded"): change(Scenario, oracle_reward=1.5),
    ("scenarios", "do_nothing_reward_bounded"): change(Scenario, do_nothing_reward=float("nan")),
    ("scenarios", "domain_in_one_split"): add(
        "scenarios-build", lambda line: line.all(Scenario)[0].model_copy(update={"id": "scn_torn", "split": "test"})
    ),
    ("rollouts", "scenario_exists"): change(Rollout, scenario="scn_gone"),
    ("rollouts", "reward_null_on_error"): change(Rollout, outcome="error"),
    ("rollouts", "reward_bounded"): change(Rollout, reward=-0.1),
    ("rollouts", "steps_counted"): change(Rollout, steps=-1),
    ("trajectories", "rollout_passed"): lambda line: line.change(Rollout, lambda row: row.attempt == 0, outcome="fail"),
    ("trajectories", "messages_weighed"): change(Trajectory, loss=[True]),
    ("trajectories", "split_of_its_scenario"): change(Trajectory, split="test"),
    ("trajectories", "licence_said"): change(Trajectory, licence=""),
    ("pairs", "one_passed_one_failed"): change(Pair, rejected="rol_gone"),
    ("pairs", "margin_positive"): change(Pair, margin=0.0),
    ("pairs", "both_go_on"): change(Pair, worse_loss=[False]),
    ("pairs", "split_of_its_scenario"): change(Pair, split="validation"),
    ("pairs", "licence_said"): change(Pair, licence=""),
    ("bundles", "not_empty"): change(Bundle, files={"train.jsonl": 0}),
    ("verdicts", "no_reward_on_error"): change(Reverification, outcome="error"),
    ("verdicts", "reward_bounded"): change(Reverification, reward=2.0),
    ("verdicts", "subject_said"): change(Reverification, subject=""),
    ("reviews", "subject_said"): change(Review, subject=""),
    ("reviews", "reviewer_said"): change(Review, reviewer=""),
    ("quarantine", "table_exists"): change(Quarantine, table_name="tabels"),
    ("quarantine", "detail_said"): change(Quarantine, detail=""),
    ("withdrawals", "subject_said"): change(Withdrawal, subject=""),
    ("withdrawals", "reason_said"): change(Withdrawal, reason=""),
}  # fmt: skip
"""(table, promise) → what is done to a run that keeps it."""

ALIKE = ("key_unique", "json_parses")
"""Promises that many tables make, broken in the files themselves: records cannot say such
things."""

WHOLE = ("run_events", "model_calls", "verdicts", "reviews", "quarantine", "withdrawals")
"""Tables that no step writes as its work: they are judged with the whole run."""

EACH = [(table, promise.name) for table, found in PROMISES.items() for promise in found.promises]


def broken_in(lake: Lake, table: str) -> set[tuple[str, str]]:
    """Judging one table's promises is quicker than all."""
    return {
        (one.table, one.promise)
        for one in survey_run(lake, tables=None if table in WHOLE else {table}).breaches
    }


def test_a_sound_run_breaks_nothing(lake: Lake) -> None:
    make_line().write(lake, "r1")
    found = survey_run(lake)
    assert found.breaches == ()
    assert {tally.table for tally in found.tallies if tally.rows} == set(PROMISES)


def test_promises_are_told_in_the_order_they_are_stated(lake: Lake) -> None:
    """Looks end in any order."""
    make_line().write(lake, "r1")
    assert [(tally.table, tally.promise) for tally in survey_run(lake).tallies] == EACH


def test_a_look_that_fails_fails_the_survey_and_names_the_file(lake: Lake) -> None:
    make_line().write(lake, "r1")
    path = Path(lake.files("rollouts", "r1")[0])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(LakeError, match=path.stem):
        survey_run(lake)


def test_of_three_attempts_the_latest_decides(lake: Lake) -> None:
    """The second tells of children that nobody made, the third takes it back."""
    line = make_line()
    line.write(lake, "r1")
    exits = [
        row
        for row in line.all(Attrition)
        if (row.lap, row.stage, row.gate) == ("scenarios", "collect", "exit")
    ]
    found: list[int] = []
    for number, children in ((2, 5), (3, 1)):
        again = [
            Attrition.model_validate(
                row.model_dump(exclude={"id"}) | {"try_number": number, "children": children}
            )
            for row in exits
        ]
        stamp = Stamp(
            "r1", "scenarios-collect", FINGERPRINTS["scenarios-collect"], 0, number, "0", "t"
        )
        assert lake.publish(line.all(Trajectory), again, stamp)
        found.append(sum(one.promise == "children_made" for one in survey_run(lake).breaches))
    assert found == [4, 0]


def test_every_promise_has_its_specimen() -> None:
    assert {one for one in EACH if one[1] not in ALIKE} == set(BROKEN)


@pytest.mark.long(cases=2)
@pytest.mark.parametrize("promise", BROKEN, ids=".".join)
def test_a_broken_promise_is_named(lake: Lake, promise: tuple[str, str]) -> None:
    line = make_line()
    BROKEN[promise](line)
    line.write(lake, "r1")
    assert promise in broken_in(
        lake, "model_calls" if promise == ("attrition", "cost_known") else promise[0]
    )


def test_a_file_that_counts_twice_is_seen(lake: Lake) -> None:
    """In every table at once: one survey takes as long as that of one table."""
    make_line().write(lake, "r1")
    tables = [table for table, name in EACH if name == "key_unique"]
    for table in tables:
        (name, *_) = lake.files(table, "r1")
        Path(name).with_stem("copy").write_bytes(Path(name).read_bytes())
    seen = {one.table for one in survey_run(lake).breaches if one.promise == "key_unique"}
    assert seen == set(tables)


def test_json_that_does_not_parse_is_seen(lake: Lake) -> None:
    make_line().write(lake, "r1")
    torn = {
        table: tear(Path(lake.files(table, "r1")[0]), table)
        for table, name in EACH
        if name == "json_parses"
    }
    found = [one for one in survey_run(lake).breaches if one.promise == "json_parses"]
    assert {table: {one.id for one in found if one.table == table} for table in torn} == torn


def tear(path: Path, table: str) -> set[str]:
    """Cut off the JSON of one column; ids of the rows."""
    rows = pq.read_table(path)
    column = next(name for name in rows.schema.names if _is_json(table, name))
    cut = pa.array(['{"torn": '] * len(rows), pa.string())
    pq.write_table(
        rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), cut), path
    )
    return set(rows["id"].to_pylist())


def test_a_retried_batch_is_no_breach(lake: Lake) -> None:
    """The same rows again, by a later attempt of a subject that had ended in error."""
    line = make_line()
    line.write(lake, "r1")
    again = [
        Attrition.model_validate(row.model_dump(exclude={"id"}) | {"try_number": 2})
        for row in line.all(Attrition)
    ]
    stamp = Stamp("r1", "scenarios-collect", FINGERPRINTS["scenarios-collect"], 0, 2, "0", "t")
    assert lake.publish(
        line.all(Trajectory), [row for row in again if row.stage == "collect"], stamp
    )
    assert survey_run(lake).breaches == ()


def test_only_the_attempt_that_readers_see_is_judged(lake: Lake) -> None:
    line = make_line()
    good = line.all(Rollout)
    line.change(Rollout, reward=7.0)
    line.write(lake, "r1")
    assert {one.promise for one in survey_run(lake, tables={"rollouts"}).breaches} == {
        "reward_bounded"
    }
    again = [
        Attrition.model_validate(row.model_dump(exclude={"id"}) | {"try_number": 2})
        for row in line.all(Attrition)
    ]
    stamp = Stamp("r1", "scenarios-filter", FINGERPRINTS["scenarios-filter"], 0, 2, "0", "t")
    assert lake.publish(
        good, [row for row in again if (row.lap, row.stage) == ("scenarios", "filter")], stamp
    )
    assert survey_run(lake).breaches == ()


def test_work_under_another_fingerprint_is_somebody_elses(lake: Lake) -> None:
    make_line().write(lake, "r1")
    stamp = Stamp("r1", "environments-filter", "0" * 20, 0, 2, "0", "t")
    row = gate_row("environments-filter", "env_of_old", "W10", try_number=2, outcome="dropped")
    assert lake.publish([], [row], stamp)
    assert survey_run(lake).breaches == ()


def test_steps_that_have_not_run_promise_nothing(lake: Lake) -> None:
    line = make_line()
    line.cut_after("environments-filter")
    line.write(lake, "r1")
    assert survey_run(lake, steps=list(line.rows)[1:]).breaches == ()


def _is_json(table: str, column: str) -> bool:
    return any(one.name == column and one.type == "json" for one in shape_of(TABLES[table]))
