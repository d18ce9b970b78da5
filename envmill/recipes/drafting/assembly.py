"""Assembly: a class without its tools and the methods of its tools, put together as text; and a
program taken apart again.

skeleton ──┐
methods ───┴─► put each into the class, in the place of one of its name or at the end ─► program
"""

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_INDENT = "    "


@dataclass(frozen=True)
class ProgramParts:
    """A program taken apart."""

    skeleton: str
    class_name: str
    methods: Mapping[str, str]
    """Tool → text of its method."""

    @classmethod
    def read(cls, source: str, tools: Sequence[str]) -> "ProgramParts | None":
        """None where it cannot be parsed, or none of its classes has any of the tools."""
        body = _parse(source)
        classes = [one for one in body.body if isinstance(one, ast.ClassDef)] if body else []
        for name in (one.name for one in classes):
            places, lines = _find_methods(source, name) or {}, source.split("\n")
            found = {
                tool: textwrap.dedent("\n".join(lines[places[tool][0] - 1 : places[tool][1]]))
                for tool in tools
                if tool in places
            }
            if found:
                return cls(strip_tools(source, name) or "", name, found)
        return None


def assemble(source: str, class_name: str, methods: Sequence[str]) -> str:
    """The program with these methods in it. What cannot be parsed is put at the end as it is:
    loading it says where it breaks."""
    for text in methods:
        found = split_methods(text)
        for method in found.values() if found else (textwrap.dedent(text),):
            source = _put(source, class_name, method)
    return source


def split_methods(text: str) -> dict[str, str]:
    """Functions of a text, by name, each with its decorators and without indentation; empty where
    it cannot be parsed."""
    body = _parse(textwrap.dedent(text).strip("\n"))
    if body is None:
        return {}
    nodes = [one for one in body.body if isinstance(one, ast.FunctionDef)]
    lines = textwrap.dedent(text).strip("\n").split("\n")
    return {node.name: "\n".join(lines[_first_line(node) - 1 : node.end_lineno]) for node in nodes}


def strip_tools(source: str, class_name: str) -> str | None:
    """A program without its public methods; None where it cannot be parsed."""
    places = _find_methods(source, class_name)
    if places is None:
        return None
    lines = source.split("\n")
    for name, (first, last) in sorted(places.items(), key=lambda place: -place[1][0]):
        if not name.startswith("_"):
            del lines[first - 1 : last]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip() + "\n"


def _put(source: str, class_name: str, method: str) -> str:
    places, lines = _find_methods(source, class_name), source.rstrip("\n").split("\n")
    name = next(iter(split_methods(method)), "")
    written = textwrap.indent(method, _INDENT).split("\n")
    if places is None:
        return "\n".join([*lines, "", *written]) + "\n"
    first, last = places.get(name, (0, 0))
    if name in places:
        return "\n".join([*lines[: first - 1], *written, *lines[last:]]) + "\n"
    end = _find_end(source, class_name)
    return "\n".join([*lines[:end], "", *written, *lines[end:]]) + "\n"


def _find_methods(source: str, class_name: str) -> Mapping[str, tuple[int, int]] | None:
    """Method → its first and last line."""
    node = _find_class(source, class_name)
    if node is None:
        return None
    return {
        one.name: (_first_line(one), one.end_lineno or one.lineno)
        for one in node.body
        if isinstance(one, ast.FunctionDef)
    }


def _find_end(source: str, class_name: str) -> int:
    node = _find_class(source, class_name)
    return (node.end_lineno or node.lineno) if node else 0


def _find_class(source: str, class_name: str) -> ast.ClassDef | None:
    body = _parse(source)
    return (
        next(
            (one for one in body.body if isinstance(one, ast.ClassDef) and one.name == class_name),
            None,
        )
        if body
        else None
    )


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
