"""verl (ByteDance): tools for its agent loop, rows for its data set, and a reward function."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from envmill.interop.consumers.base import Consumer, fill_needs
from envmill.interop.consumers.sessions import ScenarioRow
from schemas.base import canonical_json

PACKAGE = "envmill_verl"
VERSIONS = {"verl": "0.9.1"}
AGENT = "tool_agent"
"""verl's own agent loop with tools."""
_TEXT = pa.string()
_COLUMNS = pa.schema(
    {
        "data_source": _TEXT,
        "agent_name": _TEXT,
        "prompt": pa.list_(pa.struct({"role": _TEXT, "content": _TEXT})),
        "ability": _TEXT,
        "reward_model": pa.struct({"style": _TEXT, "ground_truth": _TEXT}),
        "extra_info": pa.struct(
            {
                "index": pa.int64(),
                "split": _TEXT,
                "scenario": _TEXT,
                "environment": _TEXT,
                "need_tools_kwargs": pa.bool_(),
                "tools_kwargs": pa.struct(
                    {"envmill": pa.struct({"create_kwargs": pa.struct({"scenario": _TEXT})})}
                ),
                "tool_selection": pa.list_(_TEXT),
            }
        ),
    }
)
"""Declared: one shape for all rows, whatever their tools."""
_HERE = Path(__file__).parent


def refuse(row: ScenarioRow) -> str:
    """Why verl has no place for a row."""
    if row.form == "conversation":
        return (
            "verl has no place for a user who answers: its agent loop ends with the first "
            "message without a call"
        )
    return ""


def name_tools(rows: Sequence[ScenarioRow]) -> dict[tuple[str, str], str]:
    """Environment and tool → its name in verl, which knows tools by name alone. Where two tools
    differ, the later ones get a number."""
    shapes: dict[str, str] = {}
    names: dict[tuple[str, str], str] = {}
    own = {tool["function"]["name"] for row in rows for tool in row.tools}
    for environment, tool in _list_tools(rows):
        shape = canonical_json(tool)
        free = _list_names(tool["name"], own)
        name = next(one for one in free if shapes.setdefault(one, shape) == shape)
        names[environment, tool["name"]] = name
    return names


def write_tools(names: Mapping[tuple[str, str], str]) -> str:
    """The file that `tool_config_path` takes: an entry for each name, with an environment that has
    the tool."""
    told = {name: key for key, name in sorted(names.items(), reverse=True)}
    lines = ["tools:"]
    for name, (environment, tool) in sorted(told.items()):
        lines += [
            f"  - class_name: {PACKAGE}.tools.MillTool",
            "    config:",
            "      type: native",
            *(
                f"      {key}: {json.dumps(value)}"
                for key, value in (("name", name), ("tool", tool), ("environment", environment))
            ),
        ]
    return "".join(f"{line}\n" for line in lines)


def describe_row(
    row: ScenarioRow, index: int, names: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    """A row of verl's data set. The verifier stays sealed, so the ground truth is the scenario's
    name."""
    return {
        "data_source": "envmill",
        "agent_name": AGENT,
        "prompt": row.prompt,
        "ability": row.kind,
        "reward_model": {"style": "rule", "ground_truth": row.id},
        "extra_info": {
            "index": index,
            "split": row.split,
            "scenario": row.id,
            "environment": row.environment,
            "need_tools_kwargs": True,
            "tools_kwargs": {"envmill": {"create_kwargs": {"scenario": row.id}}},
            "tool_selection": [
                names[row.environment, tool["function"]["name"]] for tool in row.tools
            ],
        },
    }


def _list_tools(rows: Sequence[ScenarioRow]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Environment and interface of each tool, in the order of ids."""
    homes = {row.environment: row.tools for row in rows}
    for environment in sorted(homes):
        for tool in homes[environment]:
            yield environment, tool["function"]


def _list_names(name: str, taken: set[str]) -> Iterator[str]:
    """The name itself, and then with numbers that make no other tool's name."""
    yield name
    number = 2
    while True:
        if (other := f"{name}_{number}") not in taken:
            yield other
        number += 1


def _write_papers(rows: Sequence[ScenarioRow]) -> dict[str, str | bytes]:
    names = name_tools(rows)
    papers: dict[str, str | bytes] = {
        "pyproject.toml": fill_needs(
            (_HERE / "distribution.toml").read_text(encoding="utf-8"), VERSIONS
        ),
        "tools.yaml": write_tools(names),
    }
    for split in sorted({row.split for row in rows}):
        found = [
            describe_row(row, index, names)
            for index, row in enumerate(row for row in rows if row.split == split)
        ]
        held = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(found, schema=_COLUMNS), held, compression="zstd")
        papers[f"data/{split}.parquet"] = held.getvalue()
    return papers


CONSUMER = Consumer(
    name="verl",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=_write_papers,
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
    refuse=refuse,
)
