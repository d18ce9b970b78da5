"""What τ²-bench pays for a dialogue, beside what is paid here."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envmill.interop.importers.base import Harvest
from envmill.interop.importers.tau2.parity import ScriptedDialogue, Vector, measure
from envmill.sandbox import Sandbox
from schemas.environment import Call

RELEASE = Path(__file__).parent / "release"


def read_expected(root: Path, domain: str) -> dict[str, dict[str, Any]]:
    """Task → policy → vector of the benchmark's own evaluator."""
    return json.loads((root / "expected.json").read_text(encoding="utf-8"))[domain]


async def list_differences(
    harvest: Harvest, root: Path, domain: str, sandbox: Sandbox
) -> tuple[int, list[str]]:
    """How many vectors were compared, and those that differ."""
    told: Any = harvest.parity[domain]
    folder = harvest.folders[domain]
    scenarios = {str(one.features["released_as"]): one for one in folder.scenarios}
    count, found = 0, list[str]()
    for task, policies in read_expected(root, domain).items():
        for name, wanted in policies.items():
            count += 1
            ours = told["vectors"].get(task, {}).get(name)
            if ours is None and "calls_made" in wanted:
                played = await measure(
                    scenarios[task],
                    folder.environment,
                    [ScriptedDialogue(name, tuple(_list_calls(wanted)))],
                    sandbox,
                )
                ours = played[name].describe()
            if ours is None or _render(ours, wanted) != _render_wanted(wanted):
                found.append(f"{task} {name}: {ours} and not {wanted}")
    return count, found


def _list_calls(wanted: Mapping[str, Any]) -> Iterator[Call]:
    for side, name, arguments in wanted["calls_made"]:
        yield Call(name=name, arguments=arguments, actor="user" if side == "user" else "agent")


def _render(ours: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[Any, ...]:
    """The components as they are; where the benchmark would have asked its model, its answer there is a stub and none is given here."""
    judged = {name: value for name, value in ours["components"].items() if value != "not judged"}
    asked = {
        name: wanted["components"].get(name) for name in ours["components"].keys() - judged.keys()
    }
    reward = (
        wanted["reward"]
        if asked
        and ours["reward"] is None
        and ours["verdict"] == "error"
        and wanted.get("nl_stubbed")
        else ours["reward"]
    )
    return reward, judged | asked, ours["calls"], ours["errors"]


def _render_wanted(wanted: Mapping[str, Any]) -> tuple[Any, ...]:
    return wanted["reward"], wanted["components"], wanted["calls"], wanted["errors"]


__all__ = ["RELEASE", "Vector", "list_differences", "read_expected"]
