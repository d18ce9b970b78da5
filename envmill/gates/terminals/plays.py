"""Plays of one terminal scenario: commands on a machine of their own, judged; each list of commands once, however many gates ask."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import repeat

from envmill.agents.trial import Trial, try_calls
from envmill.errors import SandboxError
from envmill.gates.base import Finding, Means, Posed, drop, fail
from envmill.kinds.terminal import SHELL
from schemas.base import Json
from schemas.environment import Call

_MOST = 512
_KEPT: OrderedDict[tuple[str, str, int, tuple[str, ...], int], Trial] = OrderedDict()


class BrokenMachine(Exception):
    """A play came to no verdict: the gate cannot say anything of the candidate."""


async def play(subject: Posed, means: Means, commands: Sequence[str], turn: int = 0) -> Trial:
    """Another `turn` is another machine, the second of them one that was set up for it alone."""
    key = (subject.scenario.id, subject.environment.id, id(means.sandbox), tuple(commands), turn)
    if key not in _KEPT:
        calls = [Call(name=SHELL.name, arguments={"command": command}) for command in commands]
        _KEPT[key] = await try_calls(subject.scenario, subject.environment, means.sandbox, calls, fresh=turn == 1)
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    if _KEPT[key].verdict.outcome == "error":
        raise BrokenMachine(_KEPT.pop(key).verdict.reason)
    return _KEPT[key]


async def play_all(
    subject: Posed, means: Means, plays: Iterable[Sequence[str]], turns: Iterable[int] = repeat(0)
) -> list[Trial | BrokenMachine | SandboxError]:
    """All of these at once; what kept one from being judged stands in its place."""

    async def attempt(commands: Sequence[str], turn: int) -> Trial | BrokenMachine | SandboxError:
        try:
            return await play(subject, means, commands, turn)
        except (BrokenMachine, SandboxError) as error:
            return error

    return await asyncio.gather(*(attempt(commands, turn) for commands, turn in zip(plays, turns, strict=False)))


def list_steps(subject: Posed) -> list[str]:
    """Commands of the reference path."""
    return [call.arguments["command"] for call in subject.scenario.oracle]


async def find_paid(gate: str, reason: str, subject: Posed, means: Means, plays: dict[str, Sequence[str]]) -> Finding | None:
    """The first of these that passes or earns anything, or what kept one from being judged."""
    for (name, commands), trial in zip(plays.items(), await play_all(subject, means, plays.values()), strict=True):
        if not isinstance(trial, Trial):
            return fail(gate, "no_verdict", f"{name}: {trial}")
        verdict = trial.verdict
        if verdict.outcome == "pass" or verdict.reward:
            evidence: Json = {"commands": list(commands), "verdict": verdict.model_dump()}
            return drop(gate, reason, f"{name} earns {verdict.reward}", evidence)
    return None
