"""Rows of stored attempts: what was said, how it went turn by turn, what it earned, and its tokens
where a tokenizer is named."""

import json
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.agents.turn_log import LoggedTurn
from envmill.base.settings import ROOT
from envmill.interop.exporters import columns as writing
from envmill.interop.exporters.attempts import COLUMNS, list_columns
from envmill.interop.exporters.base import AttemptTranscript, ExportSet, ScoredAttempt
from envmill.interop.exporters.dataset import describe_fields
from envmill.interop.exporters.rl import export_rl
from envmill.stages.partial import pay_turns, pay_whole
from schemas.stored import MadeFromRows, StoredRows
from tests.interop.exporters.specimens import ASKED, CALLED, DONE, make_export_set
from tests.specimens import VERIFIER

TURNS = [
    LoggedTurn(["ok"], "h1", [0, 1], [], [], []),
    LoggedTurn([], "h1", [], [], [], []),
]


def make_attempts(
    *rewards: float | None, turns: list[LoggedTurn] | None = TURNS, **changes: Any
) -> ExportSet:
    """Attempts at the first scenario. What earned all passed."""
    export_set = make_export_set()
    home = export_set.scenarios[0]
    place: dict[str, Any] = {
        "scenario": home.id,
        "environment": home.environment,
        "form": "single",
        "policy": "model",
    }
    scored = [
        ScoredAttempt(
            f"rol_{number}",
            **place,
            reward=reward,
            group="probe",
            attempt=number,
            checkpoint="m-1",
            termination="done" if reward is not None else "outage",
            mask="" if reward is not None else "outage",
            outcome={1.0: "pass", None: "error"}.get(reward, "fail"),
        )
        for number, reward in enumerate(rewards)
    ]
    told = [
        AttemptTranscript(
            id=one.id,
            **place,
            split=home.split,
            licence="Apache-2.0",
            messages=[ASKED, *CALLED, DONE],
            loss=[False, True, False, True],
            turns=turns if one.reward is not None else None,
            turns_unknown="" if one.reward is not None else "the attempt ended in error",
            **changes,
        )
        for one in scored
    ]
    return replace(export_set, attempts=tuple(scored), transcripts=tuple(told))


def read_rows(export_set: ExportSet, split: str = "train") -> list[dict[str, Any]]:
    (output,) = export_rl(export_set)
    return pq.read_table(pa.BufferReader(output.files[f"attempts/{split}.parquet"])).to_pylist()


def test_a_row_has_its_group_its_end_its_reward_and_its_turns() -> None:
    rows = read_rows(make_attempts(1.0, 0.0, None))
    assert [set(row) for row in rows] == [{column.name for column in COLUMNS} | {"sources"}] * 3
    told = [
        (
            row["group"],
            row["attempt"],
            row["checkpoint"],
            row["termination"],
            row["mask"],
            row["reward"],
        )
        for row in rows
    ]
    assert told == [
        ("probe", 0, "m-1", "done", "", 1.0),
        ("probe", 1, "m-1", "done", "", 0.0),
        ("probe", 2, "m-1", "outage", "outage", None),
    ]
    assert [row["advantage"] for row in rows] == [1.0, -1.0, None]
    assert json.loads(rows[0]["turns"])[0] == {
        "calls": ["ok"],
        "state_hash": "h1",
        "goals_met": [0, 1],
        "goals_lost": [],
        "guards_broken": [],
        "guards_mended": [],
    }
    assert rows[2]["turns"] == "null"
    assert [message["role"] for message in json.loads(rows[0]["messages"])] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_the_page_has_a_table_of_its_fields() -> None:
    assert describe_fields(list_columns({})) in (ROOT / "docs/exports.md").read_text(), (
        "`python -m tests.interop.exporters.fields`"
    )


def test_a_row_says_nothing_of_what_the_verifier_asks_for() -> None:
    said = json.dumps(read_rows(make_attempts(1.0, 0.0)))
    assert not [
        word for word in ("goal missed", *(goal.name for goal in VERIFIER.goals)) if word in said
    ]


