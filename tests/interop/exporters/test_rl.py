"""RL rows and preferences: what a trainer is told, and what it must not be told."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.interop.exporters import EXPORTERS, ExportSet
from envmill.interop.exporters.base import ScoredAttempt
from envmill.interop.exporters.rl import group_posings
from tests.interop.exporters.specimens import ASKED, DONE, make_export_set


def read_lines(exporter: str, split: str) -> list[dict]:
    (output,) = EXPORTERS[exporter](make_export_set())
    return [json.loads(line) for line in output.files[f"{split}.jsonl"].splitlines()]


def test_a_scenario_that_hides_something_is_posed_both_ways() -> None:
    rows = read_lines("rl", "train")
    assert [row["form"] for row in rows].count("conversation") == 1
    spoken = {
        row["form"]: row["prompt"][-1]["content"]
        for row in rows
        if row["scenario"] == make_export_set().scenarios[1].id
    }
    assert spoken == {"single": "Please lend the drill to Ada.", "conversation": "I need a drill."}


def test_a_scenario_in_which_the_user_acts_is_posed_as_a_conversation_alone() -> None:
    export_set = make_export_set()
    acted = [call.model_copy(update={"actor": "user"}) for call in export_set.scenarios[0].oracle]
    shared = export_set.scenarios[0].model_copy(update={"oracle": acted})
    rows = group_posings(replace(export_set, scenarios=(shared,)))
    assert [row.form for found in rows.values() for row in found] == ["conversation"]


def test_the_policy_document_and_the_time_come_first() -> None:
    (row,) = read_lines("rl", "test")
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert row["prompt"][0]["content"] == "Be brief.\n\nIt is Monday, 2026-03-02, 09:00."


def test_a_row_names_its_verifier_and_holds_nothing_of_it() -> None:
    barn = make_export_set().environments[1]
    (row,) = read_lines("rl", "validation")
    assert row["verifier"] == {
        "bundle": f"bundle/{barn.id}",
        "scenario": "000",
        "id": make_export_set().scenarios[2].id,
    }
    said = json.dumps(row)
    assert not [word for word in ("oracle", "goals", "the drill is lent", '"free"') if word in said]


def test_bounds_travel_with_the_row() -> None:
    bounds = [row["bounds"] for row in read_lines("rl", "train") if row["bounds"]]
    assert bounds == [
        {"false_accept": 0.02, "false_accept_n": 150, "false_reject": 0.1, "false_reject_n": 28}
    ]


def test_a_pair_begins_alike_and_parts() -> None:
    (row,) = read_lines("preferences", "train")
    assert (row["prompt"], row["rejected"]) == ([ASKED], [DONE])
    assert [message["role"] for message in row["chosen"]] == ["assistant", "tool", "assistant"]
    assert row["tools"][0]["function"]["name"] == "lend"


@pytest.mark.parametrize("exporter", ["rl", "preferences"])
def test_parquet_says_the_same_as_jsonl_in_strings(exporter: str) -> None:
    (output,) = EXPORTERS[exporter](make_export_set())
    rows = pq.read_table(pa.BufferReader(output.files["train.parquet"])).to_pylist()
    assert [row["scenario"] for row in rows] == [
        row.get("scenario", rows[0]["scenario"]) for row in read_lines(exporter, "train")
    ]
    assert all(json.loads(row["prompt"]) for row in rows)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_nothing_makes_nothing(exporter: str) -> None:
    assert list(EXPORTERS[exporter](ExportSet())) == []


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_same_export_set_makes_the_same_bytes_in_any_order(exporter: str) -> None:
    export_set = make_export_set()
    turned = replace(
        export_set,
        environments=export_set.environments[::-1],
        tests=export_set.tests[::-1],
        scenarios=export_set.scenarios[::-1],
        trajectories=export_set.trajectories[::-1],
    )
    one, other = (
        {output.name: {**output.files, **output.beside} for output in EXPORTERS[exporter](each)}
        for each in (export_set, turned)
    )
    assert one == other


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_every_folder_bears_a_canary(exporter: str) -> None:
    for output in EXPORTERS[exporter](make_export_set()):
        assert any(b"EnvMill canary " in content for content in output.files.values())


def test_what_the_teacher_never_passed_is_posed_all_the_same() -> None:
    """Who trains online wants what is not yet solved; there is only nothing to imitate."""
    export_set = replace(make_export_set(), trajectories=(), pairs=())
    (untaught,), (taught,) = EXPORTERS["rl"](export_set), EXPORTERS["rl"](make_export_set())
    assert untaught.files == taught.files
    assert list(EXPORTERS["sft"](export_set)) == []
    assert [output.name for output in EXPORTERS["bundle"](export_set)] == [
        output.name for output in EXPORTERS["bundle"](make_export_set())
    ]
    assert all(
        b"sft" not in name.encode()
        for output in EXPORTERS["dataset"](export_set)
        for name in output.files
    )


def score(export_set: ExportSet, *rewards: tuple[int, str, float | None]) -> ExportSet:
    """Attempts by the place of their scenario, form and reward."""
    homes = [(one.id, one.environment) for one in export_set.scenarios]
    scored = [
        ScoredAttempt(f"rol_{number}", *homes[place], form, "m", reward)
        for number, (place, form, reward) in enumerate(rewards)
    ]
    return replace(export_set, attempts=tuple(scored))


def list_rows(export_set: ExportSet) -> dict[tuple[str, str], dict]:
    (output,) = EXPORTERS["rl"](export_set)
    lines = [
        line
        for name, text in output.files.items()
        if name.endswith(".jsonl")
        for line in text.splitlines()
    ]
    return {(row["scenario"], row["form"]): row for row in map(json.loads, lines)}


def test_an_advantage_is_what_an_attempt_earned_beside_its_group_in_units_of_its_environment() -> (
    None
):
    """Two scenarios of one environment: its deviation is that of all their attempts, the mean is
    each group's own."""
    export_set = make_export_set()
    first, second, other, _ = (one.id for one in export_set.scenarios)
    shed = [
        (0, "single", 1.0),
        (0, "single", 0.0),
        (0, "single", 0.0),
        (0, "single", 0.0),
        (1, "single", 1.0),
        (1, "single", 1.0),
    ]
    rows = list_rows(score(export_set, *shed, (2, "single", 0.0)))
    mixed, passed = rows[first, "single"], rows[second, "single"]
    assert (
        mixed["group"],
        mixed["reward_mean"],
        mixed["environment_mean"],
        mixed["environment_deviation"],
    ) == ("mixed", 0.25, 0.5, 0.5)
    assert [one["advantage"] for one in mixed["attempts"]] == [1.5, -0.5, -0.5, -0.5]
    assert [one["rollout"] for one in mixed["attempts"]] == ["rol_0", "rol_1", "rol_2", "rol_3"]
    assert (passed["group"], [one["advantage"] for one in passed["attempts"]]) == (
        "all_passed",
        [0.0, 0.0],
    )
    assert (rows[other, "single"]["group"], rows[other, "single"]["environment_deviation"]) == (
        "all_failed",
        0.0,
    )
    assert [one["advantage"] for one in rows[other, "single"]["attempts"]] == [0.0], (
        "without a deviation nobody is ahead"
    )


