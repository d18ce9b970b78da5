"""Layouts of benchmarks that are read as what they are; any other folder is read text by text."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from envmill.errors import SettingsError
from envmill.gates.protecting.reading import Benchmark, list_files, list_strings, read_any, read_lines, read_records
from schemas.base import Json, is_array, is_object

_BFCL = "BFCL_v"
_POLICIES = (".md", ".txt")


def read_bfcl(folder: Path) -> Benchmark:
    """`bfcl_eval/data`: requests as a whole and by turns, and the descriptions of the tools of its multi-turn tasks.

    Function lists of its single-turn tasks are left out: there are thousands, and each belongs to one task.
    """
    found = Benchmark()
    for path in [*sorted(folder.glob(f"{_BFCL}*.json")), *sorted(folder.glob("memory_prereq_conversation/*.json"))]:
        if "format_sensitivity" in path.name:  # ids of tasks of the other files
            continue
        for number, record in enumerate(read_lines(path), start=1):
            turns = list(_list_user_turns(record["question"])) if is_object(record) else []
            _add_turns(found, f"{path.stem}:{number}", turns)
    for path in sorted(folder.glob("multi_turn_func_doc/*.json")):
        for number, tool in enumerate(read_lines(path), start=1):
            # The first sentence is the same for all tools of a class.
            found.add(f"{path.parent.name}/{path.stem}:{number}.1", str(tool["description"]).rpartition("Tool description:")[2])
    return found


def _list_user_turns(question: Json) -> Iterator[str]:
    if is_object(question):
        if question.get("role") == "user":
            yield str(question["content"])
    elif is_array(question):
        for inner in question:
            yield from _list_user_turns(inner)


def _add_turns(found: Benchmark, place: str, turns: list[str]) -> None:
    found.add(f"{place}.1", "\n".join(turns))
    for number, turn in enumerate(turns if len(turns) > 1 else [], start=2):
        found.add(f"{place}.{number}", turn)


def read_tau2(folder: Path) -> Benchmark:
    """A folder for each domain: what its users are told, tickets, tools and policies."""
    found = Benchmark()
    for path in sorted(folder.glob("**/tasks*.json")):
        place = path.relative_to(folder).with_suffix("").as_posix()
        for number, task in enumerate(read_records(path), start=1):
            if is_object(task):
                told = [*_list_told(task.get("user_scenario")), str(task.get("ticket") or "")]
                _add_turns(found, f"{place}:{number}", [text for text in told if text])
    for path in sorted(folder.glob("**/tools.json")):
        place = path.relative_to(folder).with_suffix("").as_posix()
        for number, tool in enumerate(_list_tools(path), start=1):
            found.add(f"{place}:{number}.1", str(tool.get("description") or ""))
    for path in list_files(folder):
        if path.suffix in _POLICIES and path.parent != folder:
            place = path.relative_to(folder).with_suffix("").as_posix()
            for number, part in enumerate(path.read_text(encoding="utf-8").split("\n\n"), start=1):
                found.add(f"{place}:{number}.1", part)
    return found


def _list_told(scenario: Json) -> Iterator[str]:
    """Instructions, without the name of the domain."""
    if is_object(scenario):
        instructions = scenario.get("instructions")
        if is_object(instructions):
            instructions = {key: value for key, value in instructions.items() if key != "domain"}
        yield "\n".join(list_strings(instructions))


def _list_tools(path: Path) -> list[dict[str, Json]]:
    value = read_records(path)[0]
    tools = value.get("tools") if is_object(value) else None
    return [tool for tool in tools if is_object(tool)] if is_array(tools) else []


LAYOUTS: Mapping[str, Callable[[Path], Benchmark]] = {"any": read_any, "bfcl": read_bfcl, "tau2": read_tau2}


def read_benchmark(folder: Path, layout: str = "") -> Benchmark:
    """By the layout that is named, or else by the one that the files have."""
    if not folder.is_dir():
        raise SettingsError(f"{folder} is no folder: name the one that holds the benchmark's files.")
    if layout and layout not in LAYOUTS:
        raise SettingsError(f"There is no layout {layout}. Known: {', '.join(LAYOUTS)}.")
    found = LAYOUTS[layout or find_layout(folder)](folder)
    if not found.texts:
        raise SettingsError(f"{folder} holds no text that could be protected.")
    return found


def find_layout(folder: Path) -> str:
    if any(folder.glob(f"{_BFCL}*.json")):
        return "bfcl"
    if any(folder.glob("*/tasks.json")) and any(folder.glob("*/tools.json")):
        return "tau2"
    return "any"
