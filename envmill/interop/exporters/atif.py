"""Exporter `atif`: each trajectory as a file of the Agent Trajectory Interchange Format, for all
kinds of environment.

messages ──► steps: system, user, agent (its calls, and what they were answered) ──► SPLIT/TRAJECTORY.json
"""

from collections.abc import Sequence
from typing import Any

from envmill.agents import is_scripted
from envmill.base.version import __version__
from envmill.interop.exporters.base import (
    Exporter,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
)
from envmill.interop.exporters.contents import Contents
from envmill.interop.exporters.messages import describe_tools
from schemas.base import Json, canonical_json, is_object
from schemas.rollout import Trajectory
from schemas.stored import list_ids, order

NAME = "atif"
VERSION = "ATIF-v1.8"


def export_atif(export_set: ExportSet) -> list[OutputFolder]:
    """One folder, with a file for each trajectory below its split."""
    if not export_set.trajectories:
        return []
    contents, places = Contents(), set[tuple[str, str]]()
    for one in order(export_set.trajectories):
        contents.add(f"{one.split}/{one.id}.json", render_json(describe_trajectory(one)))
        places.add((one.environment, one.scenario))
    environments, scenarios = map(set[str], zip(*places, strict=True))
    ids = sorted(list_ids(export_set.trajectories))
    told = {
        "exporter": NAME,
        "version": VERSION,
        "trajectories": len(ids),
        "tiers": export_set.describe_tiers(scenarios),
        "contamination": export_set.describe_contamination(scenarios),
        "canary": make_canary(ids),
    }
    contents.files["manifest.json"] = render_json(told)
    homes, posed = tuple(sorted(environments)), tuple(sorted(scenarios))
    return [OutputFolder(NAME, NAME, contents.files, len(ids), homes, posed, contents.staged)]


def describe_trajectory(trajectory: Trajectory) -> dict[str, Json]:
    """The content of a file."""
    steps = _list_steps(trajectory)
    return {
        "schema_version": VERSION,
        "session_id": trajectory.rollout,
        "trajectory_id": trajectory.id,
        "agent": {
            "name": f"envmill/{trajectory.policy}",
            "version": __version__,
            "tool_definitions": describe_tools(trajectory.tools),
        },
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": {"total_steps": len(steps), "extra": {"reward": trajectory.reward}},
        "extra": trajectory.model_dump(
            mode="json",
            include={"environment", "scenario", "policy", "form", "split", "licence", "features"},
        ),
    }


def _list_steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """A reply belongs to the step whose call it answers."""
    steps: list[dict[str, Any]] = []
    hashes = iter(trajectory.state_hashes)
    scripted = is_scripted(trajectory.policy)
    for message, learned in zip(trajectory.messages, trajectory.loss, strict=True):
        if message["role"] == "tool":
            _find_asker(steps, message["tool_call_id"]).setdefault("observation", {"results": []})[
                "results"
            ].append(_describe_reply(message, next(hashes, "")))
        elif message["role"] == "assistant":
            steps.append(_describe_turn(message, learned, scripted))
        elif message["role"] == "wait":
            steps.append(_describe_wait(message, next(hashes, "")))
        else:
            steps.append({"source": message["role"], "message": message["content"]})
    return steps


def _find_asker(steps: Sequence[dict[str, Any]], call: str) -> dict[str, Any]:
    asked = (
        step
        for step in reversed(steps)
        if any(each["tool_call_id"] == call for each in step.get("tool_calls", ()))
    )
    return next(asked)


def _describe_turn(message: Json, learned: bool, scripted: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "source": "agent",
        "message": message.get("content") or "",
        "extra": {"loss": learned},
    }
    if scripted:
        told["llm_call_count"] = 0
    elif message.get("reasoning"):
        told["reasoning_content"] = message["reasoning"]
    if message.get("tool_calls"):
        told["tool_calls"] = [_describe_call(call) for call in message["tool_calls"]]
    return told


def _describe_call(call: Json) -> dict[str, Any]:
    """Arguments that are not an object reached no tool; they are kept in a separate field."""
    arguments: Json = call["arguments"]
    spoilt = not is_object(arguments)
    extra = {name: value for name, value in call.items() if name not in ("id", "name", "arguments")}
    extra |= {"arguments": arguments} if spoilt else {}
    told: dict[str, Any] = {
        "tool_call_id": call["id"],
        "function_name": call["name"],
        "arguments": {} if spoilt else arguments,
    }
    return told | ({"extra": extra} if extra else {})


def _describe_reply(message: Json, state_hash: str) -> dict[str, Any]:
    told = {
        "source_call_id": message["tool_call_id"],
        "content": canonical_json(message["content"]),
    }
    return told | ({"extra": {"state_hash": state_hash}} if state_hash else {})


def _describe_wait(message: Json, state_hash: str) -> dict[str, Any]:
    """A message that arrived while the agent waited."""
    results = [{"content": canonical_json(each)} for each in message["notifications"]]
    extra = {"waited_seconds": message["seconds"]} | (
        {"state_hash": state_hash} if state_hash else {}
    )
    return {"source": "system", "message": "", "observation": {"results": results}, "extra": extra}


EXPORTER = Exporter(NAME, export_atif, rows=("trajectories",))
