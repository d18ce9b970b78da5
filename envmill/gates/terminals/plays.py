"""Plays of one terminal scenario: commands on a machine of their own, judged; each list of commands once, however many gates ask."""

from collections import OrderedDict
from collections.abc import Sequence

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
    """Another `turn` is another machine."""
    key = (subject.scenario.id, subject.environment.id, id(means.sandbox), tuple(commands), turn)
    if key not in _KEPT:
        calls = [Call(name=SHELL.name, arguments={"command": command}) for command in commands]
        _KEPT[key] = await try_calls(subject.scenario, subject.environment, means.sandbox, calls)
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    if _KEPT[key].verdict.outcome == "error":
        raise BrokenMachine(_KEPT.pop(key).verdict.reason)
    return _KEPT[key]


def list_steps(subject: Posed) -> list[str]:
    """Commands of the reference path."""
    return [call.arguments["command"] for call in subject.scenario.oracle]


async def find_paid(gate: str, reason: str, subject: Posed, means: Means, plays: dict[str, Sequence[str]]) -> Finding | None:
    """The first of these that passes or earns anything, or what kept one from being judged."""
    for name, commands in plays.items():
        try:
            verdict = (await play(subject, means, commands)).verdict
        except (BrokenMachine, SandboxError) as error:
            return fail(gate, "no_verdict", f"{name}: {error}")
        if verdict.outcome == "pass" or verdict.reward:
            evidence: Json = {"commands": list(commands), "verdict": verdict.model_dump()}
            return drop(gate, reason, f"{name} earns {verdict.reward}", evidence)
    return None
