"""Gates over a machine that nobody broke: can it be set up, is it well, and is it so every time?"""

import asyncio
from collections.abc import Sequence

from envmill.base.errors import BuildError
from envmill.kinds.findings import EnvironmentCase, Finding, GateContext, drop, fail, keep
from envmill.kinds.start import CLOCK
from envmill.kinds.terminal import SHELL, compose_state, derive_tables
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Step
from schemas.base import Json
from schemas.environment import Call, Environment

ODD: tuple[dict[str, Json], ...] = (
    {},
    {"command": 7},
    {"command": ""},
    {"command": "a\0b"},
    {"command": "true", "seconds": -1},
    {"line": "true"},
)
"""Arguments that no shell can take."""
_AGAIN = 3
_PAUSE = 2.0
"""Machines that are looked at again where one was not well, and seconds before that."""


async def check_interface(built: EnvironmentCase, means: GateContext) -> Finding:  # noqa: ARG001  nothing runs
    """Every terminal has the one tool, so that whoever learns in one can act in another."""
    if built.environment.tools != [SHELL]:
        return drop(
            "W1",
            "interface",
            f"a terminal has one tool, {SHELL.name}, as EnvMill describes it: derive its tools "
            "by its kind",
        )
    return keep("W1")


async def check_health(built: EnvironmentCase, means: GateContext) -> Finding:
    """Set up, it is well, also after a restart, and nothing changes by itself."""
    try:
        derive_tables(built.environment.files, {})
    except BuildError as error:
        return drop("W2", "no_machine", error.message)
    begun, left = await _play(built.environment, means, [Look()])
    if begun.code == "does_not_construct":
        return drop("W2", "does_not_construct", begun.message)
    if begun.outcome != "ok" or left.state is None:
        return fail(
            "W2",
            "no_verdict",
            f"the machine could not be examined: {begun.message or left.message}",
        )
    return find_illness(built.environment, left) or keep(
        "W2", {"probes": sorted(left.state["health"])}
    )


def find_illness(environment: Environment, left: Observation) -> Finding | None:
    """What is not as it should be of a machine nobody touched."""
    state = left.state or {}
    if state == compose_state(environment.files, [], [], set()):
        return None
    ill = {
        part: [probe for probe, said in state[part].items() if said == "ill"]
        for part in ("health", "lasting")
    }
    reason = (
        "unhealthy" if ill["health"] else "not_lasting" if ill["lasting"] else "changes_by_itself"
    )
    return drop(
        "W2",
        reason,
        f"nobody touched it, and: {ill}, changed {sorted(state['outside'])[:5]}",
        state,
    )


async def check_again(built: EnvironmentCase, means: GateContext) -> Finding:
    """Two more machines end as the first: what is well by luck shows."""
    ends = [await _observe_once(built.environment, means) for _ in range(2)]
    healthy = compose_state(built.environment.files, [], [], set())
    differing = [end.state for end in ends if end.state is not None and end.state != healthy]
    if differing:
        # A busy host makes services late: what counts is how machines end one after the other, a
        # while later.
        await asyncio.sleep(_PAUSE)
        again = [await _observe_once(built.environment, means) for _ in range(_AGAIN)]
        if ill := [end.state for end in again if end.state is not None and end.state != healthy]:
            return drop(
                "W5",
                "flaky",
                "a machine that was well once is not well every time",
                [*differing, *ill],
            )
        words = (
            f"one of {len(ends)} machines was not well, and {len(again)} after it were: the host "
            "may be too busy to say"
        )
        return fail("W5", "unsteady_host", words, differing)
    if any(end.state is None for end in ends):
        return fail(
            "W5",
            "no_verdict",
            "the machine could not be examined: "
            f"{next(end.message for end in ends if end.state is None)}",
        )
    return keep("W5", {"machines": len(ends)})


async def _observe_once(environment: Environment, means: GateContext) -> Observation:
    return (await _play(environment, means, [Look()]))[-1]


async def check_odd_arguments(built: EnvironmentCase, means: GateContext) -> Finding:
    """Refused with a word, and nothing is different afterwards."""
    calls = [Call(name=SHELL.name, arguments=each) for each in ODD] + [
        Call(name="bash", arguments={"command": "true"})
    ]
    _, *replies, left = await _play(built.environment, means, [*map(Invoke, calls), Look()])
    if left.state is None:
        return fail("W6", "no_verdict", f"the machine could not be examined: {left.message}")
    for call, reply in zip(calls, replies, strict=True):
        if reply.outcome != "rejection" or not reply.message:
            return drop(
                "W6", "not_rejected", f"{call.name} {call.arguments} ended in {reply.outcome}"
            )
    if left.state != compose_state(built.environment.files, [], [], set()):
        return drop(
            "W6",
            "rejection_changes",
            "after calls that were refused the machine is another",
            left.state,
        )
    return keep("W6", {"calls": len(calls)})


async def _play(
    environment: Environment, means: GateContext, steps: Sequence[Step]
) -> list[Observation]:
    reset = Reset(compose_state(environment.files, [], [], set()), CLOCK, 0)
    return await means.sandbox.play(Program.of(environment), [reset, *steps])
