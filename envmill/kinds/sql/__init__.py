"""The `sql` kind: state in the tables of a database, tools that read and write it.

program.py ──► tools, as of `stateful`; each says which tables it may touch
schema.sql ──► tables: columns, keys, references ─┐
policies   ───────────────────────────────────────┴─► what an end state has to agree on
"""

import ast
from collections.abc import Mapping, Sequence

from envmill.base.errors import BuildError
from envmill.kinds import stateful
from envmill.kinds.ddl import Declared, read_schema
from envmill.runtime.program import SCHEMA
from schemas.database import Column, Policy, Table
from schemas.environment import Effect, Tool
from schemas.folder import Touch

Policies = Mapping[str, Policy | float]
"""`table.column` → its policy, or a tolerance."""


def derive_tools(source: str, class_name: str, effects: Mapping[str, Effect]) -> list[Tool]:
    """The interface of a class whose constructor is given the database."""
    tools = stateful.derive_tools(source, class_name, effects)
    _check_constructor(source, class_name)
    return tools


def derive_tables(files: Mapping[str, str], policies: Policies) -> list[Table]:
    """Tables of the schema with their policies, or BuildError."""
    if SCHEMA not in files:
        raise BuildError(
            f"An environment of kind sql keeps its state in tables: add {SCHEMA} beside the "
            "program."
        )
    declared = read_schema(files[SCHEMA])
    known = {f"{one.table.name}.{column.name}" for one in declared for column in one.table.columns}
    if strange := [name for name in policies if name not in known]:
        raise BuildError(
            f"There is a policy for {strange[0]!r}, which the schema does not make. Known: "
            f"{', '.join(sorted(known))}."
        )
    return [_add_policies(one, policies) for one in declared]


def list_policies(tables: Sequence[Table]) -> dict[str, Policy | float]:
    """The policies that make these tables out of their schema."""
    return {
        f"{table.name}.{column.name}": column.tolerance
        if column.policy == "tolerance"
        else column.policy
        for table in tables
        for column in table.columns
        if column.policy != "hard" or column.name in table.key
    }


def add_touches(
    tools: Sequence[Tool], touches: Mapping[str, Touch], tables: Sequence[Table]
) -> list[Tool]:
    """The tools, each with the tables it may read and write; BuildError where one says nothing, or
    names what is not there."""
    known = {table.name for table in tables}
    names = {tool.name for tool in tools}
    if strange := [name for name in touches if name not in names]:
        raise BuildError(
            f"Tables are named for a tool {strange[0]!r} that there is not. Known: "
            f"{', '.join(sorted(names))}."
        )
    found = [
        tool.model_copy(update=touches[tool.name].model_dump()) if tool.name in touches else tool
        for tool in tools
    ]
    for tool in found:
        check_touches(tool, known)
    return found


def check_touches(tool: Tool, known: set[str]) -> None:
    """Every tool of this kind names its tables, and a query writes none."""
    touched = [*tool.reads, *tool.writes]
    if strange := [name for name in touched if name not in known]:
        raise BuildError(
            f"Tool {tool.name!r} is said to touch {strange[0]!r}; the tables are "
            f"{', '.join(sorted(known))}.",
            tool=tool.name,
        )
    if not touched:
        raise BuildError(
            f"Nothing says which tables the tool {tool.name!r} touches: add its `reads` and "
            "`writes`.",
            tool=tool.name,
        )
    if bool(tool.writes) is not (tool.effect == "change"):
        has = f"writes {', '.join(tool.writes)}" if tool.writes else "writes no table"
        raise BuildError(
            f"Tool {tool.name!r} is a {tool.effect} and {has}: correct one of the two.",
            tool=tool.name,
        )


def _add_policies(declared: Declared, policies: Policies) -> Table:
    table = declared.table

    def settle(column: Column) -> Column:
        usual: Policy = "exempt" if declared.counted and column.name in table.key else "hard"
        policy = policies.get(f"{table.name}.{column.name}", usual)
        if isinstance(policy, str):
            return column.model_copy(update={"policy": policy})
        return column.model_copy(update={"policy": "tolerance", "tolerance": float(policy)})

    columns = [settle(column) for column in table.columns]
    for column in columns:
        _check_policy(table, column)
    return table.model_copy(update={"columns": columns})


def _check_policy(table: Table, column: Column) -> None:
    place = f"{table.name}.{column.name}"
    if column.policy == "tolerance" and not column.tolerance > 0:
        raise BuildError(
            f"{place} has the policy tolerance and none is given: write a number above 0, or make "
            "it hard."
        )
    if column.name in table.key and column.policy not in ("hard", "exempt"):
        raise BuildError(
            f"{place} is part of a key and {column.policy}: a key is hard, or exempt when it is "
            "given on the way."
        )
    if column.references and column.policy in ("semantic", "tolerance"):
        raise BuildError(
            f"{place} refers to {column.references} and is {column.policy}: a reference names one "
            "row, so make it hard."
        )


def _check_constructor(source: str, class_name: str) -> None:
    """It is given the database and nothing else."""
    owner = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == class_name
    )
    made = next(
        (
            node
            for node in owner.body
            if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ),
        None,
    )
    if made is None or len(made.args.args) != 2 or made.args.kwonlyargs or made.args.vararg:
        line = made.lineno if made else owner.lineno
        raise BuildError(
            f"Line {line}: {class_name} is constructed on a database: give it `def "
            "__init__(self, db)`.",
            line=line,
        )
