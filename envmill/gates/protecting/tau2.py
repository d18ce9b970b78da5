"""Reads the layout of τ²-bench: a folder for each domain, with tasks, tools and policies.
`gold_diff.json` contains the changes of the solutions."""

import json
from collections.abc import Iterator
from pathlib import Path

from envmill.gates.protecting.interface import list_interface, split_name
from envmill.gates.protecting.reading import (
    Benchmark,
    BenchmarkDomain,
    BenchmarkTask,
    add_turns,
    list_files,
    list_strings,
    read_records,
)
from schemas.base import Json, is_array, is_object

_POLICIES = (".md", ".txt")


def read_tau2(folder: Path) -> Benchmark:
    found = Benchmark()
    for path in sorted(folder.glob("*/tasks*.json")):
        ends = _read_ends(path.with_name("gold_diff.json"))
        place = path.relative_to(folder).with_suffix("").as_posix()
        for number, task in enumerate(read_records(path), start=1):
            if is_object(task):
                told = [
                    text
                    for text in (
                        *_list_told(task.get("user_scenario")),
                        str(task.get("ticket") or ""),
                    )
                    if text
                ]
                add_turns(found, f"{place}:{number}", told)
                calls = tuple(_list_calls(task.get("evaluation_criteria")))
                found.tasks.append(
                    BenchmarkTask(
                        f"{place}:{number}",
                        "\n".join(told),
                        calls,
                        tuple(ends.get(str(task.get("id")), ())),
                    )
                )
    for path in sorted(folder.glob("*/tools.json")):
        place, tools = path.relative_to(folder).with_suffix("").as_posix(), _list_tools(path)
        for number, tool in enumerate(tools, start=1):
            found.add(f"{place}:{number}.1", str(tool.get("description") or ""))
        domain = found.domains.setdefault(path.parent.name, BenchmarkDomain())
        domain.interface |= list_interface(
            (str(tool.get("name") or ""), tool.get("parameters")) for tool in tools
        )
        domain.interface |= set(_list_columns(path.with_name("state_schema.json")))
    for path in list_files(folder):
        if path.suffix in _POLICIES and path.parent != folder:
            place = path.relative_to(folder).with_suffix("").as_posix()
            parts = path.read_text(encoding="utf-8").split("\n\n")
            found.domains.setdefault(path.parent.name, BenchmarkDomain()).policy += parts
            for number, part in enumerate(parts, start=1):
                found.add(f"{place}:{number}.1", part)
    return found


def _list_told(scenario: Json) -> Iterator[str]:
    """The user's instructions, without the name of the domain."""
    if is_object(scenario):
        instructions = scenario.get("instructions")
        if is_object(instructions):
            instructions = {key: value for key, value in instructions.items() if key != "domain"}
        yield "\n".join(list_strings(instructions))


def _list_calls(criteria: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    actions = criteria.get("actions") if is_object(criteria) else None
    for action in actions if is_array(actions) else []:
        if is_object(action):
            arguments = action.get("arguments")
            yield str(action.get("name") or ""), arguments if is_object(arguments) else {}


def _read_ends(path: Path) -> dict[str, list[tuple[list[str], str, Json]]]:
    """Id of a task → its changes."""
    if not path.exists():
        return {}
    told = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: [([*map(str, one["path"])], str(one["op"]), one.get("to")) for one in task["diff"]]
        for name, task in told.items()
    }


def _list_tools(path: Path) -> list[dict[str, Json]]:
    value = next(iter(read_records(path)), None)
    tools = value.get("tools") if is_object(value) else None
    return [tool for tool in tools if is_object(tool)] if is_array(tools) else []


def _list_columns(path: Path) -> Iterator[str]:
    """Fields of the records of a state."""
    if path.exists():
        yield from (
            f"column {split_name(name)}"
            for name in _list_properties(json.loads(path.read_text(encoding="utf-8")))
        )


def _list_properties(schema: Json) -> Iterator[str]:
    if is_object(schema):
        properties = schema.get("properties")
        yield from properties if is_object(properties) else ()
        for value in schema.values():
            yield from _list_properties(value)
    elif is_array(schema):
        for value in schema:
            yield from _list_properties(value)
