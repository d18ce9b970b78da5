"""Mistakes that show before any rule matters: text that is no program, a class without its tools, a
state that is no JSON."""

import random
import re

from offline.faults.base import FaultCase, Spoilt, shuffle
from offline.witness import Trace
from schemas.prompts import ProgramReply

ProgramCase = FaultCase[ProgramReply]


def break_syntax(case: ProgramCase, dice: random.Random) -> Spoilt:
    """Lose the colon at the end of one `def` line."""
    lines = case.version.source.split("\n")
    spot = dice.choice(
        [number for number, line in enumerate(lines) if line.lstrip().startswith("def ")]
    )
    lines[spot] = lines[spot].removesuffix(":")
    return _finish(case, "\n".join(lines))


def forget_import(case: ProgramCase, dice: random.Random) -> Spoilt:
    """A name is used and not imported."""
    lines = case.version.source.split("\n")
    spots = [
        number
        for number, line in enumerate(lines)
        if re.match(r"(import copy|from datetime|from typing)", line)
    ]
    del lines[dice.choice(spots)]
    return _finish(case, "\n".join(lines))


def import_strange(case: ProgramCase, dice: random.Random) -> Spoilt:
    """A library is imported that is not there."""
    library = dice.choice(
        (
            "import pandas as pd",
            "from dateutil import parser",
            "import pytz",
            "from pydantic import BaseModel",
        )
    )
    return _finish(case, case.version.source.replace("from typing", f"{library}\nfrom typing", 1))


def rename_tool(case: ProgramCase, dice: random.Random) -> Spoilt:
    """The class offers a tool under another name than was planned."""
    name = dice.choice(list(case.domain.operations))
    verb, *rest = name.split("_")
    return _finish(
        case,
        case.version.source.replace(f"def {name}(", f"def {'_'.join([verb + 's', *rest])}(", 1),
    )


def add_tool(case: ProgramCase, dice: random.Random) -> Spoilt:
    """A method that nobody planned stands among the tools."""
    name = dice.choice(("export_all", "debug_dump", "clear_all"))
    extra = (
        f'\n    def {name}(self) -> dict[str, Any]:\n        """Show everything there is."""\n   '
        "     return dict(vars(self))\n"
    )
    return _finish(case, case.version.source + extra)


def forget_type(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A parameter has no type."""
    for operation in shuffle(case.domain.operations.values(), dice):
        if operation.takes:
            name = dice.choice(operation.takes).name
            return _finish(
                case,
                _edit_method(
                    case.version.source, operation.name, rf"\b{name}: (str|int|float)", name
                ),
            )
    return None


def name_other_class(case: ProgramCase, dice: random.Random) -> Spoilt:
    """The reply names a class that the program does not define."""
    name = case.reply.class_name + dice.choice(("Environment", "Service", "System"))
    pairs = case.pair(case.render(case.version.source, name), _any_trace(case))
    return Spoilt(case.reply.model_copy(update={"class_name": name}).model_dump(mode="json"), pairs)


def hide_state(case: ProgramCase, dice: random.Random) -> Spoilt:
    """A collection is held where no state is looked for."""
    name = dice.choice(list(case.domain.collections))
    return _finish(case, re.sub(rf"self\.{name}\b", f"self._{name}", case.version.source))


def hold_set(case: ProgramCase, dice: random.Random) -> Spoilt:
    """The state holds what JSON has no word for."""
    name = dice.choice(("seen", "log", "touched"))
    constructor = "def __init__(self, state: dict[str, Any]) -> None:"
    return _finish(
        case,
        case.version.source.replace(
            constructor, f"{constructor}\n        self.{name}: set[str] = set()", 1
        ),
    )


def ignore_state(case: ProgramCase, dice: random.Random) -> Spoilt:
    """A collection starts empty, whatever the state says."""
    name = dice.choice(list(case.domain.collections))
    return _finish(
        case, case.version.source.replace(f'copy.deepcopy(state.get("{name}", {{}}))', "{}", 1)
    )


def _edit_method(source: str, name: str, pattern: str, text: str) -> str:
    """Replace the first match behind the beginning of a method."""
    head, tail = source.split(f"def {name}(", 1)
    return f"{head}def {name}({re.sub(pattern, text, tail, count=1)}"


def _finish(case: ProgramCase, source: str) -> Spoilt:
    reply = case.reply.model_copy(update={"source": source}).model_dump(mode="json")
    return Spoilt(reply, case.pair(case.render(source), _any_trace(case)))


def _any_trace(case: ProgramCase) -> list[Trace]:
    """One trial per tool."""
    return [
        case.trace(each)
        for each in {each.call.name: each for each in reversed(case.tried[1])}.values()
    ]
