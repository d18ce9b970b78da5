"""Operators over plans and their schemas."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from schemas.base import Json, canonical_json
from schemas.environment import Blueprint
from tests.recipes.multiplied.operators import SCHEMA, Dice, Operator, shuffle


def _replan(plan: Blueprint, **fields: Any) -> Blueprint:
    return Blueprint.model_validate(plan.model_dump() | {"id": ""} | fields)


def _each_tool(
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[[Blueprint, Dice], Iterator[Blueprint]]:
    def vary(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
        tools = [tool.model_dump() for tool in plan.tools]
        for place in shuffle(range(len(tools)), dice):
            yield _replan(plan, tools=[*tools[:place], change(tools[place]), *tools[place + 1 :]])

    return vary


def tell_tool_twice(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    for tool in shuffle(plan.tools, dice):
        yield _replan(plan, tools=[*plan.tools, tool])


def tell_rule_twice(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    for rule in shuffle(plan.rules, dice):
        yield _replan(plan, rules=[*plan.rules, f"  {rule}"])


def drop_key(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    """Where no schema says which column is the key."""
    for name in shuffle(
        [name for name, columns in plan.collections.items() if len(columns) > 1 and not plan.files],
        dice,
    ):
        columns = plan.collections[name]
        yield _replan(plan, collections=plan.collections | {name: [*columns[1:], columns[0]]})


def _touch(
    change: Callable[[dict[str, Any], bool], dict[str, Any]],
) -> Callable[[Blueprint, Dice], Iterator[Blueprint]]:
    def vary(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
        touches = {name: touch.model_dump() for name, touch in plan.touches.items()}
        for tool in shuffle([tool for tool in plan.tools if tool.name in touches], dice):
            yield _replan(
                plan,
                touches=touches | {tool.name: change(touches[tool.name], tool.effect == "change")},
            )

    return vary


def _turn_touch(touch: dict[str, Any], writes: bool) -> dict[str, Any]:
    """A change that writes nothing, a query that writes."""
    told = list(dict.fromkeys([*touch["reads"], *touch["writes"]]))
    return {"reads": told, "writes": [] if writes else told[:1]}


def _reschema(
    change: Callable[[str, str], str],
) -> Callable[[Blueprint, Dice], Iterator[Blueprint]]:
    """By line of the schema."""

    def vary(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
        text = plan.files.get(SCHEMA, "")
        lines = text.splitlines()
        for place in shuffle(range(len(lines)), dice):
            if (
                changed := "\n".join(
                    [*lines[:place], change(lines[place], text), *lines[place + 1 :]]
                )
            ) != "\n".join(lines):
                yield _replan(plan, files=plan.files | {SCHEMA: changed})

    return vary


def _cut_bracket(line: str, _: str) -> str:
    return line.replace(")", "", 1)


def _refer_nowhere(line: str, _: str) -> str:
    head, refers, tail = line.partition("REFERENCES ")
    return f"{head}{refers}no_{tail}" if refers else line


def _comment(line: str, _: str) -> str:
    return f"{line} -- as told" if line.strip() and "--" not in line else line


def leave_row_dangling(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    """A row refers to a key that no row has."""
    for table, key, column in shuffle(list(_list_references(plan.rows)), dice):
        rows: Any = json.loads(canonical_json(plan.rows))
        rows[table][key][column] = f"{rows[table][key][column]}-gone"
        yield _replan(plan, rows=rows)


def _list_references(rows: dict[str, Json]) -> Iterator[tuple[str, str, str]]:
    """Places whose value is the key of a row of the one table that the column is called after."""
    tables: dict[str, Any] = {name: held for name, held in rows.items() if isinstance(held, dict)}
    for table, held in tables.items():
        for key, row in held.items():
            for column, value in row.items() if isinstance(row, dict) else ():
                named = column.endswith("_id") and isinstance(value, str)
                if named and any(
                    value in other and name.startswith(column[:-3][:4])
                    for name, other in tables.items()
                ):
                    yield table, key, column


def name_unknown_column(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    for table in shuffle([name for name, held in plan.rows.items() if held], dice):
        rows: Any = json.loads(canonical_json(plan.rows))
        next(iter(rows[table].values()))["column_of_nobody"] = "x"
        yield _replan(plan, rows=rows)


def shuffle_plan(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    for _ in range(3):
        rows = {
            table: dict(shuffle(list(held.items()), dice)) if isinstance(held, dict) else held
            for table, held in plan.rows.items()
        }
        yield _replan(
            plan, tools=shuffle(plan.tools, dice), rules=shuffle(plan.rules, dice), rows=rows
        )


def pad_plan(plan: Blueprint, _: Dice) -> Iterator[Blueprint]:
    yield _replan(
        plan,
        summary=f"{plan.summary} That is all.",
        policy_document=f"{plan.policy_document}\n" if plan.policy_document else "",
    )


PLANS = (
    Operator("plan", "tool_twice", False, tell_tool_twice),
    Operator(
        "plan", "tool_undescribed", False, _each_tool(lambda tool: tool | {"description": "  "})
    ),
    Operator(
        "plan",
        "tool_misnamed",
        False,
        _each_tool(lambda tool: tool | {"name": tool["name"].title()}),
    ),
    Operator("plan", "rule_twice", False, tell_rule_twice),
    Operator("plan", "key_not_first", False, drop_key),
    Operator(
        "plan",
        "unknown_table",
        False,
        _touch(lambda touch, _: touch | {"reads": [*touch["reads"], "tables_of_nobody"]}),
    ),
    Operator("plan", "nothing_touched", False, _touch(lambda _, __: {"reads": [], "writes": []})),
    Operator("plan", "effect_turned", False, _touch(_turn_touch)),
    Operator("schema", "bracket_lost", False, _reschema(_cut_bracket)),
    Operator("schema", "reference_nowhere", False, _reschema(_refer_nowhere)),
    Operator("schema", "row_dangling", False, leave_row_dangling),
    Operator("schema", "unknown_column", False, name_unknown_column),
    Operator("plan", "shuffled", True, shuffle_plan),
    Operator("plan", "padded", True, pad_plan),
    Operator("schema", "commented", True, _reschema(_comment)),
)
