"""Endings of a reference path: as it was drafted, and on another day with other ids for what is new."""

from dataclasses import replace

from envmill.kinds.loosening import find_loose, loosen, loosen_end
from envmill.kinds.start import start, start_elsewhere
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.compose import ComposedVerifier, OracleRun, compose_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from schemas.base import canonical_json
from schemas.environment import Environment
from schemas.scenario import Draft


async def play_twice(draft: Draft, environment: Environment, sandbox: Sandbox) -> tuple[Ending, Ending] | str:
    """Here and elsewhere; where a call of it is not taken, words for the author: which call, when, and what came of it."""
    here = await _play(draft, environment, sandbox, start(draft))
    if isinstance(here, str):
        return f"the reference path does not run: {here}"
    elsewhere = await _play(draft, environment, sandbox, start_elsewhere(draft))
    if isinstance(elsewhere, str):
        return f"the reference path does not run again under another seed and clock, where new records have other ids: {elsewhere}"
    return here, elsewhere


async def derive_verifier(
    draft: Draft, environment: Environment, here: Ending, elsewhere: Ending, sandbox: Sandbox, *, masks: bool = False
) -> ComposedVerifier:
    """What the reference path changed is what has to be achieved, but for texts that may be worded otherwise. `masks` as in
    `compose_verifier`."""
    found = await find_loose(draft, environment, (here, elsewhere), sandbox)
    here = loosen_end(here, {path: each.token for each in found for path in each.here})
    elsewhere = loosen_end(elsewhere, {path: each.token for each in found for path in each.elsewhere})
    # The tokens of both runs are the same, wherever their rows are.
    composed = compose_verifier(draft, environment, _describe(here), _describe(elsewhere), masks=masks)
    return replace(composed, verifier=loosen(composed.verifier, found))


async def _play(draft: Draft, environment: Environment, sandbox: Sandbox, reset: Reset) -> Ending | str:
    seen = await sandbox.play(Program.of(environment), [reset, *map(Invoke, draft.oracle), Look()])
    for index, (call, step) in enumerate(zip(draft.oracle, seen[1:], strict=False)):
        if step.outcome != "ok":
            return f"call {index}, {call.name}({canonical_json(call.arguments)}), comes to {_describe_fault(step)}"
    if broken := [step for step in (seen[0], seen[-1]) if step.outcome != "ok"]:
        return f"the program cannot start or be read: {_describe_fault(broken[0])}"
    deeds = [CompletedCall.of(call, reply) for call, reply in zip(draft.oracle, seen[1:-1], strict=True)]
    return Ending(draft.initial_state, seen[-1].state, deeds, [draft.say] if draft.say else ())


def _describe_fault(step: Observation) -> str:
    return f"{step.outcome} {step.code}: {step.message}"


def _describe(ending: Ending) -> OracleRun:
    return OracleRun(diff_states(ending.initial, ending.final), ending.deeds)
