"""Exporter `sft`: chat messages with tools as OpenAI fine-tuning JSONL, one file per split."""

import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from schemas.base import Json, canonical_json, digest
from schemas.rollout import Bundle, Trajectory

NAME = "sft"


def export_sft(trajectories: Sequence[Trajectory], splits: Mapping[str, str], folder: Path) -> Bundle:
    """Write the bundle's folder. Its files appear all at once; for an instant before that there are none."""
    files = {f"{split}.jsonl": _lines(rows) for split, rows in _by_split(trajectories, splits).items()}
    files["manifest.json"] = orjson.dumps(_manifest(trajectories, splits), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    _replace_folder(folder / NAME, files)
    return Bundle(
        exporter=NAME,
        content_hash=digest({name: content.decode() for name, content in files.items()}),
        path=f"{folder.name}/{NAME}",
        files={name: len(content) for name, content in files.items()},
        rows=len(trajectories),
    )


def as_openai(trajectory: Trajectory) -> Json:
    """The vendor's spelling: arguments and replies are JSON strings."""
    return {
        "messages": [_spell(message) for message in trajectory.messages],
        "tools": [{"type": "function", "function": tool} for tool in trajectory.tools],
    }


def _by_split(trajectories: Sequence[Trajectory], splits: Mapping[str, str]) -> dict[str, list[Trajectory]]:
    found: dict[str, list[Trajectory]] = {}
    for trajectory in sorted(trajectories, key=lambda one: one.id):
        found.setdefault(splits[trajectory.scenario], []).append(trajectory)
    return found


def _lines(rows: Sequence[Trajectory]) -> bytes:
    return b"".join(orjson.dumps(as_openai(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _manifest(trajectories: Sequence[Trajectory], splits: Mapping[str, str]) -> Json:
    rows = {
        split: [{"trajectory": row.id, "scenario": row.scenario, "environment": row.environment, "policy": row.policy} for row in found]
        for split, found in _by_split(trajectories, splits).items()
    }
    return {"exporter": NAME, "lines": rows, "licences": sorted({row.licence for row in trajectories}), "transfer": "not measured"}


def _spell(message: Json) -> Json:
    if message["role"] == "tool":
        return message | {"content": canonical_json(message["content"])}
    if "tool_calls" not in message:
        return message
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": canonical_json(call["arguments"])}}
        for call in message["tool_calls"]
    ]
    return message | {"tool_calls": calls}


def _replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    part = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
    part.mkdir(parents=True)
    for name, content in files.items():
        (part / name).write_bytes(content)
    if target.exists():
        target.rename(old := part.with_name(f"{part.name}-old"))
        part.rename(target)
        shutil.rmtree(old)
    else:
        part.rename(target)
