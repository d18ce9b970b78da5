"""Endings of a reference path: as it was drafted, and on another day with other ids for what is new."""

from dataclasses import replace

from envmill.drafting.loosening import find_loose, loosen_end, put_holes
from envmill.kinds.start import start, start_elsewhere
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.verifiers.compose import Composed, Run, compose_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Deed, Ending
from schemas.environment import Environment
from schemas.scenario import Draft


async def play_twice(draft: Draft, environment: Environment, sandbox: Sandbox) -> tuple[Ending, Ending] | None:
    """Here and elsewhere; None where a call of it is not taken."""
    endings = [await _play(draft, environment, sandbox, reset) for reset in (start(draft), start_elsewhere(draft))]
    here, elsewhere = endings
    return None if here is None or elsewhere is None else (here, elsewhere)


async def derive_verifier(draft: Draft, environment: Environment, here: Ending, elsewhere: Ending, sandbox: Sandbox) -> Composed:
    """What the reference path changed is what has to be achieved, but for texts that may be worded otherwise."""
    found = await find_loose(draft, environment, (here, elsewhere), sandbox)
    here = loosen_end(here, {path: each.token for each in found for path in each.here})
    elsewhere = loosen_end(elsewhere, {path: each.token for each in found for path in each.elsewhere})
    # The tokens of both runs are the same, wherever their rows are.
    composed = compose_verifier(draft, environment, _tell(here), _tell(elsewhere))
    return replace(composed, verifier=put_holes(composed.verifier, found))


async def _play(draft: Draft, environment: Environment, sandbox: Sandbox, reset: Reset) -> Ending | None:
    seen = await sandbox.play(Program.of(environment), [reset, *map(Invoke, draft.oracle), Look()])
    if any(step.outcome != "ok" for step in seen):
        return None
    deeds = [Deed.of(call, reply) for call, reply in zip(draft.oracle, seen[1:-1], strict=True)]
    return Ending(draft.initial_state, seen[-1].state, deeds, [draft.say] if draft.say else ())


def _tell(ending: Ending) -> Run:
    return Run(diff_states(ending.initial, ending.final), ending.deeds)