def test_rows_are_written_only_when_asked_for_and_the_manifest_names_what_is_not_known() -> None:
    (output,) = export_rl(make_attempts(1.0, None))
    manifest = json.loads(output.files["manifest.json"])
    assert (manifest["attempt_rows"], manifest["turns_unknown"]) == (
        2,
        {"the attempt ended in error": ["rol_1"]},
    )
    (plain,) = export_rl(replace(make_attempts(1.0, None), transcripts=()))
    assert not [name for name in plain.files if "attempts" in name]
    assert "attempt_rows" not in json.loads(plain.files["manifest.json"])


def test_attempts_at_what_stays_at_home_have_no_row() -> None:
    export_set = make_attempts(1.0)
    (output,) = export_rl(replace(export_set, scenarios=export_set.scenarios[1:]))
    assert not [name for name in output.files if "attempts" in name]


def test_rewards_are_binary_unless_the_verifier_may_pay_for_parts() -> None:
    export_set = make_attempts(1.0, 0.5, None)
    assert [one.reward for one in pay_whole(export_set).attempts] == [1.0, 0.0, None]
    allowed = replace(export_set, partial=frozenset({export_set.scenarios[0].id}))
    assert [one.reward for one in pay_whole(allowed).attempts] == [1.0, 0.5, None]
    (whole,), (parts,) = export_rl(pay_whole(export_set)), export_rl(pay_whole(allowed))
    told = [json.loads(one.files["manifest.json"])["rewards"] for one in (whole, parts)]
    assert [one["partial"] for one in told] == [[], [export_set.scenarios[0].id]]


def test_a_pass_that_a_judge_ruled_against_keeps_what_it_was_paid() -> None:
    export_set = make_attempts(1.0, 0.0)
    ruled = replace(export_set.attempts[0], reward=0.7)
    assert pay_whole(replace(export_set, attempts=(ruled,))).attempts == (ruled,)


@pytest.mark.parametrize(
    ("allowed", "turns", "rewards"),
    [
        pytest.param(True, TURNS, [1.1, 0.1, None], id="asked for, and parts may be paid"),
        pytest.param(False, TURNS, [1.0, 0.0, None], id="parts may not be paid"),
        pytest.param(True, None, [1.0, 0.0, None], id="turns unknown"),
    ],
)
def test_turns_are_paid_where_parts_may_be_and_turns_are_known(
    allowed: bool, turns: list[LoggedTurn] | None, rewards: list[float | None]
) -> None:
    export_set = make_attempts(1.0, 0.0, None, turns=turns)
    export_set = replace(
        export_set, partial=frozenset({export_set.scenarios[0].id} if allowed else ())
    )
    assert [one.reward for one in pay_turns(export_set, 0.1).attempts] == rewards
    rows = read_rows(pay_turns(export_set, 0.1))
    assert [row["turn_reward"] for row in rows] == [
        0.1 if allowed and turns and row["reward"] is not None else 0.0 for row in rows
    ]
    assert [one.reward for one in pay_turns(export_set, 0.0).attempts] == [1.0, 0.0, None], (
        "nothing is added unless asked"
    )


def test_going_in_circles_earns_nothing() -> None:
    met, lost = LoggedTurn(["ok"], "a", [0], [], [], []), LoggedTurn(["ok"], "b", [], [0], [], [])
    export_set = make_attempts(0.0, turns=[met, lost] * 5)
    paid = pay_turns(replace(export_set, partial=frozenset({export_set.scenarios[0].id})), 0.5)
    assert [one.reward for one in paid.attempts] == [0.0]


