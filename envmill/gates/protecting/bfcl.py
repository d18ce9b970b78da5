"""Reads the layout of BFCL (`bfcl_eval/data`): requests as a whole and by turns, solutions of
multi-turn tasks, and their tools.

Function lists of single-turn tasks are left out, because there are thousands, each for one task.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from envmill.gates.protecting.interface import list_interface
from envmill.gates.protecting.reading import (
    Benchmark,
    BenchmarkDomain,
    BenchmarkTask,
    add_turns,
    read_lines,
)
from schemas.base import Json, is_array, is_object

PREFIX = "BFCL_v"


def read_bfcl(folder: Path) -> Benchmark:
    found = Benchmark()
    for path in [
        *sorted(folder.glob(f"{PREFIX}*.json")),
        *sorted(folder.glob("memory_prereq_conversation/*.json")),
    ]:
        if "format_sensitivity" in path.name:  # ids of tasks of the other files
            continue
        solutions = (
            _read_solutions(folder / "possible_answer" / path.name)
            if "multi_turn" in path.name
            else {}
        )
        for number, record in enumerate(read_lines(path), start=1):
            if is_object(record):
                turns = list(_list_user_turns(record.get("question")))
                add_turns(found, f"{path.stem}:{number}", turns)
                if calls := solutions.get(str(record.get("id"))):
                    found.tasks.append(
                        BenchmarkTask(f"{path.stem}:{number}", "\n".join(turns), calls)
                    )
    for path in sorted(folder.glob("multi_turn_func_doc/*.json")):
        tools = [tool for tool in read_lines(path) if is_object(tool)]
        found.domains[path.stem] = BenchmarkDomain(
            list_interface((str(tool.get("name") or ""), tool.get("parameters")) for tool in tools)
        )
        for number, tool in enumerate(tools, start=1):
            # All tools of a class share the first sentence.
            found.add(
                f"{path.parent.name}/{path.stem}:{number}.1",
                str(tool.get("description") or "").rpartition("Tool description:")[2],
            )
    return found


def _list_user_turns(question: Json) -> Iterator[str]:
    if is_object(question):
        if question.get("role") == "user":
            yield str(question.get("content") or "")
    elif is_array(question):
        for inner in question:
            yield from _list_user_turns(inner)


def _read_solutions(path: Path) -> dict[str, tuple[tuple[str, dict[str, Json]], ...]]:
    """Id → calls of all turns."""
    found: dict[str, tuple[tuple[str, dict[str, Json]], ...]] = {}
    for record in read_lines(path) if path.exists() else []:
        if is_object(record) and is_array(turns := record.get("ground_truth")):
            calls = [str(call) for turn in turns if is_array(turn) for call in turn]
            found[str(record.get("id"))] = tuple(
                parsed for call in calls if (parsed := parse_call(call)) is not None
            )
    return found


def parse_call(text: str) -> tuple[str, dict[str, Json]] | None:
    """Parses a call in Python's syntax without running it; None if it is no call with plain
    values."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        placed = {str(number): ast.literal_eval(value) for number, value in enumerate(node.args)}
        return node.func.id, placed | {
            str(word.arg): ast.literal_eval(word.value) for word in node.keywords
        }
    except (ValueError, SyntaxError):
        return None
