"""RL rows and preferences: what a trainer is told, and what it must not be told."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.interop.exporters import EXPORTERS, ExportSet
from envmill.interop.exporters.rl import group_posings
from tests.interop.exporters.specimens import ASKED, DONE, make_cargo


def read_lines(exporter: str, split: str) -> list[dict]:
    (parcel,) = EXPORTERS[exporter](make_cargo())
    return [json.loads(line) for line in parcel.files[f"{split}.jsonl"].splitlines()]


def test_a_scenario_that_hides_something_is_posed_both_ways() -> None:
    rows = read_lines("rl", "train")
    assert [row["form"] for row in rows].count("conversation") == 1
    spoken = {row["form"]: row["prompt"][-1]["content"] for row in rows if row["scenario"] == make_cargo().scenarios[1].id}
    assert spoken == {"single": "Please lend the drill to Ada.", "conversation": "I need a drill."}


def test_a_scenario_in_which_the_user_acts_is_posed_as_a_conversation_alone() -> None:
    cargo = make_cargo()
    acted = [call.model_copy(update={"actor": "user"}) for call in cargo.scenarios[0].oracle]
    shared = cargo.scenarios[0].model_copy(update={"oracle": acted})
    rows = group_posings(replace(cargo, scenarios=(shared,)))
    assert [row.form for found in rows.values() for row in found] == ["conversation"]


def test_the_policy_document_and_the_time_come_first() -> None:
    (row,) = read_lines("rl", "test")
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert row["prompt"][0]["content"] == "Be brief.\n\nIt is Monday, 2026-03-02, 09:00."


def test_a_row_names_its_verifier_and_holds_nothing_of_it() -> None:
    barn = make_cargo().environments[1]
    (row,) = read_lines("rl", "validation")
    assert row["verifier"] == {"bundle": f"bundle/{barn.id}", "scenario": "000", "id": make_cargo().scenarios[2].id}
    said = json.dumps(row)
    assert not [word for word in ("oracle", "goals", "the drill is lent", '"free"') if word in said]


def test_bounds_travel_with_the_row() -> None:
    bounds = [row["bounds"] for row in read_lines("rl", "train") if row["bounds"]]
    assert bounds == [{"false_accept": 0.02, "false_accept_n": 150, "false_reject": 0.1, "false_reject_n": 28}]


def test_a_pair_begins_alike_and_parts() -> None:
    (row,) = read_lines("preferences", "train")
    assert (row["prompt"], row["rejected"]) == ([ASKED], [DONE])
    assert [message["role"] for message in row["chosen"]] == ["assistant", "tool", "assistant"]
    assert row["tools"][0]["function"]["name"] == "lend"


@pytest.mark.parametrize("exporter", ["rl", "preferences"])
def test_parquet_says_the_same_as_jsonl_in_strings(exporter: str) -> None:
    (parcel,) = EXPORTERS[exporter](make_cargo())
    rows = pq.read_table(pa.BufferReader(parcel.files["train.parquet"])).to_pylist()
    assert [row["scenario"] for row in rows] == [row.get("scenario", rows[0]["scenario"]) for row in read_lines(exporter, "train")]
    assert all(json.loads(row["prompt"]) for row in rows)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_nothing_makes_nothing(exporter: str) -> None:
    assert list(EXPORTERS[exporter](ExportSet())) == []


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_same_cargo_makes_the_same_bytes_in_any_order(exporter: str) -> None:
    cargo = make_cargo()
    turned = replace(
        cargo,
        environments=cargo.environments[::-1],
        tests=cargo.tests[::-1],
        scenarios=cargo.scenarios[::-1],
        trajectories=cargo.trajectories[::-1],
    )
    one, other = ({parcel.name: {**parcel.files, **parcel.beside} for parcel in EXPORTERS[exporter](each)} for each in (cargo, turned))
    assert one == other


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_every_parcel_bears_a_canary(exporter: str) -> None:
    for parcel in EXPORTERS[exporter](make_cargo()):
        assert any(b"EnvMill canary " in content for content in parcel.files.values())


def test_what_the_teacher_never_passed_is_posed_all_the_same() -> None:
    """Who trains online wants what is not yet solved; there is only nothing to imitate."""
    cargo = replace(make_cargo(), trajectories=(), pairs=())
    (untaught,), (taught,) = EXPORTERS["rl"](cargo), EXPORTERS["rl"](make_cargo())
    assert untaught.files == taught.files
    assert list(EXPORTERS["sft"](cargo)) == []
    assert [parcel.name for parcel in EXPORTERS["bundle"](cargo)] == [parcel.name for parcel in EXPORTERS["bundle"](make_cargo())]
    assert all(b"sft" not in name.encode() for parcel in EXPORTERS["dataset"](cargo) for name in parcel.files)
