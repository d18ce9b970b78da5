"""Shapes: what a table's columns are, were, and how an old row becomes a new one.

    record ──► shape (columns of the present version)
    old row ──upgrade──► … ──upgrade──► row of the present version

A changed record gets a higher `schema_version`, its old shape goes into PAST, and the step between
them into UPGRADES.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, cast, get_args, get_origin

from schemas.base import Json, Record

ColumnType = Literal["string", "int64", "double", "bool", "json"]
Row = dict[str, Json]

_SCALARS: dict[Any, ColumnType] = {str: "string", int: "int64", float: "double", bool: "bool"}


@dataclass(frozen=True)
class ColumnShape:
    """One column; `json` is a string column that holds a JSON value."""

    name: str
    type: ColumnType
    nullable: bool
    description: str = ""


Shape = tuple[ColumnShape, ...]


def _read(columns: str) -> Shape:
    """Columns out of `name:type` words; a question mark says that null may stand there."""
    split = (word.split(":") for word in columns.split())
    return tuple(
        ColumnShape(name, cast(ColumnType, kind.rstrip("?")), kind.endswith("?"))
        for name, kind in split
    )


PAST: Mapping[tuple[str, int], Shape] = {
    ("model_calls", 1): (
        *(ColumnShape(name, "string", False) for name in ("id",)),
        ColumnShape("schema_version", "int64", False),
        ColumnShape("request", "string", False),
        ColumnShape("sample", "int64", False),
        *(
            ColumnShape(name, "string", False)
            for name in (
                "ordinal",
                "step",
                "subject",
                "prompt",
                "prompt_hash",
                "provider",
                "model",
                "outcome",
            )
        ),
        ColumnShape("reused", "bool", False),
        *(ColumnShape(name, "int64", False) for name in ("retries", "tokens_in", "tokens_out")),
        ColumnShape("cost", "double", True),
        ColumnShape("latency", "double", False),
        *(ColumnShape(name, "string", False) for name in ("asked_at", "reply")),
    ),
    ("model_calls", 2): _read(
        "id:string schema_version:int64 request:string sample:int64 ordinal:string step:string "
        "subject:string role:string "
        "prompt:string prompt_hash:string provider:string model:string served_model:string "
        "family:string kin:bool outcome:string "
        "error:string reused:bool reused_from:string retries:int64 characters:int64 "
        "tokens_in:int64 tokens_cached:int64 "
        "tokens_cache_write:int64 tokens_out:int64 tokens_reasoning:int64 cost:double? "
        "price_source:string waited:double "
        "latency:double asked_at:string reply:string stop:string tool_calls:json reasoning:string "
        "signed:json token_ids:json? "
        "logprobs:json? notes:json"
    ),
    ("model_calls", 3): _read(
        "id:string schema_version:int64 request:string sample:int64 ordinal:string step:string "
        "subject:string "
        "role:string prompt:string prompt_hash:string provider:string model:string "
        "served_model:string family:string "
        "kin:bool outcome:string error:string reused:bool reused_from:string retries:int64 "
        "characters:int64 "
        "tokens_in:int64 tokens_cached:int64 tokens_cache_write:int64 tokens_out:int64 "
        "tokens_reasoning:int64 "
        "cost:double? possibly_paid:int64 possibly_paid_tokens:int64 possibly_paid_cost:double? "
        "price_source:string "
        "waited:double latency:double asked_at:string reply:string stop:string tool_calls:json "
        "reasoning:string "
        "signed:json token_ids:json? logprobs:json? notes:json"
    ),
    ("drafts", 1): _read(
        "id:string schema_version:int64 environment:string number:int64 initial_state:json "
        "request:string user:json "
        "oracle:json polarity:string clock:string seed:int64 changes:json gold_hash:string "
        "origin:json"
    ),
    ("drafts", 2): _read(
        "id:string schema_version:int64 environment:string number:int64 initial_state:json "
        "request:string user:json oracle:json "
        "polarity:string clock:string seed:int64 changes:json gold_hash:string say:string "
        "tell:json avoid:json origin:json"
    ),
    ("drafts", 3): _read(
        "id:string schema_version:int64 environment:string number:int64 initial_state:json "
        "request:string user:json oracle:json "
        "chain:json? polarity:string clock:string seed:int64 changes:json gold_hash:string "
        "say:string tell:json avoid:json origin:json"
    ),
    ("drafts", 4): _read(
        "id:string schema_version:int64 environment:string number:int64 initial_state:json "
        "request:string user:json oracle:json "
        "chain:json? polarity:string clock:string seed:int64 changes:json gold_hash:string "
        "say:string tell:json avoid:json "
        "variants:json origin:json"
    ),
    ("drafts", 5): _read(
        "id:string schema_version:int64 environment:string number:int64 initial_state:json "
        "request:string user:json oracle:json "
        "overlap:json? chain:json? polarity:string clock:string seed:int64 changes:json "
        "gold_hash:string say:string tell:json "
        "avoid:json variants:json origin:json"
    ),
    ("drafts", 6): _read(
        "id:string schema_version:int64 environment:string number:int64 initial_state:json "
        "request:string user:json oracle:json "
        "overlap:json? chain:json? polarity:string clock:string seed:int64 changes:json "
        "gold_hash:string say:string tell:json "
        "avoid:json variants:json waived:json origin:json"
    ),
    ("scenarios", 1): _read(
        "id:string schema_version:int64 environment:string number:int64 draft:string "
        "initial_state:json request:string "
        "user:json oracle:json polarity:string clock:string seed:int64 verifier:json "
        "features:json split:string "
        "oracle_reward:double do_nothing_reward:double bounds:json? origin:json"
    ),
    ("scenarios", 2): _read(
        "id:string schema_version:int64 environment:string number:int64 draft:string "
        "initial_state:json request:string "
        "user:json oracle:json polarity:string clock:string seed:int64 verifier:json "
        "features:json split:string "
        "oracle_reward:double do_nothing_reward:double bounds:json? say:string origin:json"
    ),
    ("rollouts", 1): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json"
    ),
    ("trajectories", 1): _read(
        "id:string schema_version:int64 rollout:string scenario:string environment:string "
        "policy:string messages:json tools:json "
        "loss:json state_hashes:json reward:double licence:string"
    ),
    ("trajectories", 2): _read(
        "id:string schema_version:int64 rollout:string scenario:string environment:string "
        "policy:string messages:json tools:json "
        "loss:json state_hashes:json reward:double licence:string form:string features:json "
        "split:string"
    ),
    ("rollouts", 2): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json evidence:json changes:json? "
        "weather:json? met:json uses:json"
    ),
    ("seeds", 1): _read("id:string schema_version:int64 recipe:string brief:json licence:string"),
    ("seeds", 2): _read(
        "id:string schema_version:int64 recipe:string brief:json licence:string source:string "
        "usefulness:int64 modelability:int64"
    ),
    ("bundles", 1): _read(
        "id:string schema_version:int64 exporter:string content_hash:string path:string "
        "files:json rows:int64"
    ),
    ("environments", 1): _read(
        "id:string schema_version:int64 kind:string files:json entry:string tools:json rules:json "
        "policy_document:string name:string "
        "summary:string brief:json blueprint:string licence:string origin:json"
    ),
    ("environments", 2): _read(
        "id:string schema_version:int64 kind:string files:json entry:string tools:json rules:json "
        "policy_document:string tables:json "
        "name:string summary:string brief:json blueprint:string licence:string origin:json"
    ),
    ("blueprints", 1): _read(
        "id:string schema_version:int64 kind:string brief:json name:string summary:string "
        "collections:json rules:json tools:json "
        "policy_document:string licence:string origin:json"
    ),
    ("blueprints", 2): _read(
        "id:string schema_version:int64 kind:string brief:json name:string summary:string "
        "collections:json rules:json tools:json "
        "policy_document:string requirements:json files:json policies:json touches:json rows:json "
        "licence:string origin:json"
    ),
    ("blueprints", 3): _read(
        "id:string schema_version:int64 kind:string brief:json name:string summary:string "
        "collections:json rules:json tools:json "
        "policy_document:string requirements:json files:json policies:json touches:json rows:json "
        "promises:json licence:string origin:json"
    ),
    ("environments", 3): _read(
        "id:string schema_version:int64 kind:string files:json entry:string tools:json rules:json "
        "policy_document:string "
        "tables:json beside:json name:string summary:string brief:json blueprint:string "
        "licence:string origin:json"
    ),
    ("blueprints", 4): _read(
        "id:string schema_version:int64 kind:string brief:json name:string summary:string "
        "collections:json rules:json "
        "tools:json policy_document:string requirements:json files:json policies:json "
        "touches:json rows:json promises:json "
        "signatures:json licence:string origin:json"
    ),
    ("rollouts", 3): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json evidence:json changes:json? "
        "weather:json? met:json uses:json "
        "form:string checkpoint:string turns:int64 agent_errors:int64 misstep:string "
        "detail:string usage:json limits:json"
    ),
    ("rollouts", 4): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json evidence:json changes:json? "
        "weather:json? met:json uses:json "
        "form:string checkpoint:string turns:int64 agent_errors:int64 misstep:string "
        "detail:string usage:json limits:json shares:json"
    ),
    ("rollouts", 5): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json evidence:json changes:json? "
        "weather:json? met:json uses:json "
        "form:string checkpoint:string turns:int64 agent_errors:int64 misstep:string "
        "detail:string usage:json limits:json shares:json "
        "ruling:json?"
    ),
    ("rollouts", 7): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json evidence:json changes:json? "
        "weather:json? met:json "
        "uses:json form:string checkpoint:string turns:int64 agent_errors:int64 misstep:string "
        "detail:string usage:json "
        "limits:json shares:json ruling:json? suspected:json verifier_version:string"
    ),
    ("trajectories", 3): _read(
        "id:string schema_version:int64 rollout:string scenario:string environment:string "
        "policy:string messages:json "
        "tools:json loss:json state_hashes:json reward:double licence:string form:string "
        "features:json split:string "
        "sampled:json"
    ),
    ("rollouts", 6): _read(
        "id:string schema_version:int64 scenario:string environment:string policy:string "
        "rollout_group:string "
        "attempt:int64 seed:int64 outcome:string reward:double? components:json reason:string "
        "steps:int64 "
        "termination:string final_state_hash:string transcript:json evidence:json changes:json? "
        "weather:json? met:json uses:json "
        "form:string checkpoint:string turns:int64 agent_errors:int64 misstep:string "
        "detail:string usage:json limits:json shares:json "
        "ruling:json? suspected:json"
    ),
    ("verdicts", 2): _read(
        "id:string schema_version:int64 subject:string gate:string outcome:string reward:double? "
        "reason:string judged_at:string "
        "components:json evidence:json outcome_before:string reward_before:double? basis:string"
    ),
    ("builds", 1): _read(
        "id:string schema_version:int64 subject:string repair:int64 outcome:string failure:string "
        "fault:string content_hash:string"
    ),
    ("tests", 1): _read(
        "id:string schema_version:int64 environment:string name:string initial_state:json "
        "setup:json call:json expect:string origin:json"
    ),
    ("tests", 2): _read(
        "id:string schema_version:int64 environment:string name:string initial_state:json "
        "setup:json call:json expect:string reply:json? "
        "after:json origin:json"
    ),
    ("errands", 1): _read(
        "id:string schema_version:int64 environment:string number:int64 polarity:string "
        "who:string what:string tools:json about:json "
        "state:string source:string reason:string"
    ),
    ("verdicts", 1): _read(
        "id:string schema_version:int64 subject:string gate:string outcome:string reward:double? "
        "reason:string judged_at:string"
    ),
}
"""(table, version) → its columns, for every version that was ever written and is no longer."""


def _give_role(row: Row) -> Row:
    """Version 1 of model_calls knew one role, one vendor form of usage, and text alone."""
    texts = dict.fromkeys(
        ("served_model", "family", "reused_from", "price_source", "stop", "reasoning"), ""
    )
    counts = dict.fromkeys(
        ("characters", "tokens_cached", "tokens_cache_write", "tokens_reasoning"), 0
    )
    kept: Row = {
        "role": "author",
        "kin": False,
        "waited": 0.0,
        "tool_calls": [],
        "signed": [],
        "notes": [],
        "token_ids": None,
        "logprobs": None,
    }
    return {
        **row,
        **texts,
        **counts,
        **kept,
        "error": "" if row["outcome"] == "reply" else "not recorded",
    }


def _add(**empty: Json) -> Callable[[Row], Row]:
    """An older row had nothing of the kind."""
    return lambda row: {**row, **empty}


UPGRADES: Mapping[tuple[str, int], Callable[[Row], Row]] = {
    ("model_calls", 1): _give_role,
    ("model_calls", 2): _add(possibly_paid=0, possibly_paid_tokens=0, possibly_paid_cost=0.0),
    ("model_calls", 3): _add(repair=False),
    ("seeds", 1): _add(source="", usefulness=0, modelability=0),
    ("seeds", 2): _add(field=""),
    ("blueprints", 1): _add(requirements=[], files={}, policies={}, touches={}, rows={}),
    ("blueprints", 2): _add(promises={}),
    ("blueprints", 3): _add(signatures={}),
    ("blueprints", 4): _add(shared=[]),
    ("environments", 1): _add(tables=[]),
    ("environments", 2): _add(beside=[]),
    ("environments", 3): _add(shared=[]),
    ("drafts", 1): _add(say="", tell=[], avoid=[]),
    ("drafts", 2): _add(chain=None),
    ("drafts", 3): _add(variants={}),
    ("drafts", 4): _add(overlap=None),
    ("drafts", 5): _add(waived=[]),
    ("drafts", 6): _add(parts=[]),
    ("scenarios", 1): _add(say=""),
    ("scenarios", 2): _add(parts=[]),
    ("builds", 1): _add(sent_back=[]),
    ("tests", 1): _add(reply=None, after={}),
    ("tests", 2): _add(exact=False),
    ("errands", 1): _add(parent="", levers=[], rates=[]),
    ("trajectories", 1): _add(form="single", features={}, split="train"),
    ("trajectories", 2): _add(sampled=[]),
    ("trajectories", 3): _add(manner=""),
    ("bundles", 1): _add(environments=[], scenarios=[]),
    ("verdicts", 1): _add(
        components={}, evidence=[], outcome_before="", reward_before=None, basis=""
    ),
    ("rollouts", 1): _add(evidence=[], changes=None, weather=None, met=[], uses={}),
    ("rollouts", 2): _add(
        form="single",
        checkpoint="",
        turns=0,
        agent_errors=0,
        misstep="",
        detail="",
        usage={},
        limits={},
    ),
    ("rollouts", 3): _add(shares={}),
    ("rollouts", 4): _add(ruling=None),
    ("rollouts", 5): _add(suspected=[]),
    ("rollouts", 6): _add(verifier_version=""),
    ("rollouts", 7): _add(person="", manner=""),
    ("verdicts", 2): _add(verifier_version=""),
}
"""(table, version) → what makes a row of that version one of the next."""


def shape_of(record: type[Record]) -> Shape:
    """Columns of a record as it is now."""
    return tuple(
        _column(name, info.annotation, info.description or "")
        for name, info in record.model_fields.items()
    )


def version_of(record: type[Record]) -> int:
    """Version that is written now."""
    return int(record.model_fields["schema_version"].default)


def upgrade(
    table: str,
    version: int,
    row: Row,
    to: int,
    upgrades: Mapping[tuple[str, int], Callable[[Row], Row]] = UPGRADES,
) -> Row:
    """A row of an old version as the present one would have written it."""
    for passed in range(version, to):
        row = upgrades[table, passed](row)
    return row | {"schema_version": to}


def _column(name: str, annotation: Any, description: str) -> ColumnShape:
    bare, nullable = _strip_none(annotation)
    scalar: ColumnType | None = "string" if get_origin(bare) is Literal else _SCALARS.get(bare)
    return ColumnShape(name, scalar or "json", nullable, description)


def _strip_none(annotation: Any) -> tuple[Any, bool]:
    if annotation is Any:
        return Any, True
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [part for part in get_args(annotation) if part is not type(None)]
        return (rest[0] if len(rest) == 1 else Any), len(rest) < len(get_args(annotation))
    return annotation, False
