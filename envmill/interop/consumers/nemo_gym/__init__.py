"""NeMo Gym (NVIDIA): a resources server with a route per tool, rows in the form of OpenAI's
Responses, and a configuration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envmill.interop.consumers.base import Consumer, fill_needs
from envmill.interop.consumers.sessions import ScenarioRow
from schemas.base import canonical_json

PACKAGE = "envmill_nemo_gym"
VERSIONS = {"nemo-gym": "0.7.0"}
RESERVED = (
    "seed_session",
    "close_session",
    "verify",
    "aggregate_metrics",
    "reverify_mode",
    "mcp",
    "health",
)
"""Routes of NeMo Gym's own, and the one that the guard lets pass without a token."""
EXAMPLES = 5
LICENCES = {
    "Apache-2.0": "Apache 2.0",
    "MIT": "MIT",
    "CC-BY-4.0": "Creative Commons Attribution 4.0 International",
}
"""Licences that NeMo Gym has a name for; others are `TBD` there, and stand in NOTICE."""
_HERE = Path(__file__).parent
_HOME = "resources_servers/envmill"


def refuse(row: ScenarioRow) -> str:
    """Why NeMo Gym has no place for a row."""
    if row.form == "conversation":
        return (
            "NeMo Gym's simple agent has no place for a user who answers: it ends with the first "
            "message without a call"
        )
    names = [str(tool["function"]["name"]) for tool in row.tools]
    return next(
        (
            f"the tool {name} has the name of a route of NeMo Gym's own"
            for name in names
            if name in RESERVED
        ),
        "",
    )


def render_row(row: ScenarioRow) -> str:
    """A line as NeMo Gym reads it. What stands beside the request is sent to seed_session and
    verify."""
    tools = [
        {"type": "function", **tool["function"], "strict": is_strict(tool["function"]["parameters"])} for tool in row.tools
    ]  # fmt: skip
    asked = {"input": row.prompt, "tools": tools, "parallel_tool_calls": False}
    return canonical_json(
        {
            "responses_create_params": asked,
            "scenario": row.id,
            "environment": row.environment,
            "kind": row.kind,
            "split": row.split,
        }
    )


def is_strict(schema: Any) -> bool:
    """Whether a model server may enforce it: every object names all its fields as required, and
    takes no others."""
    if not isinstance(schema, dict):
        return True
    told: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    fields = told.get("properties", {})
    if told.get("type") == "object" and (
        told.get("additionalProperties") is not False
        or set(fields) != set(told.get("required", ()))
    ):
        return False
    inner = [*fields.values(), *told.get("anyOf", ()), told.get("items")]
    return all(is_strict(one) for one in inner)


def _write_papers(rows: Sequence[ScenarioRow]) -> dict[str, str]:
    splits = {
        split: [row for row in rows if row.split == split]
        for split in ("train", "validation", "test")
    }
    data = {
        f"{_HOME}/data/{split}.jsonl": _render_rows(found)
        for split, found in splits.items()
        if found
    }
    return {
        "pyproject.toml": fill_needs(_read("distribution.toml"), VERSIONS),
        f"{_HOME}/app.py": _read("app.py"),
        f"{_HOME}/requirements.txt": "-e ../..\n",
        f"{_HOME}/configs/envmill.yaml": _configure(
            [split for split in ("train", "validation") if splits[split]], rows
        ),
        f"{_HOME}/data/example.jsonl": _render_rows((splits["train"] or list(rows))[:EXAMPLES]),
        **data,
    }


def _render_rows(rows: Sequence[ScenarioRow]) -> str:
    return "".join(f"{render_row(row)}\n" for row in rows)


def _configure(splits: Sequence[str], rows: Sequence[ScenarioRow]) -> str:
    licences = {row.licence for row in rows}
    licence = LICENCES.get(next(iter(licences)), "TBD") if len(licences) == 1 else "TBD"
    asked = [(split, f"\n        license: {licence}") for split in splits]
    lines = [
        f"      - name: {name}\n        type: {name}\n        jsonl_fpath: "
        f"{_HOME}/data/{name}.jsonl{more}\n"
        for name, more in (*asked, ("example", ""))
    ]
    return _read("envmill.yaml").replace("DATASETS\n", "".join(lines))


def _read(name: str) -> str:
    return (_HERE / "papers" / name).read_text(encoding="utf-8")


CONSUMER = Consumer(
    name="nemo_gym",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=_write_papers,
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
    refuse=refuse,
)
