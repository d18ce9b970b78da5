"""S3: every step counts: the oracle loses without any one write, required read or fact, and without
any one of its changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, mark, pass_by, skip
from envmill.gates.exploring.attempts import misstate_questions, pick
from envmill.gates.exploring.equivalence import is_exempt
from envmill.gates.exploring.trials import Attempt, Trials, list_writes
from envmill.gates.reading.known_values import list_leaves
from envmill.verifiers.diff import apply_changes, diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.pattern import fits
from schemas.base import Json
from schemas.environment import Call
from schemas.ledger import ReasonClass
from schemas.rollout import Verdict
from schemas.scenario import CallPattern, Change, Fact

GATE = "S3"
CODES: Mapping[str, ReasonClass] = {
    "superfluous_*": "proof",
    "unseen_change": "proof",
}


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Plays the oracle once for each step left out."""
    scenario = subject.scenario
    if not scenario.oracle:
        return skip(GATE, "no_oracle", "There is no reference path to leave steps out of.")
    if not plan_omissions(subject):
        return pass_by(
            GATE,
            "nothing_to_leave_out",
            "The reference path has no write, no required read and no fact.",
        )
    played = await leave_out_each(subject, means)
    needless = sorted(
        (attempt for attempt, lost in played if not lost), key=lambda attempt: attempt.sealed
    )
    if needless:
        kind = needless[0].label.split(" ", 1)[0]
        told: list[Json] = [
            {"without": each.label, "calls": [call.model_dump() for call in each.calls]}
            for each in needless
        ]
        finding = drop(GATE, f"superfluous_{kind}", f"it passes without {needless[0].label}", told)
        return mark(finding, needless[0].sealed)
    undone = means.deal(await judge_undone(Trials.of(subject, means)))
    if unseen := sorted(
        ((change, sealed) for (change, verdict), sealed in undone if verdict.outcome == "pass"),
        key=lambda one: one[1],
    ):
        change, sealed = unseen[0]
        words = f"it passes although {'.'.join(change.path)} is as it was at the start"
        return mark(
            drop(GATE, "unseen_change", words, [each.model_dump() for each, _ in unseen]), sealed
        )
    left_out = [attempt.label for attempt, _ in played]
    return keep(
        GATE,
        {
            "left_out": left_out,
            "undone": len(undone),
            "idle_reads": await list_idle_reads(subject, means),
        },
    )


async def leave_out_each(subject: ScenarioCase, means: GateContext) -> list[tuple[Attempt, bool]]:
    """Each shortened path, and whether it lost."""
    trials, attempts = Trials.of(subject, means), pick(plan_omissions(subject), means)
    played = await trials.once(f"{means.probes} omissions", lambda: trials.play(attempts))
    return [
        (attempt, trial.verdict.outcome != "pass")
        for attempt, trial in zip(attempts, played, strict=True)
    ]


async def judge_undone(trials: Trials) -> list[tuple[Change, Verdict]]:
    """Judges the right end with one of its changes undone. If a step makes two changes, leaving the
    step out shows only that one of them is required.

    Changes that depend on chance are left out, because no request can ask for them.
    """
    right, other = (await trials.oracle())[0].ending, (await trials.elsewhere()).ending
    if right is None or other is None:
        return []
    changes, elsewhere = (
        diff_states(right.initial, right.final),
        diff_states(other.initial, other.final),
    )
    made = {tuple(change.path[:-1]) for change in elsewhere if change.op == "add"}
    sure = [
        one
        for one in changes
        if len(one.path) > 1
        and (one in elsewhere or (one.op == "add" and tuple(one.path[:-1]) in made))
    ]
    sure = [
        one
        for one in sure
        if not is_exempt(trials.environment.tables, one.path, trials.scenario.verifier)
    ]
    ends = [
        apply_changes(right.initial, [each for each in changes if each is not change])
        for change in sure
    ]
    return [
        (change, await trials.judge(replace(right, final=end)))
        for change, end in zip(sure, ends, strict=True)
    ]


def plan_omissions(subject: ScenarioCase) -> list[Attempt]:
    """Attempts that leave out one write, one required read, or one fact."""
    oracle, said = subject.scenario.oracle, Ending.list_words(subject.scenario)
    writes = list_writes(subject)
    required = [
        place
        for place, call in enumerate(oracle)
        if place not in writes and is_required(subject, call)
    ]
    calls = [
        Attempt(
            f"{'write' if place in writes else 'read'} {oracle[place].name}",
            tuple(leave_out(oracle, oracle[place])),
            said,
            place=place,
        )
        for place in sorted({*writes, *required})
    ]
    return calls + [
        Attempt(
            f"fact {fact.name}",
            misstate_questions(oracle, fact, "…"),
            render_without(subject.scenario.verifier.facts, fact),
        )
        for fact in subject.scenario.verifier.facts
    ]


def leave_out(oracle: Sequence[Call], call: Call) -> list[Call]:
    """The path without this call, however often it is made."""
    return [
        each
        for each in oracle
        if (each.name, each.arguments, each.actor) != (call.name, call.arguments, call.actor)
    ]


def is_required(subject: ScenarioCase, call: Call) -> bool:
    """Whether the procedure names a call like this one. A call that must come before a call that
    the path does not make is not required."""
    predicates, oracle = subject.scenario.verifier.procedure, subject.scenario.oracle
    patterns = [each.call for each in predicates if each.op == "required"]
    patterns += [
        each.first
        for each in predicates
        if each.first and any(is_like(made, each.call) for made in oracle)
    ]
    return any(is_like(call, pattern) for pattern in patterns)


def is_like(call: Call, pattern: CallPattern) -> bool:
    """Whether a call matches a pattern."""
    return call.name == pattern.name and all(
        name in call.arguments and fits(call.arguments[name], value, {})
        for name, value in pattern.arguments.items()
    )


def render_without(facts: Sequence[Fact], silent: Fact) -> list[str]:
    """The other facts in plain words; nothing at all when there are none."""
    others = [f"{fact.value}." for fact in facts if fact is not silent]
    return [" ".join(others)] if others else []


async def list_idle_reads(subject: ScenarioCase, means: GateContext) -> list[str]:
    """Reads whose reply contains nothing that a later call or the last words use. They are
    reported, but do not count against the scenario."""
    (trial, *_), oracle = await Trials.of(subject, means).oracle(), subject.scenario.oracle
    writes, idle = list_writes(subject), list[str]()
    for place, reply in enumerate(trial.replies):
        later = [value for call in oracle[place + 1 :] for value in list_leaves(call.arguments)]
        wanted = {
            str(value).casefold()
            for value in (*later, *(fact.value for fact in subject.scenario.verifier.facts))
        }
        given = {str(value).casefold() for part in reply.parts for value in list_leaves(part)}
        if place not in writes and not wanted & given:
            idle.append(oracle[place].name)
    return idle
