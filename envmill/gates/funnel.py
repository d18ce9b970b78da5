"""The funnel sifts rollouts in three steps and counts each. A rollout with refused calls that ends
right stays, because a trainee can learn recovery from it.

rollouts ─► validity: turns in order, no going round in circles ─► end state ─► functions, where the state says nothing ─► kept
"""

from collections import Counter
from collections.abc import Callable, Sequence

from envmill.gates.base import Finding, drop, keep, pass_by
from schemas.base import Json, canonical_json, is_object
from schemas.rollout import Rollout
from schemas.scenario import Scenario

VALIDITY, END_STATE, FUNCTIONS = "validity", "end_state", "function_match"
_GRAM, _AGAIN = 8, 4
"""Length of a run of words, and the number of repetitions from which a policy goes round in
circles."""
_CALLS = 5
"""Number of equal calls in a row that makes a rollout go round in circles."""


def sift(
    rollouts: Sequence[Rollout], scenario: Scenario
) -> tuple[list[Rollout], tuple[Finding, ...]]:
    """Rollouts that pass all three steps, and the result of each step. A rollout that ended in an
    outage is no candidate."""
    entered = [one for one in rollouts if one.outcome != "error"]
    if not entered:
        return [], ()
    sound, first = _step(VALIDITY, entered, find_malformed)
    writes = bool(scenario.verifier.goals)
    step, other = (END_STATE, FUNCTIONS) if writes else (FUNCTIONS, END_STATE)
    why = (
        "the end state says it all"
        if writes
        else "nothing is to be changed, so the state says nothing"
    )
    if not sound:
        return [], (first,)
    right, second = _step(
        step, sound, lambda one: "" if one.outcome == "pass" else one.reason or "failed"
    )
    return right, (first, second, pass_by(other, "not_this_polarity", why))


def _step(
    name: str, rollouts: Sequence[Rollout], find_fault: Callable[[Rollout], str]
) -> tuple[list[Rollout], Finding]:
    faults = {one.id: fault for one in rollouts if (fault := find_fault(one))}
    kept = [one for one in rollouts if one.id not in faults]
    recovered = sum(one.outcome == "pass" and has_refusal(one) for one in kept)
    evidence: Json = {
        "entered": len(rollouts),
        "kept": len(kept),
        "recovered": recovered,
        "dropped": faults,
    }
    if kept:
        return kept, keep(name, evidence)
    reasons = ", ".join(
        f"{reason} ({number})" for reason, number in Counter(faults.values()).most_common(3)
    )
    return kept, drop(name, "none_left", f"none of {len(rollouts)} rollouts: {reasons}", evidence)


def has_refusal(rollout: Rollout) -> bool:
    """Whether a call was refused on the way."""
    return any(
        one["role"] == "tool" and is_object(one["content"]) and not one["content"].get("ok", True)
        for one in rollout.transcript
    )


def find_malformed(rollout: Rollout) -> str:
    """The fault in the form of a rollout; empty if there is none."""
    return _find_disorder(rollout.transcript) or _find_circle(rollout.transcript)


def _find_disorder(transcript: Sequence[Json]) -> str:
    """Every call must have its reply before the next message, and no actor may speak twice in a
    row."""
    open_calls, speaker = set[str](), ""
    for entry in transcript:
        role = entry["role"]
        if role == "tool":
            if entry["tool_call_id"] not in open_calls:
                return "a reply without a call"
            open_calls.discard(entry["tool_call_id"])
        elif role in ("user", "assistant"):
            if open_calls:
                return "a call without a reply"
            if role == speaker:
                return "two turns of one speaker"
            open_calls = {call["id"] for call in entry.get("tool_calls", ())}
        speaker = role
    return "a call without a reply" if open_calls else ""


def _find_circle(transcript: Sequence[Json]) -> str:
    said = [entry for entry in transcript if entry["role"] == "assistant"]
    grams = Counter(gram for entry in said for gram in _list_grams(str(entry.get("content") or "")))
    if grams and max(grams.values()) >= _AGAIN:
        return "the same words again and again"
    calls = [
        canonical_json([call["name"], call["arguments"]])
        for entry in said
        for call in entry.get("tool_calls", ())
    ]
    runs = (set(calls[start : start + _CALLS]) for start in range(len(calls) - _CALLS + 1))
    return "the same call again and again" if any(len(run) == 1 for run in runs) else ""


def _list_grams(text: str) -> list[tuple[str, ...]]:
    words = text.casefold().split()
    return [tuple(words[start : start + _GRAM]) for start in range(len(words) - _GRAM + 1)]
