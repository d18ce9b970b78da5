"""S12: each component has a criterion, and each criterion counts: at least one end makes it false.

ends: nothing, mutants, steps left out, tampering, attacks, deeds put into the right path ─► criteria never false ─► vacuous
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, gather, mark
from envmill.gates.exploring.attempts import pick
from envmill.gates.exploring.equivalence import is_exempt
from envmill.gates.exploring.trials import Trials
from envmill.gates.reading.column_policies import find_exempt_wish, list_altered, list_chance
from envmill.gates.reading.known_values import list_leaves
from envmill.gates.s3 import plan_omissions
from envmill.gates.s4 import list_mutants
from envmill.gates.s5 import judge_tampered
from envmill.kinds import kind_of
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.pattern import ANY, EXEMPT, FILLED, NEAR, ROW, TEXT, WORDS
from schemas.base import Json, is_array, is_object
from schemas.environment import Call
from schemas.ledger import ReasonClass
from schemas.rollout import Verdict
from schemas.scenario import LEFT_ALONE, CallPattern, Check, Predicate, Scenario, Verifier

GATE = "S12"
CODES: Mapping[str, ReasonClass] = {
    "no_goal": "proof",
    "no_criterion": "proof",
    "unknown_tool": "proof",
    "unasked_column": "proof",
    "unheeded_clause": "proof",
    "vacuous_criterion": "proof",
    "exempt_wish": "suspicion",
    "weighs_too_much": "suspicion",
    "undemanded_fact": "suspicion",
}

MOST_WEIGHT = 0.25
"""Maximal share of one goal or fact if there are four or more."""
_SAMPLES: dict[str, Json] = {
    "string": "x",
    "number": 1,
    "boolean": True,
    "null": None,
    "array": [],
    "object": {},
}

_ASKED = re.compile(
    r"(?i)\?|\b(?:tell|told|let (?:me|us|them|him|her) know|say|confirm|report|answer|write back|"
    r"send|name|explain"
    r"|which|what|how|who|when|where)\b"
)
"""Words with which a user asks to be told something."""

Criterion = tuple[str, str]
"""Component and name."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Checks the verifier's text first, then all ends, because a criterion counts as soon as one
    end makes it false."""
    scenario = subject.scenario
    parts: Json = scenario.verifier.model_dump(exclude={"frame"})
    if fault := find_lack(scenario) or find_stranger(subject):
        return drop(GATE, *fault, {"polarity": scenario.polarity, "verifier": parts})
    suspicions = [
        replace(
            drop(GATE, *fault, {"verifier": parts}),
            question=f"Is it wrong that so much of the reward rests on one part: {fault[1]}?",
        )
        for fault in [find_weight(scenario.verifier)]
        if fault
    ]
    tables, tabled = subject.environment.tables, kind_of(subject.environment).tabled
    right = (await Trials.of(subject, means).oracle())[0].ending if scenario.oracle else None
    if right and (unheeded := await find_unheeded(subject, means, right)):
        words = f"nothing of the verifier notices that {unheeded[0][0]} is broken: {unheeded[0][1]}"
        return drop(GATE, "unheeded_clause", words, [list(one) for one in unheeded])
    right = right if tabled else None
    if right and (fault := find_exempt_wish(tables, scenario, right)):
        asked = f"Does the request ask for this, so that another value would be wrong: {fault[1]}?"
        suspicions.append(
            replace(drop(GATE, *fault, [table.model_dump() for table in tables]), question=asked)
        )
    if right and (unasked := await find_unasked(subject, means, right)):
        place, sealed = unasked
        words = f"it passes although {place} is another value than the reference path wrote"
        return mark(drop(GATE, "unasked_column", words, place), sealed)
    wanted = list_criteria(scenario.verifier)
    counted: dict[Criterion, str] = {}
    async for what, verdict in list_ends(subject, replace(means, probes="all")):
        for criterion in list_false(verdict):
            counted.setdefault(criterion, what)
        if wanted <= counted.keys():
            break
    vacuous = sorted(wanted - counted.keys())
    evidence: Json = {
        "vacuous": vacuous,
        "false_at": {" ".join(each): counted[each] for each in sorted(wanted & counted.keys())},
    }
    if chance := list_chance(tables, scenario.verifier):
        evidence["hard_by_chance"] = chance
    found = [*suspicions, *list_undemanded(subject)]
    if vacuous:
        words = f"{vacuous[0][0]} {vacuous[0][1]!r} is true at every end that was played"
        found.insert(0, drop(GATE, "vacuous_criterion", words, evidence))
    return gather(GATE, found, evidence)


def list_undemanded(subject: ScenarioCase) -> Iterator[Finding]:
    """Facts that neither the request nor the policy document seems to ask for. Under `achieve`: all
    facts, if no text asks for an answer. Under `refuse`: the texts of records."""
    scenario, policy = subject.scenario, subject.environment.policy_document
    if scenario.polarity == "achieve":
        facts = [] if _ASKED.search(f"{scenario.request}\n{policy}") else scenario.verifier.facts
    else:
        texts = {
            leaf
            for leaf in list_leaves(scenario.initial_state)
            if isinstance(leaf, str) and " " in leaf
        }
        facts = [
            fact
            for fact in scenario.verifier.facts
            if scenario.polarity == "refuse" and fact.kind == "text" and fact.value in texts
        ]
    for fact in facts:
        words = f"the verifier demands that the user is told {fact.value!r} ({fact.name})"
        told = f"telling the user {fact.value!r} ({fact.name})"
        question = (
            "Can the agent meet the request, the rules and the policy document in full without "
            f"{told}?"
        )
        yield replace(drop(GATE, "undemanded_fact", words, fact.model_dump()), question=question)


async def find_unheeded(
    subject: ScenarioCase, means: GateContext, right: Ending
) -> list[tuple[str, str]]:
    """Rules of the policy, each with a breach that passes, or that only other rules refuse."""
    environment, scenario = subject.environment, subject.scenario
    trials, found = Trials.of(subject, means), dict[str, str]()
    for breach in kind_of(environment).list_breaches(environment, scenario, right):
        verdict = await trials.judge(breach.ending)
        named = {name for _, name in list_false(verdict)} - breach.others
        if verdict.outcome == "pass" or not named:
            found.setdefault(breach.rule, breach.what)
    return list(found.items())


async def find_unasked(
    subject: ScenarioCase, means: GateContext, right: Ending
) -> tuple[str, bool] | None:
    """A place that the reference path wrote and where any value passes, and whether the probe is
    sealed. Exempt columns do not count."""
    trials = Trials.of(subject, means)
    other = (await trials.elsewhere()).ending
    verifier = subject.scenario.verifier
    altered = list(list_altered(subject.environment.tables, right, other)) if other else []
    asked = [
        (place, final) for place, final in altered if not is_exempt((), place.split("."), verifier)
    ]
    for (place, final), sealed in sorted(means.deal(asked), key=lambda probe: probe[1]):
        if (await trials.judge(replace(right, final=final))).outcome == "pass":
            return place, sealed
    return None


def find_lack(scenario: Scenario) -> tuple[str, str] | None:
    """(reason code, words) if a component that the polarity rests on has no criterion."""
    verifier, polarity = scenario.verifier, scenario.polarity
    if not verifier.goals and not verifier.facts:
        return "no_goal", "The verifier has neither a goal nor a fact: nothing has to become true."
    if polarity == "achieve" and not verifier.goals:
        return "no_criterion", "Something is to be achieved, and no goal says what."
    if polarity != "achieve" and not verifier.facts:
        return (
            "no_criterion",
            f"To {polarity} is right here, and no fact has to be told: saying nothing would do.",
        )
    if polarity in LEFT_ALONE and not verifier.procedure and not verifier.goals:
        return (
            "no_criterion",
            f"To {polarity} is right here, and nothing has to be looked at first: a guess would "
            "do.",
        )
    return None


def find_weight(verifier: Verifier) -> tuple[str, str] | None:
    """(reason code, words) if one goal or fact weighs too much."""
    parts = [*verifier.goals, *verifier.facts]
    heaviest = max(parts, key=lambda each: each.weight)
    share = heaviest.weight / sum(each.weight for each in parts)
    if len(parts) >= 4 and share > MOST_WEIGHT + 1e-9:
        return (
            "weighs_too_much",
            f"{heaviest.name!r} weighs {share:.2f} of all, more than {MOST_WEIGHT}",
        )
    return None


def find_stranger(subject: ScenarioCase) -> tuple[str, str] | None:
    """(reason code, words) when a predicate is about a tool that is not there: it can never be
    broken, or never be kept."""
    tools, verifier = {tool.name for tool in subject.environment.tools}, subject.scenario.verifier
    for predicate in (*verifier.procedure, *verifier.harm):
        for pattern in (predicate.call, predicate.first, *predicate.refused):
            if pattern and pattern.name and pattern.name not in tools:
                return (
                    "unknown_tool",
                    f"{predicate.name!r} is about {pattern.name}, which is no tool of the "
                    "environment",
                )
    return None


def list_criteria(verifier: Verifier) -> set[Criterion]:
    named = {
        "goals": verifier.goals,
        "guards": verifier.guards,
        "procedure": verifier.procedure,
        "facts": verifier.facts,
        "harm": verifier.harm,
    }
    return {(component, each.name) for component, criteria in named.items() for each in criteria}


def list_false(verdict: Verdict) -> Iterator[Criterion]:
    """Criteria a verdict found false."""
    for entry in verdict.evidence:
        if is_object(entry):
            yield str(entry.get("component")), str(entry.get("name"))


async def list_ends(
    subject: ScenarioCase, means: GateContext
) -> AsyncIterator[tuple[str, Verdict]]:
    """Ends that were played anyway, then ends made for the purpose."""
    trials, scenario = Trials.of(subject, means), subject.scenario
    nothing = await trials.nothing()
    yield "nothing was done", nothing.verdict
    base = nothing.ending
    if scenario.oracle:
        base = (await trials.oracle())[0].ending or base
        omissions = pick(plan_omissions(subject), means)
        played = await trials.once(f"{means.probes} omissions", lambda: trials.play(omissions))
        for attempt, trial in zip(omissions, played, strict=True):
            yield f"without {attempt.label}", trial.verdict
        for mutant in await list_mutants(subject, means):
            yield mutant.attempt.label, mutant.trial.verdict
        for tampering, verdict in await judge_tampered(subject, means):
            yield tampering.what, verdict
    if base:
        for what, ending in make_ends(scenario.verifier, base):
            yield what, await trials.judge(ending)
    for name, attacks in (await trials.attacks()).items():
        for trial in attacks:
            # Attacks are judged in brief; here every failed criterion is needed.
            yield name, await trials.judge(trial.ending) if trial.ending else trial.verdict


def make_ends(verifier: Verifier, base: Ending) -> Iterator[tuple[str, Ending]]:
    """Ends that break one criterion: the place of a guard changed, a forbidden call made, or a call
    made too often or too early."""
    for guard in verifier.guards:
        if guard.op != "generated":
            yield (
                f"{'.'.join(guard.path)} is another value",
                replace(base, final=overwrite(base.final, guard)),
            )
    for predicate in (*verifier.harm, *verifier.procedure):
        yield (
            f"{predicate.call.name} against {predicate.name!r}",
            replace(base, deeds=break_predicate(predicate, base)),
        )


def break_predicate(predicate: Predicate, base: Ending) -> list[CompletedCall]:
    """The deeds, so that the predicate does not hold."""
    deed = CompletedCall(make_call(predicate.call), "ok")
    if predicate.op in ("forbidden", "at_most"):
        return [*base.deeds, *[deed] * (predicate.most + 1)]
    if predicate.op == "only":
        return [
            *base.deeds,
            CompletedCall(Call(name=predicate.call.name, actor=predicate.call.actor), "ok"),
        ]
    if predicate.op == "after":
        ended = [CompletedCall(make_call(predicate.first), "ok")] if predicate.first else []
        return [*base.deeds, *ended, deed]
    # A call before anything was said is one without a yes.
    return [deed] if predicate.op in ("before", "agreed") else []


def make_call(pattern: CallPattern) -> Call:
    """A call the pattern is about."""
    return Call(
        name=pattern.name,
        arguments={name: fill(value) for name, value in pattern.arguments.items()},
        actor=pattern.actor,
    )


def fill(pattern: Json) -> Json:
    """A value that fits a pattern."""
    if is_object(pattern):
        if pattern.keys() == {ANY}:
            return _SAMPLES.get(str(pattern[ANY]))
        if pattern.keys() in ({EXEMPT}, {TEXT}, {NEAR}):
            return pattern.get(TEXT, pattern.get(NEAR, [None])[0])
        if pattern.keys() in ({WORDS}, {FILLED}):
            return pattern.get(WORDS, ["x"])[0]
        return (
            "x"
            if pattern.keys() == {ROW}
            else {name: fill(value) for name, value in pattern.items()}
        )
    return [fill(one) for one in pattern] if is_array(pattern) else pattern


def overwrite(state: Json, condition: Check) -> Json:
    """The state with another content at a condition's place: a value if the condition wants none,
    no value if it wants one."""
    return _set(state, condition.path, "touched" if condition.op == "absent" else None)


def _set(state: Json, path: list[str], value: Json) -> Json:
    rows: Mapping[str, Json] = state if is_object(state) else {}
    first, *rest = path
    return {**rows, first: _set(rows.get(first), rest, value) if rest else value}
