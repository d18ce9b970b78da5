"""Mistakes in what stands around a database: its schema, its rows, and the tables its tools are
said to touch."""

import random
import re
from copy import deepcopy
from dataclasses import replace
from typing import Any

from offline.faults.base import FaultCase, Plant, Spoilt
from offline.faults.testing import list_named
from schemas.base import Json
from schemas.prompts import TestsReply
from schemas.table_prompts import InterfaceReply, RowsReply, SchemaReply, TrialsReply

SchemaCase = FaultCase[SchemaReply]
RowsCase = FaultCase[RowsReply]
InterfaceCase = FaultCase[InterfaceReply]


def refer_nowhere(case: SchemaCase, dice: random.Random) -> Spoilt | None:
    """A foreign key refers to a table that the schema does not make."""
    return _rewrite(
        case,
        dice,
        r"REFERENCES \"?(\w+)\"?",
        r"REFERENCES \1_list",
        "A reference to a table that is not there.",
    )


def keep_number_as_text(case: SchemaCase, dice: random.Random) -> Spoilt | None:
    """A number is declared as a text."""
    return _rewrite(
        case, dice, r"(INTEGER|REAL) NOT NULL", "TEXT NOT NULL", "A number that is kept as a text."
    )


def forget_comma(case: SchemaCase, dice: random.Random) -> Spoilt | None:
    """Two columns without a comma between them."""
    return _rewrite(
        case, dice, r"(NOT NULL|\)),\n", r"\1\n", "Two columns without a comma between them."
    )


def forget_key(case: SchemaCase, dice: random.Random) -> Spoilt | None:
    """A table has no primary key."""
    return _rewrite(
        case, dice, r"id TEXT PRIMARY KEY", "id TEXT NOT NULL", "A table without a primary key."
    )


def omit_column(case: SchemaCase, dice: random.Random) -> Spoilt | None:
    """A column that tools and rows use is not declared."""
    return _rewrite(
        case,
        dice,
        r",\n    \"?\w+\"? (?:TEXT|INTEGER|REAL) NOT NULL(?=,\n)",
        "",
        "A column that is used is missing.",
    )


def add_strange_policy(case: SchemaCase, dice: random.Random) -> Spoilt:
    """A policy is told for a column that there is not."""
    table = dice.choice(sorted({name.split(".")[0] for name in case.reply.policies}))
    policies = {**case.reply.policies, f"{table}.updated_at": "exempt"}
    return _make_spoilt(
        case.reply.model_dump(mode="json") | {"policies": policies},
        f"{table}.updated_at is no column.",
    )


def lose_row(case: RowsCase, dice: random.Random) -> Spoilt | None:
    """A row names another one that is not there."""
    for table, key in list_named(case.reply.rows, case.domain, dice):
        rows = deepcopy(case.reply.rows)
        del rows[table][key]
        return _make_spoilt({"rows": rows}, f"Rows refer to {table} {key}, which is not there.")
    return None


def omit_value(case: RowsCase, dice: random.Random) -> Spoilt:
    """A row lacks a column that must not be empty."""
    rows, table, key = _pick_row(case, dice)
    column = dice.choice([name for name in rows[table][key] if name != "id"])
    del rows[table][key][column]
    return _make_spoilt({"rows": rows}, f"{table} {key} has no {column}.")


def add_column(case: RowsCase, dice: random.Random) -> Spoilt:
    """A row has a column that its table does not declare."""
    rows, table, key = _pick_row(case, dice)
    rows[table][key]["created_at"] = "2026-03-01"
    return _make_spoilt({"rows": rows}, f"{table} has no column created_at.")


def quote_number(case: RowsCase, dice: random.Random) -> Spoilt | None:
    """A number stands in quotes."""
    rows = deepcopy(case.reply.rows)
    found = [
        (row, name)
        for each in rows.values()
        for row in each.values()
        for name, value in row.items()
        if isinstance(value, int | float)
    ]
    if not found:
        return None
    row, name = dice.choice(found)
    row[name] = str(row[name])
    return _make_spoilt({"rows": rows}, f"{name} is a number and stands as a text.")


def use_key_twice(case: RowsCase, dice: random.Random) -> Spoilt | None:
    """Two rows of a table have one key."""
    rows = deepcopy(case.reply.rows)
    table = dice.choice([name for name, each in rows.items() if len(each) > 1])
    first, second = dice.sample(sorted(rows[table]), 2)
    rows[table][second]["id"] = first
    return _make_spoilt({"rows": rows}, f"{first} is the key of two rows of {table}.")


def name_no_table(case: InterfaceCase, dice: random.Random) -> Spoilt:
    """Nothing says which tables a tool touches."""
    return _retouch(case, dice, {"reads": [], "writes": []}, "A tool without tables.")


def name_strange_table(case: InterfaceCase, dice: random.Random) -> Spoilt:
    """A tool is said to touch a table that there is not."""
    return _retouch(case, dice, {"reads": ["audit_log"]}, "A tool reads a table that is not there.")


def forget_read(case: InterfaceCase, dice: random.Random) -> Spoilt | None:
    """A table that a query has to look something up in is not named. Of a change it may be a
    foreign key that makes it look."""
    many = [
        number
        for number, tool in enumerate(case.reply.tools)
        if len(tool.reads) > 1 and tool.effect == "query"
    ]
    if not many:
        return None
    tools = [tool.model_dump(mode="json") for tool in case.reply.tools]
    tool = tools[dice.choice(many)]
    gone = tool["reads"].pop(dice.randrange(len(tool["reads"])))
    return _make_spoilt({"tools": tools}, f"{tool['name']} reads {gone} and does not say so.")


def over_rows(plant: Plant[TestsReply]) -> Plant[TrialsReply]:
    """A mistake in tests, where their rows are given."""

    def planted(case: FaultCase[TrialsReply], dice: random.Random) -> Spoilt | None:
        whole: FaultCase[Any] = replace(
            case, reply=TestsReply(initial_state=case.start.state, tests=case.reply.tests)
        )
        spoilt = plant(whole, dice)
        return replace(spoilt, reply={"tests": spoilt.reply["tests"]}) if spoilt else None

    planted.__doc__ = plant.__doc__
    return planted


def _rewrite(
    case: SchemaCase, dice: random.Random, pattern: str, text: str, words: str
) -> Spoilt | None:
    found = list(re.finditer(pattern, case.reply.ddl))
    if not found:
        return None
    place = dice.choice(found)
    ddl = case.reply.ddl[: place.start()] + place.expand(text) + case.reply.ddl[place.end() :]
    return _make_spoilt(case.reply.model_dump(mode="json") | {"ddl": ddl}, words)


def _pick_row(
    case: RowsCase, dice: random.Random
) -> tuple[dict[str, dict[str, dict[str, Json]]], str, str]:
    rows = deepcopy(case.reply.rows)
    table = dice.choice(sorted(name for name, each in rows.items() if each))
    return rows, table, dice.choice(sorted(rows[table]))


def _retouch(
    case: InterfaceCase, dice: random.Random, update: dict[str, list[str]], words: str
) -> Spoilt:
    tools = [tool.model_dump(mode="json") for tool in case.reply.tools]
    number = dice.randrange(len(tools))
    tools[number] |= update
    return _make_spoilt({"tools": tools}, words)


def _make_spoilt(reply: Json, words: str) -> Spoilt:
    return Spoilt(reply, words=words)
