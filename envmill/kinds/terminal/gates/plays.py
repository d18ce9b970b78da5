"""Plays of one terminal scenario: commands on a machine of their own, judged; each list of commands
once, however many gates ask."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import NamedTuple

from envmill.base.errors import SandboxError
from envmill.kinds.findings import Finding, GateContext, ScenarioCase, drop, fail, mark
from envmill.kinds.start import start
from envmill.kinds.terminal import SHELL
from envmill.kinds.trial import Trial, try_calls
from envmill.sandbox import Invoke, Look, Program
from envmill.sandbox.machines.baseline import HEALTH, OUTSIDE
from schemas.base import Json
from schemas.environment import Call
from schemas.scenario import Verifier

_MOST = 512


class _Key(NamedTuple):
    """What one play is another's equal by."""

    scenario: str
    environment: str
    sandbox: int
    commands: tuple[str, ...]
    turn: int
    until: tuple[tuple[str, ...], ...] = ()


_KEPT: OrderedDict[_Key, Trial] = OrderedDict()


class BrokenMachine(Exception):
    """A play came to no verdict: the gate cannot say anything of the candidate."""


async def play(
    subject: ScenarioCase, means: GateContext, commands: Sequence[str], turn: int = 0, *, brief: bool = False, known: bool = False
) -> Trial:  # fmt: skip
    """Another `turn` is another machine, the second of them one that was set up for it alone. Of a
    `brief` one no more may be known
    than that it lost; what nobody touched is always looked at whole, for others ask about it as
    well. What a `known` one came to may be
    judged by the report of an equal machine."""
    known = known and bool(commands)
    until = list_decisive(subject.scenario.verifier) if brief and commands else ()
    whole = _Key(
        subject.scenario.id, subject.environment.id, id(means.sandbox), tuple(commands), turn
    )
    key = whole if whole in _KEPT else whole._replace(until=until)
    if key not in _KEPT:
        calls = [Call(name=SHELL.name, arguments={"command": command}) for command in commands]
        _KEPT[key] = await try_calls(
            subject.scenario,
            subject.environment,
            means.sandbox,
            calls,
            fresh=turn == 1,
            look=Look(until, known),
        )
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    if _KEPT[key].verdict.outcome == "error":
        raise BrokenMachine(_KEPT.pop(key).verdict.reason)
    return _KEPT[key]


async def read(subject: ScenarioCase, means: GateContext, command: str) -> str:
    """What a command says on a machine as it is handed over; where that leads, nobody asks."""
    call = Call(name=SHELL.name, arguments={"command": command})
    begun, said = await means.sandbox.play(
        Program.of(subject.environment), [start(subject.scenario), Invoke(call)]
    )
    if said.outcome != "ok":
        raise BrokenMachine(begun.message or said.message)
    return said.parts[0]["value"]["output"]


def list_decisive(verifier: Verifier) -> tuple[tuple[str, ...], ...]:
    """What loses wherever it is amiss, of what a look may end with; nothing where part of the rest
    would be paid."""
    checks = [*verifier.goals, *verifier.guards]
    if verifier.partial or any(check.op == "generated" for check in checks):
        return ()
    asked = {tuple(check.path): check.value for check in checks if check.op == "equals"}
    untouched = (
        [(OUTSIDE,)]
        if all((part,) in asked and asked[(part,)] == {} for part in (OUTSIDE, "replaced"))
        else []
    )
    return (
        *untouched,
        *(
            tuple(goal.path)
            for goal in verifier.goals
            if goal.path[0] == HEALTH and goal.value == "well"
        ),
    )


async def play_all(
    subject: ScenarioCase,
    means: GateContext,
    plays: Iterable[Sequence[str]],
    turns: Iterable[int] = repeat(0),
    *,
    brief: bool = False,
    known: bool = False,
) -> list[Trial | BrokenMachine | SandboxError]:
    """All of these at once; what kept one from being judged stands in its place."""

    async def attempt(commands: Sequence[str], turn: int) -> Trial | BrokenMachine | SandboxError:
        try:
            return await play(subject, means, commands, turn, brief=brief, known=known)
        except (BrokenMachine, SandboxError) as error:
            return error

    return await asyncio.gather(
        *(attempt(commands, turn) for commands, turn in zip(plays, turns, strict=False))
    )


def list_steps(subject: ScenarioCase) -> list[str]:
    """Commands of the reference path."""
    return [call.arguments["command"] for call in subject.scenario.oracle]


async def find_paid(
    gate: str,
    reason: str,
    subject: ScenarioCase,
    means: GateContext,
    plays: dict[str, Sequence[str]],
) -> Finding | None:
    """Of these that are run the first that passes or earns anything, an open one if there is any,
    or what kept one from being judged."""
    dealt = sorted(means.deal(list(plays.items())), key=lambda probe: probe[1])
    trials = await play_all(
        subject, means, [commands for (_, commands), _ in dealt], brief=True, known=True
    )
    for ((name, commands), sealed), trial in zip(dealt, trials, strict=True):
        if not isinstance(trial, Trial):
            return fail(gate, "no_verdict", f"{name}: {trial}")
        verdict = trial.verdict
        if verdict.outcome == "pass" or verdict.reward:
            evidence: Json = {"commands": list(commands), "verdict": verdict.model_dump()}
            return mark(drop(gate, reason, f"{name} earns {verdict.reward}", evidence), sealed)
    return None
