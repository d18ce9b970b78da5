"""Couplings of a program as they are written, held to those that its dialogue names. The program is read, and never run here."""

import ast
from collections.abc import Iterator, Mapping

from envmill.kinds.stateful import MAX_SOURCE
from schemas.dialogue import Dialogue


def find_coupling_faults(dialogue: Dialogue, files: Mapping[str, str]) -> list[str]:
    """Couplings that only one of both has, and methods that cannot be one."""
    written = dict(_list_written(files))
    named = [coupling.name for coupling in dialogue.couplings]
    faults = [f"The program has no method `_{name}` marked @coupling, which dialogue.json names." for name in named if name not in written]
    faults += [f"The method `_{name}` is marked @coupling, and dialogue.json does not name it." for name in written if name not in named]
    faults += [f"The coupling `_{name}` takes parameters: the runtime calls it with none." for name, plain in written.items() if not plain]
    return faults


def _list_written(files: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Name without its underscore, and whether it takes self alone."""
    for path, text in sorted(files.items()):
        if not path.endswith(".py") or len(text) > MAX_SOURCE:
            continue
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.Name) and one.id == "coupling" for one in node.decorator_list):
                arguments = node.args
                more = arguments.kwonlyargs or arguments.posonlyargs or arguments.vararg or arguments.kwarg
                yield node.name.removeprefix("_"), len(arguments.args) == 1 and not more
