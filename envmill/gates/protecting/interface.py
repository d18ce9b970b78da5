"""Names that a copy of a domain shares with it: of tools, of their parameters and of columns."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.base import Json, is_array, is_object
from schemas.environment import Environment

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def split_name(name: str) -> str:
    """The words of a name in snake case, camel case or any other."""
    return " ".join(part.casefold() for part in _PART.findall(name))


def list_interface(tools: Iterable[tuple[str, Json]]) -> set[str]:
    """Names of the tools, and of the parameters in their JSON Schemas."""
    found: set[str] = set()
    for name, schema in tools:
        properties = schema.get("properties") if is_object(schema) else None
        found.add(f"tool {split_name(name)}")
        found |= {
            f"parameter {split_name(key)}" for key in (properties if is_object(properties) else {})
        }
    return found


@dataclass(frozen=True)
class ComparedWorld:
    """An environment in the form that is compared with domains of benchmarks."""

    interface: frozenset[str]
    policy: str

    @classmethod
    def of(
        cls, environment: Environment, state: Mapping[str, Json] | None = None
    ) -> "ComparedWorld":
        """Takes columns from its tables, or from the records in a state."""
        columns = {
            f"column {split_name(column.name)}"
            for table in environment.tables
            for column in table.columns
        }
        names = list_interface((tool.name, tool.parameters) for tool in environment.tools)
        return cls(
            frozenset(names | columns | list_state_columns(state or {})),
            environment.policy_document,
        )


def list_state_columns(state: Mapping[str, Json]) -> set[str]:
    """Fields of the records in a state: tables of rows by id, or lists of rows."""
    found: set[str] = set()
    for table in state.values():
        rows = list(table.values()) if is_object(table) else table if is_array(table) else []
        found |= {f"column {split_name(key)}" for row in rows if is_object(row) for key in row}
    return found
