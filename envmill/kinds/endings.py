"""Endings of a reference path: as it was drafted, and on another day with other ids for what is
new."""

from dataclasses import replace

from envmill.kinds.loosening import find_loose, loosen, loosen_end
from envmill.kinds.ordering import find_numbered
from envmill.kinds.start import start, start_elsewhere
from envmill.runtime.results import list_pointers, read_reply
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.sandbox.results import find_result, settle
from envmill.verifiers.compose import ComposedVerifier, OracleRun, compose_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from schemas.base import Json, canonical_json, is_object
from schemas.environment import Environment
from schemas.scenario import Draft


async def play_twice(
    draft: Draft, environment: Environment, sandbox: Sandbox
) -> tuple[Ending, Ending] | str:
    """Here and elsewhere; where a call of it is not taken, words for the author: which call, when,
    and what came of it."""
    here = await _play(draft, environment, sandbox, start(draft))
    if isinstance(here, str):
        return f"the reference path does not run: {here}"
    elsewhere = await _play(draft, environment, sandbox, start_elsewhere(draft))
    if isinstance(elsewhere, str):
        stale = list_stale(draft, here, None)
        again = (
            "the reference path does not run again under another seed and clock, where new "
            "records have other ids"
        )
        return ". ".join([f"{again}: {elsewhere}", *stale])
    if stale := list_stale(draft, here, elsewhere):
        return (
            "the reference path means something else under another seed and clock. "
            f"{'. '.join(stale)}"
        )
    return here, elsewhere


def list_stale(draft: Draft, here: Ending, elsewhere: Ending | None) -> list[str]:
    """Ids that the path writes down though a call of it makes them: words for the author, with the
    reference that mends each.

    Such an id is a text that names a record at the end here and no record at the start. Where the
    path also runs elsewhere, only an id
    counts that no record bears there: a key that somebody chose is the same in both runs.
    """
    old, new = list_keys(draft.initial_state), list_keys(here.final)
    made = new - old - (list_keys(elsewhere.final) if elsewhere else set())
    replies, told = [read_reply(deed.parts) for deed in here.deeds], list[str]()
    for place, call in enumerate(draft.oracle):
        filled = {use.into for use in call.uses}
        for pointer, value in list_pointers(call.arguments):
            if pointer in filled or not isinstance(value, str) or value not in made:
                continue
            if found := find_result(value, replies[:place]):
                reference = canonical_json({"from": found.call, "path": found.path})
                mend = (
                    f"Write the reference {reference} instead"
                    if draft.chain is None
                    else "Take it from the step that makes the record"
                )
                told.append(
                    f"Call {place + 1}, {call.name}, has {canonical_json(value)} at {pointer}: "
                    "the id of a record that the path itself "
                    f"makes, which has another id in another session. {mend}"
                )
    return told


def list_keys(state: Json) -> set[str]:
    """Ids of all records of a state."""
    return (
        {key for rows in state.values() if is_object(rows) for key in rows}
        if is_object(state)
        else set()
    )


async def derive_verifier(
    draft: Draft,
    environment: Environment,
    here: Ending,
    elsewhere: Ending,
    sandbox: Sandbox,
    *,
    masks: bool = False,
) -> ComposedVerifier:
    """What the reference path changed is what has to be achieved. Left open are texts that may be
    worded otherwise, and references that depend on the order of the changes. For `masks` see
    `compose_verifier`."""
    found = await find_loose(draft, environment, (here, elsewhere), sandbox)
    found += await find_numbered(draft, environment, (here, elsewhere), sandbox)
    here = loosen_end(here, {path: each.token for each in found for path in each.here})
    elsewhere = loosen_end(
        elsewhere, {path: each.token for each in found for path in each.elsewhere}
    )
    # The tokens of both runs are the same, wherever their rows are.
    composed = compose_verifier(
        draft, environment, _describe(here), _describe(elsewhere), masks=masks
    )
    return replace(composed, verifier=loosen(composed.verifier, found))


async def _play(
    draft: Draft, environment: Environment, sandbox: Sandbox, reset: Reset
) -> Ending | str:
    seen = await sandbox.play(Program.of(environment), [reset, *map(Invoke, draft.oracle), Look()])
    for number, (call, step) in enumerate(zip(draft.oracle, seen[1:], strict=False), 1):
        if step.outcome != "ok":
            return (
                f"call {number}, {call.name}({canonical_json(call.arguments)}), comes to "
                f"{_describe_fault(step)}"
            )
    if broken := [step for step in (seen[0], seen[-1]) if step.outcome != "ok"]:
        return f"the program cannot start or be read: {_describe_fault(broken[0])}"
    made = settle(draft.oracle, seen[1:-1])
    deeds = [CompletedCall.of(call, reply) for call, reply in zip(made, seen[1:-1], strict=True)]
    said = Ending.list_words(draft)
    ended = Ending.find_ended(draft, said)
    deeds, said, answers = Ending.ask_along(deeds, said)
    return Ending(draft.initial_state, seen[-1].state, deeds, said, ended=ended, answers=answers)


def _describe_fault(step: Observation) -> str:
    return f"{step.outcome} {step.code}: {step.message}"


def _describe(ending: Ending) -> OracleRun:
    return OracleRun(diff_states(ending.initial, ending.final), ending.deeds)
