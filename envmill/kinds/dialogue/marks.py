"""Marks in a program as it is written, held to what its dialogue names: couplings, discoverable
tools and whose a tool is. The program is never run here."""

import ast
from collections.abc import Iterator, Mapping

from envmill.kinds.stateful import MAX_SOURCE
from schemas.dialogue import Dialogue


def find_mark_faults(dialogue: Dialogue, files: Mapping[str, str]) -> list[str]:
    """Couplings, discoverable tools and tools of the user that only one of both has, and methods that
    cannot be a coupling."""
    couplings = {
        method.name.removeprefix("_"): method for method in _list_marked(files, "coupling")
    }
    named = [coupling.name for coupling in dialogue.couplings]
    faults = [
        f"The program has no method `_{name}` marked @coupling, which dialogue.json names."
        for name in named
        if name not in couplings
    ]
    faults += [
        f"The method `_{name}` is marked @coupling, and dialogue.json does not name it."
        for name in couplings
        if name not in named
    ]
    bad = [name for name, method in couplings.items() if _takes_more(method)]
    faults += [
        f"The coupling `_{name}` takes parameters: the runtime calls it with none." for name in bad
    ]
    hidden = {method.name for method in _list_marked(files, "discoverable")}
    for name in sorted(hidden ^ dialogue.discoverable.keys()):
        lacks = (
            "dialogue.json does not say how it is unlocked"
            if name in hidden
            else "the program does not mark it @discoverable"
        )
        faults.append(f"The tool {name} is discoverable, and {lacks}.")
    return [*faults, *_find_actor_faults(dialogue, files)]


def _find_actor_faults(dialogue: Dialogue, files: Mapping[str, str]) -> Iterator[str]:
    """Tools that the program gives to another side than the plan, or to both."""
    actors = {name: who for path in files for name, who in _list_actors(files, path)}
    for name in dialogue.user_tools:
        if actors.get(name, ()) != ("user",):
            yield (
                f"The tool {name} is the user's, and the program does not mark it "
                '`@actors("user")`.'
            )
    for name, who in actors.items():
        if name not in dialogue.user_tools and who != ("agent",):
            yield (
                f"The tool {name} is the agent's, and the program marks it for "
                f"{' and '.join(who) or 'nobody'}. Name it in `user_tools`, or take the mark away."
            )


def _list_actors(files: Mapping[str, str], path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for method in _list_methods({path: files[path]}):
        for mark in method.decorator_list:
            match mark:
                case ast.Call(func=ast.Name(id="actors") | ast.Attribute(attr="actors"), args=args):
                    who = (arg.value for arg in args if isinstance(arg, ast.Constant))
                    yield method.name, tuple(map(str, who))
                case _:
                    continue


def _list_marked(files: Mapping[str, str], mark: str) -> Iterator[ast.FunctionDef]:
    """Methods with a decorator of this name."""
    for node in _list_methods(files):
        if any(isinstance(one, ast.Name) and one.id == mark for one in node.decorator_list):
            yield node


def _list_methods(files: Mapping[str, str]) -> Iterator[ast.FunctionDef]:
    for path, text in sorted(files.items()):
        if not path.endswith(".py") or len(text) > MAX_SOURCE:
            continue
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # what is no Python is refused where the interface is read
        yield from (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))


def _takes_more(method: ast.FunctionDef) -> bool:
    """Whether it takes anything but self."""
    arguments = method.args
    more = arguments.kwonlyargs or arguments.posonlyargs or arguments.vararg or arguments.kwarg
    return len(arguments.args) != 1 or bool(more)
