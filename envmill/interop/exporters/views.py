"""Exporter `views`: the trajectories of `sft` in the formats of other programs, one folder per
format, one file per split.

trajectory ──► openai/ messages, tools      ──► anthropic/ system, messages, tools      ──► sharegpt/ conversations, system, tools
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

import orjson

from envmill.interop.exporters.base import (
    TRANSFER,
    Exporter,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
    stream_lines,
)
from envmill.interop.exporters.contents import Contents
from envmill.interop.exporters.messages import as_openai
from envmill.interop.exporters.sft import group_trajectories
from schemas.base import Json, canonical_json
from schemas.rollout import Trajectory
from schemas.stored import list_ids

NAME = "views"
UNMARKED = "it holds a message that must not be learnt from, and nothing there can say so"
SILENT = "the assistant says nothing and calls nothing, and a message there has words or calls"
PARALLEL = "it calls several tools at once, and a turn there is one call"
BESIDE = "it says something beside a call, and a turn there is either words or a call"
UNEVEN = "its turns do not alternate, and there each turn is answered by one of the other side"


class NotRepresentable(Exception):
    """A format cannot represent the conversation; the message says why."""


def render_anthropic(line: Json) -> Json:
    """A request in Anthropic's messages format: calls and replies are blocks, and all replies to
    one turn are one message."""
    _refuse_weights(line)
    system, spoken = _split_system(line["messages"])
    messages: list[Json] = []
    for user, group in groupby(spoken, key=lambda one: one["role"] != "assistant"):
        if user:
            messages.append({"role": "user", "content": [_render_told(one) for one in group]})
        else:
            messages += [{"role": "assistant", "content": _render_said(one)} for one in group]
    tools = [
        {
            "name": one["function"]["name"],
            "description": one["function"]["description"],
            "input_schema": one["function"]["parameters"],
        }
        for one in line["tools"]
    ]
    return {**({"system": system} if system else {}), "messages": messages, "tools": tools}


def render_sharegpt(line: Json) -> Json:
    """Alternating turns of two sides; `system` and `tools` are strings."""
    _refuse_weights(line)
    system, spoken = _split_system(line["messages"])
    turns = [_render_turn(one) for one in spoken]
    sides = [one["from"] in ("gpt", "function_call") for one in turns]
    if sides != [bool(place % 2) for place in range(len(turns))] or len(turns) % 2:
        raise NotRepresentable(UNEVEN)
    tools = canonical_json([one["function"] for one in line["tools"]])
    return {"conversations": turns, **({"system": system} if system else {}), "tools": tools}


def render_openai(line: Json) -> Json:
    """The line of `sft`."""
    return line


Render: TypeAlias = Callable[[Json], Json]
FORMATS: Mapping[str, Render] = {
    "openai": render_openai,
    "anthropic": render_anthropic,
    "sharegpt": render_sharegpt,
}


def export_views(export_set: ExportSet) -> list[OutputFolder]:
    """One folder. Its manifest says which trajectory each line is, and which ones a format cannot
    represent."""
    if not export_set.trajectories:
        return []
    contents, told = Contents(), dict[str, Json]()
    grouped = group_trajectories(export_set)
    for name, render in FORMATS.items():
        lines, refused = dict[str, list[str]](), dict[str, str]()
        for split, rows in grouped.items():
            rendered = list[str]()
            contents.put(
                path := f"{name}/{split}.jsonl",
                stream_lines(_render_all(rows, render, rendered, refused)),
            )
            if rendered:
                lines[split] = rendered
            else:
                del contents.files[path]
        told[name] = {
            "lines": lines,
            "refused": refused,
            "counts": dict(sorted(Counter(refused.values()).items())),
        }
    places = {(row.environment, row.scenario, row.licence) for row in export_set.trajectories}
    environments, scenarios, licences = map(set[str], zip(*places, strict=True))
    contents.files["manifest.json"] = render_json(
        {
            "exporter": NAME,
            "views": told,
            "licences": sorted(licences),
            "tiers": export_set.describe_tiers(scenarios),
            "contamination": export_set.describe_contamination(scenarios),
            "sources": export_set.describe_sources(list_ids(export_set.trajectories)),
            "transfer": TRANSFER,
            "canary": make_canary(list_ids(export_set.trajectories)),
        }
    )
    homes, posed = tuple(sorted(environments)), tuple(sorted(scenarios))
    count, (files, staged) = len(export_set.trajectories), (contents.files, contents.staged)
    return [OutputFolder(NAME, NAME, files, count, homes, posed, staged)]


def _render_all(
    rows: Sequence[Trajectory], render: Render, rendered: list[str], refused: dict[str, str]
) -> Iterator[Json]:
    """Lines of the trajectories that the format can represent; their ids are added to `rendered`.
    The others are recorded with the reason."""
    for row in rows:
        try:
            yield render(as_openai(row))
        except NotRepresentable as error:
            refused[row.id] = str(error)
        else:
            rendered.append(row.id)


def _refuse_weights(line: Json) -> None:
    if any(one.get("weight") == 0 for one in line["messages"]):
        raise NotRepresentable(UNMARKED)


def _split_system(messages: Sequence[Json]) -> tuple[str, list[Json]]:
    system = [one["content"] for one in messages if one["role"] == "system"]
    return "\n\n".join(system), [one for one in messages if one["role"] != "system"]


def _render_told(message: Json) -> Json:
    """A user's message or a tool's reply, as a block."""
    if message["role"] != "tool":
        return {"type": "text", "text": message["content"]}
    reply = {
        "type": "tool_result",
        "tool_use_id": message["tool_call_id"],
        "content": message["content"],
    }
    return reply if orjson.loads(message["content"]).get("ok", True) else reply | {"is_error": True}


def _render_said(message: Json) -> list[Json]:
    calls = message.get("tool_calls", ())
    blocks: list[Json] = (
        [{"type": "text", "text": message["content"]}] if message.get("content") else []
    )
    blocks += [
        {
            "type": "tool_use",
            "id": one["id"],
            "name": one["function"]["name"],
            "input": orjson.loads(one["function"]["arguments"]),
        }
        for one in calls
    ]
    if not blocks:
        raise NotRepresentable(SILENT)
    return blocks


def _render_turn(message: Json) -> Json:
    if message["role"] == "tool":
        return {"from": "observation", "value": message["content"]}
    if message["role"] == "user":
        return {"from": "human", "value": message["content"]}
    calls = message.get("tool_calls", ())
    if len(calls) > 1:
        raise NotRepresentable(PARALLEL)
    if calls and message.get("content"):
        raise NotRepresentable(BESIDE)
    if not calls:
        return {"from": "gpt", "value": message["content"]}
    made = calls[0]["function"]
    return {
        "from": "function_call",
        "value": canonical_json(
            {"name": made["name"], "arguments": orjson.loads(made["arguments"])}
        ),
    }


EXPORTER = Exporter(NAME, export_views, rows=("trajectories",), teaches=True)