def test_with_a_tokenizer_a_row_has_ids_masks_and_log_probabilities_as_sampled(
    tmp_path: Path,
) -> None:
    pytest.importorskip("tokenizers", reason="the extra `tokens` is not installed: make setup")
    from envmill.interop.tokens.sheet import encode_export_set
    from envmill.interop.tokens.tokenizer import read_tokenizer
    from tests.interop.tokens.families import FAMILIES, write_folder

    chat = read_tokenizer(write_folder(FAMILIES["chatml"], tmp_path / "chatml"))
    call = (
        '<tool_call>\n{"name": "lend", "arguments": {"tool_id": "T1", "note": "ü"}}\n'
        "</tool_call><|im_end|>"
    )
    called, done = chat.encode(call).ids, chat.encode("Done.<|im_end|>").ids
    sampled: list[Any] = [
        None,
        {"ids": called, "logprobs": [-0.25] * len(called)},
        None,
        {"ids": done, "logprobs": [-0.5] * len(done)},
    ]
    rows = read_rows(encode_export_set(make_attempts(1.0, 0.0, sampled=sampled), chat, "rl"))
    assert [(row["rollout"], row["part"], row["reward"]) for row in rows] == [
        ("rol_0", 0, 1.0),
        ("rol_1", 0, 0.0),
    ]
    for row in rows:
        said = [
            token
            for token, masked in zip(row["token_ids"], row["assistant_mask"], strict=True)
            if masked
        ]
        assert said == [*called, *done]
        assert [one for one in row["logprobs"] if one is not None] == [
            *[-0.25] * len(called),
            *[-0.5] * len(done),
        ]
    apart = [*chat.encode("Do").ids, *chat.encode("ne").ids, *chat.encode(".<|im_end|>").ids]
    assert (chat.decode(apart), apart != done) == ("Done.<|im_end|>", True)
    drifted = encode_export_set(
        make_attempts(1.0, sampled=[*sampled[:3], {"ids": apart, "logprobs": None}]), chat, "rl"
    )
    (output,) = export_rl(drifted)
    assert json.loads(output.files["manifest.json"])["tokens"]["left_out"] == {
        "tokens_differ": ["rol_0"]
    }
    assert not [name for name in output.files if "attempts" in name]


class Held(StoredRows[AttemptTranscript]):
    """Rows that lie somewhere."""

    def __init__(self, rows: Sequence[AttemptTranscript]) -> None:
        self.rows = {one.id: one for one in rows}
        self.ids = sorted(self.rows)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[AttemptTranscript]:
        return map(self.get, self.ids)

    def __getitem__(self, place: Any) -> Any:
        return [*self][place]

    def get(self, name: str) -> AttemptTranscript:
        return self.rows[name]

    def of(self, owner: str) -> list[AttemptTranscript]:
        return [one for one in self if one.scenario == owner]

    def owners(self) -> dict[str, str]:
        return {one.id: one.scenario for one in self}

    def keep(self, names: Collection[str]) -> "Held":
        return Held([self.rows[name] for name in self.ids if name in names])

    def where(self, wanted: Callable[[Any], bool]) -> "Held":
        return Held([*filter(wanted, self)])


def test_transcripts_are_in_memory_a_group_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "GROUP", 8)
    export_set, live, most = make_attempts(*[1.0] * 60), 0, 0

    def forget() -> None:
        nonlocal live
        live -= 1

    def make(one: AttemptTranscript) -> AttemptTranscript:
        nonlocal live, most
        made = replace(one)
        weakref.finalize(made, forget)
        live += 1
        most = max(most, live)
        return made

    (whole,) = export_rl(export_set)
    stored = MadeFromRows(Held(export_set.transcripts), make)
    (streamed,) = export_rl(replace(export_set, transcripts=stored))
    assert streamed.content_hash == whole.content_hash
    assert len(read_rows(export_set)) == 60
    assert 8 <= most <= 8 + 2


def test_made_rows_are_what_they_are_made_of() -> None:
    held = Held(make_attempts(1.0, 0.0, 0.5).transcripts)
    rows = MadeFromRows(held, lambda one: replace(one, licence="changed"))
    one, two, three = rows
    assert (rows[0], rows[1:], rows.get("rol_1")) == (one, [two, three], two)
    assert {row.licence for row in rows} == {"changed"}
    assert [*rows.of(one.scenario)] == [one, two, three]
    assert rows.owners() == held.owners()
    assert [*rows.keep({"rol_2"})] == [three]
    assert [*rows.where(lambda row: row.id != "rol_1")] == [one, three]
    assert [row.form for row in rows.change(lambda row: replace(row, form="x"))] == ["x"] * 3
