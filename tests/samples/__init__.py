"""Four hand-written environments as data, with scripted sessions. Their programs run only in the jail.

A step of a script is `[tool, arguments]`, `[actor:tool, arguments, code of the rejection]` or `["+", seconds]`; `$3.id` stands for
what step 3 answered under `id`.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from envmill.kinds import KINDS
from envmill.sandbox import Advance, Invoke, Observation, Program, Reset, Session, Step
from schemas.base import Json
from schemas.environment import Call, Effect

HERE = Path(__file__).parent
NAMES = ("clinic", "freight", "library", "payroll")


@dataclass(frozen=True)
class Sample:
    """One environment, ready to be played."""

    name: str
    program: Program
    state: dict[str, Json]
    clock: str
    sessions: dict[str, list[list[Any]]]

    def reset(self, seed: int = 7, **more: Any) -> Reset:
        return Reset(self.state, self.clock, seed, **more)


@cache
def load_sample(name: str) -> Sample:
    """Read one from its folder and derive its interface."""
    source, told = (
        (HERE / name / "program.py").read_text(),
        json.loads((HERE / name / "sample.json").read_text()),
    )
    class_name = told["entry"].partition(":")[2]
    tools = KINDS["stateful"].derive_tools(
        source, class_name, read_effects(source, told["queries"])
    )
    program = Program({"program.py": source}, told["entry"], tools)
    return Sample(name, program, told["state"], told["clock"], told["sessions"])


def read_effects(source: str, queries: list[str]) -> dict[str, Effect]:
    """Effects of all public methods: the queries are listed, everything else changes state."""
    names = [
        line.split("(")[0].removeprefix("    def ")
        for line in source.splitlines()
        if line.startswith("    def ")
    ]
    assert set(queries) <= set(names)
    return {
        name: "query" if name in queries else "change" for name in names if not name.startswith("_")
    }


async def play_script(
    session: Session, script: list[list[Any]]
) -> AsyncIterator[tuple[Step, Observation, str]]:
    """Each step as it was made concrete, what it came to, and the outcome the script expects: `ok` or a code."""
    seen: list[Observation] = []
    for name, given, *code in script:
        step = Advance(given) if name == "+" else Invoke(_make_call(name, given, seen))
        seen.append(await session.step(step))
        yield step, seen[-1], code[0] if code else "ok"


def _make_call(name: str, given: dict[str, Any], seen: list[Observation]) -> Call:
    actor, _, tool = name.rpartition(":")
    return Call(
        name=tool,
        arguments={key: _resolve(value, seen) for key, value in given.items()},
        actor=actor or "agent",
    )


def _resolve(value: Any, seen: list[Observation]) -> Any:
    if not (isinstance(value, str) and value.startswith("$")):
        return value
    place, _, field = value[1:].partition(".")
    return seen[int(place)].parts[0]["value"][field]
