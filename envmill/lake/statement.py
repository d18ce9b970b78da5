"""Which statements are questions: exactly one, and it only reads.

text ─► DuckDB's own parser ─► one SELECT or EXPLAIN ─► every node of its tree reads, every table function is known to reach no file
"""

# pyright: reportUnknownMemberType=false
# (duckdb gives Python values of any type)

import json
import re
from collections.abc import Iterator

from duckdb import DuckDBPyConnection

from envmill.base.errors import Refused
from schemas.base import Json, is_array, is_object

_EXPLAIN = re.compile(r"\s*explain(\s+analyze)?\s+", re.IGNORECASE)

_READING = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Query nodes that only read. A WITH may hold INSERT, UPDATE, DELETE and COPY TO, and DuckDB still
calls the whole a SELECT."""

_FUNCTIONS = re.compile(
    r"range|generate_series|unnest|json_each|json_tree|repeat|repeat_row|duckdb_\w+|"
    r"pragma_(version|database_size|table_info)"
)
"""Table functions a question may use: `read_…` looks at files, `query` and
`json_execute_serialized_sql` hide statements in strings."""


def require_question(connection: DuckDBPyConnection, text: str) -> None:
    """Refuse anything that is not one statement that only reads; what cannot be parsed raises
    DuckDB's own error."""
    statements = connection.extract_statements(text)
    if len(statements) != 1 or statements[0].type.name not in ("SELECT", "EXPLAIN"):
        raise Refused("Ask one SELECT or EXPLAIN statement; only runs write to the lake.")
    if statements[0].type.name == "EXPLAIN":
        explained = _EXPLAIN.match(text)
        if not explained:
            raise Refused(
                "Write it as EXPLAIN SELECT … or EXPLAIN ANALYZE SELECT …, without options or "
                "comments before SELECT."
            )
        return require_question(connection, text[explained.end() :])
    return _require_reading(connection, text)


def _require_reading(connection: DuckDBPyConnection, text: str) -> None:
    (serialised,) = connection.execute("select json_serialize_sql(?)", [text]).fetchone() or ("{}",)
    for node in _walk(json.loads(serialised)):
        kind = str(node.get("type"))
        if kind.endswith("_NODE") and kind not in _READING:
            raise Refused(
                f"A question only reads: {kind.removesuffix('_NODE').removesuffix('_QUERY')} is not allowed. Only runs write to the lake."
            )
        if kind == "TABLE_FUNCTION" and not _FUNCTIONS.fullmatch(name := _name_function(node)):
            raise Refused(
                f"A question reads tables and views by their names; {name}() is not allowed. `envmill tables` lists them."
            )


def _walk(value: Json) -> Iterator[dict[str, Json]]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if is_object(found):
            yield found
            waiting.extend(found.values())
        elif is_array(found):
            waiting.extend(found)


def _name_function(node: dict[str, Json]) -> str:
    function = node.get("function")
    return str(function.get("function_name")).lower() if is_object(function) else ""
