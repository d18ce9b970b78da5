# pyright: basic, reportMissingImports=false
"""Rows for TRL's trainers: prompts to roll out, trajectories to imitate, pairs to prefer. Columns
with JSON of unequal shape stay whole."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .sessions import SetError
from .sessions.rows import read_rows

_LOG = logging.getLogger(__name__)


def load_rows(split: str = "train", folder: Path | str = Path(__file__).parent) -> Any:
    """`train_dataset` for `GRPOTrainer`: `prompt`, `environment` (a key of `load_environments()`)
    and `scenario`."""
    from datasets import Dataset

    found = [row for row in read_rows(Path(folder)) if row.split == split]
    _refuse_nothing(found, split, {row.split for row in read_rows(Path(folder))}, folder)
    return Dataset.from_list(
        [
            {"prompt": row.prompt, "environment": row.environment, "scenario": row.id}
            for row in found
        ]
    )


def load_trajectories(folder: Path | str, split: str = "train") -> Any:
    """`train_dataset` for `SFTTrainer`, from what exporter `sft` writes: `messages` and `tools`.

    TRL learns from all messages of the assistant or from none. Trajectories with one that nobody
    should learn from are left out.
    """
    kept, left = list[Any](), 0
    for line in _read_lines(Path(folder), split):
        if any(message.get("weight") == 0 for message in line["messages"]):
            left += 1
        else:
            kept.append(
                {
                    "messages": [_render_message(message) for message in line["messages"]],
                    "tools": json.dumps(line["tools"]),
                }
            )
    if left:
        _LOG.warning(
            "%d of %d trajectories are left out: they hold messages that must not be learnt from.",
            left,
            left + len(kept),
        )
    return _make(kept, ("messages",))


def load_pairs(folder: Path | str, split: str = "train") -> Any:
    """`train_dataset` for `DPOTrainer`, from what exporter `preferences` writes: `prompt`,
    `chosen`, `rejected` and `tools`."""
    parts = ("prompt", "chosen", "rejected")
    pairs = [
        {part: list(map(_render_message, line[part])) for part in parts}
        | {"tools": json.dumps(line["tools"])}
        for line in _read_lines(Path(folder), split)
    ]
    return _make(pairs, parts)


def _make(rows: list[dict[str, Any]], chats: tuple[str, ...]) -> Any:
    """Arguments of unequal tools are declared as JSON: Arrow would give each of them the others'
    parameters, as nulls."""
    from datasets import Dataset, Features, Json, List, Value

    columns = {name: List(Json()) for name in chats} | {"tools": Value("string")}
    return Dataset.from_list(rows, features=Features(columns))


def _render_message(message: dict[str, Any]) -> dict[str, Any]:
    """Arguments as objects, which is what chat templates take."""
    return (
        message | {"tool_calls": list(map(_render_call, message["tool_calls"]))}
        if message.get("tool_calls")
        else message
    )


def _render_call(call: dict[str, Any]) -> dict[str, Any]:
    return call | {
        "function": call["function"] | {"arguments": json.loads(call["function"]["arguments"])}
    }


def _read_lines(folder: Path, split: str) -> Iterator[dict[str, Any]]:
    path = folder / f"{split}.jsonl"
    if not path.is_file():
        _refuse_nothing([], split, {one.stem for one in folder.glob("*.jsonl")}, folder)
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _refuse_nothing(found: list[Any], split: str, known: set[str], folder: Path | str) -> None:
    if not found:
        raise SetError(
            f"{folder} holds nothing of split {split!r}. It has "
            f"{', '.join(sorted(known)) or 'none'}."
        )
