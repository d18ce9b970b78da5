"""A reference path that was walked, judged: everything that is wrong with a scenario, so that its
author learns of all of it at once.

initial state kept? ─► every call done? ─► something achieved, or left alone? ─► words that say it ─► a person who knows it
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from envmill.base.errors import BuildError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.state import find_state_faults
from envmill.kinds.endings import list_keys
from envmill.recipes.drafting.contract import find_contract_faults
from envmill.runtime.results import list_pointers, read_reply
from envmill.sandbox import Observation
from envmill.sandbox.results import BadReference, find_result
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.facts import check_fact, find_shortfall
from envmill.verifiers.procedure import is_meant
from schemas.prompts import ScenarioReply

SOURCE = "oracle"
_ENDS = {"rejection": "was rejected", "failure": "failed"}


def list_complaints(
    reply: ScenarioReply,
    begun: Observation,
    kept: Observation,
    seen: Sequence[Observation],
    *,
    results: bool = True,
) -> tuple[Complaint, ...]:
    """`seen` holds an observation for each call of the path, and the end read back. Where no
    session starts, nothing else is known.
    With `results`, a call that was refused for an id that it cannot know is told of the reference
    form."""
    if begun.outcome != "ok":
        words = f"constructing the state ended in {begun.outcome} ({begun.code}: {begun.message})"
        return (Complaint(SOURCE, f"oracle_{begun.outcome}", words),)
    state = find_state_faults(reply.initial_state, kept.state) if kept.outcome == "ok" else []
    complaints = [Complaint(SOURCE, code, words) for code, words in state]
    complaints += _list_broken(reply, seen, results)
    complaints += [Complaint(SOURCE, code, words) for code, words in _list_words(reply)]
    complaints += [
        Complaint("contract", code, words) for code, words in find_contract_faults(reply)
    ]
    if not state and not any(step.outcome != "ok" for step in (kept, *seen)):
        complaints += [
            Complaint(SOURCE, code, words) for code, words in _list_idle(reply, kept, seen)
        ]
    return tuple(complaints)


def list_bad_references(
    reply: ScenarioReply, found: Sequence[BadReference]
) -> tuple[Complaint, ...]:
    """References that no session can fill: the path is not run."""
    return tuple(
        Complaint(
            SOURCE,
            "bad_reference",
            f"the reference at {bad.reference.into} cannot be filled: {bad.words}",
            index=bad.number,
            tool=reply.oracle[bad.number - 1].name,
            arguments=reply.oracle[bad.number - 1].arguments,
            contract='A reference is {"from": number of an earlier call, counted from 1, "path": JSON '
            "pointer into its reply}.",
        )
        for bad in found
    )


def _list_broken(
    reply: ScenarioReply, seen: Sequence[Observation], results: bool
) -> Iterator[Complaint]:
    """Calls that did not go through; those after a refused one may only be refused for its sake,
    and are told all the same."""
    for number, (call, step) in enumerate(zip(reply.oracle, seen, strict=False), 1):
        if step.outcome != "ok":
            yield Complaint(
                SOURCE,
                f"oracle_{step.outcome}",
                f"{_ENDS.get(step.outcome, step.outcome)} ({step.code}: {step.message})",
                index=number,
                tool=call.name,
                arguments=call.arguments,
                contract=" ".join(
                    [
                        "Every call of a reference path must succeed.",
                        *(_list_meant(reply, number, seen) if results else ()),
                    ]
                ),
            )
    if seen[-1].outcome != "ok":
        yield Complaint(
            SOURCE,
            f"oracle_{seen[-1].outcome}",
            f"reading the state back ended in {seen[-1].code}: {seen[-1].message}",
        )


def _list_meant(reply: ScenarioReply, number: int, seen: Sequence[Observation]) -> Iterator[str]:
    """References that a refused call may have lacked: for each text that is no id of the initial
    state and looks like one that an earlier
    call made."""
    old, replies = (
        list_keys(reply.initial_state),
        [read_reply(step.parts) for step in seen[: number - 1]],
    )
    made = list_keys(seen[-1].state) - old
    for _, value in list_pointers(reply.oracle[number - 1].arguments):
        if not isinstance(value, str) or value in old:
            continue
        alike = (
            found
            for key in sorted(made)
            if _outline(key) == _outline(value) and (found := find_result(key, replies))
        )
        if meant := next(alike, None):
            yield (
                f"If {value!r} is to be the record that call {meant.call} makes, write "
                f'{{"from": {meant.call}, "path": "{meant.path}"}} in its place: its id is '
                "another one in every session."
            )


def _outline(key: str) -> str:
    """What is the same in all ids of one sort."""
    return re.sub(r"[0-9a-f]{4,}|\d+", "#", key.casefold())


def _list_words(reply: ScenarioReply) -> Iterator[tuple[str, str]]:
    """What the reply alone shows."""
    if reply.polarity != "achieve" and not reply.tell:
        yield (
            "nothing_told",
            f"to {reply.polarity} shows in what is said, and nothing has to be said",
        )
    for number, call in enumerate(reply.oracle, 1):
        if any(is_meant(pattern, CompletedCall(call, "ok"), {}) for pattern in reply.avoid):
            yield (
                "oracle_harms",
                f"call {number} of the oracle is one that `avoid` lists: {call.name} "
                f"{call.arguments}",
            )
    for fact in reply.tell:
        try:
            check_fact(fact)
        except BuildError as error:
            yield "bad_fact", error.message
            continue
        if (shortfall := find_shortfall(fact, [reply.say])) is not None:
            yield (
                "oracle_silent",
                f"the last words do not communicate {fact.name!r} ({fact.kind} {fact.value!r}): "
                f"{shortfall}",
            )


def _list_idle(
    reply: ScenarioReply, kept: Observation, seen: Sequence[Observation]
) -> Iterator[tuple[str, str]]:
    """What a path that went through achieved. Where the user acts as well, something must be left
    to the agent: an agent that asks the
    user for everything needs to understand nothing."""
    made = diff_states(reply.initial_state, seen[-1].state)
    if reply.polarity == "achieve" and not made:
        yield "oracle_idle", "the oracle changes nothing, so there is nothing to achieve"
    if reply.polarity != "achieve" and made:
        yield (
            "oracle_acts",
            f"to {reply.polarity} leaves everything as it is, and the oracle changes "
            f"{'.'.join(made[0].path)}",
        )
    steps = zip(reply.oracle, pairwise([kept, *seen]), strict=False)
    changed = {
        call.actor for call, (before, after) in steps if before.state_hash != after.state_hash
    }
    if changed and "agent" not in changed:
        yield (
            "agent_idle",
            f"every change is made by {' and '.join(sorted(changed))}, and none by the agent",
        )
