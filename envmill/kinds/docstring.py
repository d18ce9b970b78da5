"""A tool's docstring: what it says of the tool, and what its Google-style `Args:` section says
about each parameter."""

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from schemas.base import Json, is_object

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_ALIKE, _STEM = 0.15, 4
"""Share of new words from which a sentence adds something; letters of a word that are compared."""
_SECTION = re.compile(r"(Args|Arguments|Parameters):\s*$")
_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


class ToolWords(NamedTuple):
    """What a plan says of a tool."""

    description: str
    parameters: Mapping[str, str]
    """Parameter → its description, where the plan describes it."""


def fill_docstrings(source: str, class_name: str, plans: Mapping[str, ToolWords]) -> str:
    """The program, in which each tool's docstring describes the tool and all its parameters. A
    docstring that does so stays. Another gets
    the words of the plan, and those of a parameter's name where the plan has none. A program that
    cannot be parsed stays as it is."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    owners = [node for node in body if isinstance(node, ast.ClassDef) and node.name == class_name]
    methods = [
        node
        for owner in owners
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.name in plans
    ]
    lines = source.split("\n")
    for method in sorted(methods, key=lambda method: -method.lineno):
        told = ast.get_docstring(method) or ""
        taken = [
            argument.arg
            for argument in (*method.args.args, *method.args.kwonlyargs)
            if argument.arg != "self"
        ]
        described = described_parameters(told)
        if not read_description(told) or not all(described.get(name) for name in taken):
            planned = plans[method.name]
            words = {
                name: described.get(name) or planned.parameters.get(name) or _read_name(name)
                for name in taken
            }
            _put_docstring(
                lines,
                method,
                ToolWords(join_descriptions(planned.description, read_description(told)), words),
            )
    return "\n".join(lines)


def read_words(inputs: Json) -> dict[str, str]:
    """Parameter → its description, of a JSON Schema of arguments."""
    properties: Json = inputs.get("properties") if is_object(inputs) else None
    if not is_object(properties):
        return {}
    return {
        name: str(part["description"])
        for name, part in properties.items()
        if is_object(part) and part.get("description")
    }


def _read_name(parameter: str) -> str:
    """What the name alone says: `loan_ids` is `Ids of loan records.`"""
    thing, _, last = parameter.rpartition("_")
    if thing and last in ("id", "ids"):
        return (
            f"Id of the {thing.replace('_', ' ')}."
            if last == "id"
            else f"Ids of {thing.replace('_', ' ')} records."
        )
    return f"{parameter.replace('_', ' ').strip().capitalize()}."


def _put_docstring(lines: list[str], method: ast.FunctionDef, words: ToolWords) -> None:
    """In front of the first statement, or in place of a docstring. What else stands on those lines
    moves to lines of its own."""
    first = method.body[0]
    row = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))]) - 1
    line = lines[row].encode()
    start = len(line) - len(line.lstrip()) if row < first.lineno - 1 else first.col_offset
    before, after, end = line[:start].decode().rstrip(), line[start:].decode(), row
    margin = " " * (method.col_offset + 4 if before else start)
    if ast.get_docstring(method) is not None:
        end = (first.end_lineno or first.lineno) - 1
        after = lines[end].encode()[first.end_col_offset or 0 :].decode().lstrip("; ")
    told = [f"{margin}{text}" if text else "" for text in _render_docstring(words)]
    lines[row : end + 1] = [
        *([before] if before else []),
        *told,
        *([f"{margin}{after}"] if after.strip() else []),
    ]


def _render_docstring(words: ToolWords) -> list[str]:
    """Lines without their margin. Backslashes and quotes are escaped, so that the text stays what
    it is."""
    entries = [f"    {name}: {' '.join(told.split())}" for name, told in words.parameters.items()]
    lines = [" ".join(words.description.split()), *(["", "Args:", *entries, ""] if entries else [])]
    first, *others = [
        line.replace("\\", "\\\\").replace('"', '\\"')
        if '"""' in line or line.endswith('"') or "\\" in line
        else line
        for line in lines
    ]
    return [f'"""{first}', *others[:-1], '"""'] if others else [f'"""{first}"""']


def read_description(docstring: str) -> str:
    """All that it says beside its parameters, on one line."""
    told, inside = list[str](), False
    for line in docstring.expandtabs().splitlines():
        if _SECTION.match(line.strip()):
            inside = True
        elif line.strip() and not line.startswith(" "):
            inside = False
        if not inside:
            told.append(line.strip())
    return " ".join(filter(None, told))


def join_descriptions(planned: str, written: str) -> str:
    """What was planned, and what the docstring adds to it sentence by sentence: a sentence whose
    words the plan has says nothing new."""
    plan, said = (" ".join(text.split()) for text in (planned, written))
    known = _find_words(plan)
    new = [
        sentence
        for sentence in _SENTENCE.split(said)
        if len(_find_words(sentence) - known) > _ALIKE * len(_find_words(sentence))
    ]
    return " ".join([plan, *new]) if plan else said


def _find_words(text: str) -> set[str]:
    """Words without their endings: `find jobs` and `finds a job` are alike."""
    return {word[:_STEM] for word in re.findall(r"[^\W_]+", text.casefold()) if len(word) > 2}


def described_parameters(docstring: str) -> dict[str, str]:
    """Parameter name → description, each on one line."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    inside, indent = False, 0
    for line in docstring.expandtabs().splitlines():
        depth = len(line) - len(line.lstrip())
        if not inside:
            inside = bool(_SECTION.match(line.strip()))
            indent = 0
        elif not line.strip():
            continue
        elif depth == 0:
            inside = bool(_SECTION.match(line))
        else:
            # Entries stand at the section's first indent; what is deeper goes on with the entry
            # above.
            indent = indent or depth
            entry = _ENTRY.match(line.strip()) if depth <= indent else None
            if entry:
                current = found.setdefault(entry[1], [])
            current.append(entry[2] if entry else line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}