def test_what_a_user_spoilt_counts_in_no_mean() -> None:
    export_set = make_export_set()
    first, second, *_ = (one.id for one in export_set.scenarios)
    rows = list_rows(
        score(
            export_set,
            (0, "single", 1.0),
            (0, "single", None),
            (1, "single", None),
            (1, "conversation", 0.0),
        )
    )
    assert (rows[first, "single"]["masked"], rows[first, "single"]["reward_mean"]) == (1, 1.0)
    assert (
        rows[second, "single"]["group"],
        rows[second, "single"]["masked"],
        rows[second, "single"]["reward_mean"],
    ) == (
        "untried",
        1,
        None,
    )
    assert rows[second, "conversation"]["group"] == "all_failed"
    listed = [
        (one["rollout"], one["reward"], one["advantage"])
        for one in rows[first, "single"]["attempts"]
    ]
    assert listed == [("rol_0", 1.0, 0.0), ("rol_1", None, None)]
    assert {rows[place]["environment_mean"] for place in rows if place[0] in (first, second)} == {
        0.5
    }


def test_every_group_is_returned_and_the_manifest_counts_them() -> None:
    export_set = make_export_set()
    (output,) = EXPORTERS["rl"](
        score(
            export_set,
            (0, "single", 0.5),
            (0, "single", 0.5),
            (2, "single", 1.0),
            (2, "single", 0.0),
        )
    )
    counted = json.loads(output.files["manifest.json"])["groups"]
    shed, barn = (one.id for one in export_set.environments)
    assert counted == {shed: {"all_equal": 1, "untried": 2}, barn: {"mixed": 1, "untried": 1}}
    assert all(
        row["environment_mean"] == 0.5
        for row in list_rows(score(export_set, (0, "single", 0.5), (2, "single", 0.5))).values()
    )
    assert all(row["environment_mean"] is None for row in list_rows(export_set).values())


def test_attempts_at_what_stays_at_home_move_no_mean() -> None:
    export_set = make_export_set()
    left = replace(
        score(export_set, (0, "single", 0.0), (1, "single", 1.0)),
        scenarios=export_set.scenarios[1:],
    )
    assert {
        row["environment_mean"]
        for row in list_rows(left).values()
        if row["environment"] == export_set.environments[0].id
    } == {1.0}
