"""S17: the user gives every hidden fact to an agent that asks for it, in any of its stored
wordings. The user keeps the fact from an agent that does not ask.

n hidden facts ─┬─ five wordings each, and every fact in a pair ─► answer ─► holds the values, or: withheld
                └─ questions for something else ─────────────────► answer ─► holds none of them, or: told_unasked
                   (6n conversations of one question at most, held side by side)
opening ──► what stands where the request has the value ──► reads as "you choose": a suspicion
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from envmill.agents.users.base import Person, UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.hearing import touches
from envmill.agents.users.missteps import states_value
from envmill.agents.users.model import ModelUser
from envmill.agents.users.scripted import ScriptedUser, render_value
from envmill.agents.users.wordings import FEWEST, list_wordings, list_written
from envmill.base.errors import Outage
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, fail, gather, pass_by, skip
from envmill.gates.exploring.trials import Trials
from envmill.language.delegation import list_delegations
from envmill.language.told import list_leaves
from envmill.language.words import split_words
from schemas.base import Json, canonical_json
from schemas.ledger import ReasonClass
from schemas.scenario import UserContract

GATE = "S17"
CODES: Mapping[str, ReasonClass] = {
    "withheld": "proof",
    "told_unasked": "proof",
    "reads_as_delegation": "suspicion",
}

_ELSE = ("Which tyres does your car have?", "How can I help you today?")
"""Questions about facts that hardly any scenario hides."""
_CODE = re.compile(r"(?=.*\d).{4,}")


@dataclass(frozen=True)
class _Probe:
    """One message to the user, the first of a conversation."""

    message: str
    asked: tuple[str, ...] = ()
    """Facts that the message asks for. The user must not tell any other hidden fact."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """With an account, the model that plays the user is asked. Without an account, the scripted
    user is asked, and the evidence says so."""
    knowledge = UserKnowledge.of(subject.scenario)
    contract = knowledge.contract
    if unknown := await _find_unknown(subject, means):
        words = f"the path needs {unknown!r}, which the request says and the user does not know"
        return drop(GATE, "withheld", words, {"value": unknown, "user": contract.model_dump()})
    hidden = [name for name in contract.hidden if name in contract.facts]
    if not hidden:
        return pass_by(GATE, "nothing_hidden", "nothing is told only when it is asked for")
    probes = means.choose(list(_list_probes(contract, hidden)))
    if not probes:
        return skip(GATE, "no_probe", "every question was asked in the repair loop")
    made = sum(max(0, FEWEST - len(list_written(contract, name))) for name in hidden)
    played = "model" if means.models else "scripted"
    findings = [] if means.probes == "sealed" else list(_list_opened(contract, hidden))
    findings += [] if means.probes == "sealed" else list(list_suspicions(subject, hidden))
    try:
        faults = await _find_faults(probes, knowledge, hidden, means)
        slips = list[Json]()
        if means.models:
            doubted = [probe for probe in probes if faults[probe]]
            second = await _find_faults(doubted, knowledge, hidden, means, attempt=1)
            slips = _drop_slips(faults, second)
    except Outage as error:
        return fail(GATE, "unreached", error.message)
    for probe in probes:
        findings += faults[probe]
    # Proofs come before suspicions.
    return gather(
        GATE,
        sorted(findings, key=lambda one: CODES[one.reason] != "proof"),
        {"user": played, "asked": len(probes), "made": made} | ({"slips": slips} if slips else {}),
    )


async def _find_faults(
    probes: Sequence[_Probe],
    knowledge: UserKnowledge,
    hidden: list[str],
    means: GateContext,
    attempt: int = 0,
) -> dict[_Probe, list[Finding]]:
    played = "model" if means.models else "scripted"
    answers = await _ask(probes, knowledge, means, attempt)
    return {
        probe: list(_judge(probe, answer, knowledge.contract, hidden, played))
        for probe, answer in zip(probes, answers, strict=True)
    }


def _drop_slips(
    faults: dict[_Probe, list[Finding]], second: Mapping[_Probe, list[Finding]]
) -> list[Json]:
    """Removes the faults of a first answer that the second answer to the same question does not
    have. A model that answers wrongly once says nothing about the scenario."""
    slips = list[Json]()
    for probe, again in second.items():
        known = {_name_fault(one) for one in again}
        slips += [one.evidence for one in faults[probe] if _name_fault(one) not in known]
        faults[probe] = [one for one in faults[probe] if _name_fault(one) in known]
    return slips


def _name_fault(found: Finding) -> tuple[str, str]:
    return found.reason, found.evidence["fact"]


async def _ask(
    probes: Sequence[_Probe], knowledge: UserKnowledge, means: GateContext, attempt: int
) -> list[UserAnswer]:
    """Runs one conversation for each probe, all at the same time. Each message is a request of its
    own, so the journal keeps each reply."""

    async def ask(probe: _Probe) -> UserAnswer:
        person: Person = (
            ModelUser(knowledge, means.models, attempt) if means.models else ScriptedUser(knowledge)
        )
        return await person.answer(
            [Utterance("user", knowledge.contract.opening), Utterance("agent", probe.message)]
        )

    answers = await asyncio.gather(*map(ask, probes), return_exceptions=True)
    # Raised only now: the other replies have been paid for and must be journalled first.
    if broken := next((one for one in answers if isinstance(one, BaseException)), None):
        raise broken
    return [one for one in answers if isinstance(one, UserAnswer)]


def _list_probes(contract: UserContract, hidden: list[str]) -> Iterator[_Probe]:
    """Probes for n hidden facts: five wordings of each fact, half as many pairs as facts, with each
    fact in one, and other questions up to 6n probes."""
    wordings = {name: list_wordings(contract, name)[:FEWEST] for name in hidden}
    for name, asked in wordings.items():
        yield from (_Probe(one, (name,)) for one in asked)
    pairs = (
        list(zip_longest(hidden[::2], hidden[1::2], fillvalue=hidden[0])) if len(hidden) > 1 else []
    )
    for place, (first, second) in enumerate(pairs):
        one, other = wordings[first][place % FEWEST], wordings[second][(place + 1) % FEWEST]
        yield _Probe(f"{one} {other}", (first, second))
    known = [name for name in contract.facts if name not in hidden]
    strange = [one for one in _ELSE if not any(touches(one, name) for name in contract.facts)]
    for place in range(len(hidden) - len(pairs)):
        asked = known[place : place + 1]
        words = [
            *(list_wordings(contract, name)[0] for name in asked),
            *(strange[place % len(strange) :][:1] if strange else ()),
        ]
        if words:
            yield _Probe(" ".join(words), tuple(asked))


def _judge(
    probe: _Probe, answer: UserAnswer, contract: UserContract, hidden: list[str], played: str
) -> Iterator[Finding]:
    seen: dict[str, Json] = {"user": played, "question": probe.message, "answer": answer.text}
    for name in hidden:
        value, told = contract.facts[name], _holds(contract.facts[name], answer.text)
        if name in probe.asked and not told:
            words = (
                f"{probe.message!r} asks for {name!r}, which is {value!r}; the user says "
                f"{answer.text!r}"
            )
            yield drop(GATE, "withheld", words, seen | {"fact": name})
        elif (
            name not in probe.asked
            and told
            and not _is_named(value, probe, contract)
            and not _is_in_another(name, probe)
        ):
            words = (
                f"{probe.message!r} does not ask for {name!r}; the user says {answer.text!r}, "
                f"which tells {value!r}"
            )
            yield drop(GATE, "told_unasked", words, seen | {"fact": name})


def _holds(value: Json, text: str) -> bool:
    """Every value in it, in any usual spelling."""
    return all(
        states_value(leaf, text) or states_value(render_value(leaf), text)
        for leaf in list_leaves(value)
    )


def _is_in_another(name: str, probe: _Probe) -> bool:
    """Whether the fact's name is part of the name of a requested fact: `clarinet`, and `clarinet to
    lend`. An agent that asks for one seems to ask for both, so the user may tell both."""
    words = set(split_words(name))
    return any(words <= set(split_words(asked)) for asked in probe.asked)


def _is_named(value: Json, probe: _Probe, contract: UserContract) -> bool:
    """Whether the requested facts, the opening or a fallback contain the value anyway."""
    others = [
        contract.opening,
        probe.message,
        *contract.fallbacks.values(),
        *(render_value(contract.facts[name]) for name in probe.asked),
    ]
    return any(_holds(value, text) for text in others)


async def _find_unknown(subject: ScenarioCase, means: GateContext) -> str:
    """A code, a date or a large number of the path that only the request contains. The user neither
    says nor knows it, and no earlier reply shows it."""
    scenario, contract = subject.scenario, subject.scenario.user
    if means.probes == "sealed" or scenario.parts or contract.opening == scenario.request:
        return ""
    known = [
        contract.opening,
        *contract.later,
        *contract.goals,
        subject.environment.policy_document,
    ]
    known += [render_value(value) for value in contract.facts.values()]
    needed = [
        (place, leaf)
        for place, call in enumerate(scenario.oracle)
        if call.actor == "agent"
        for leaf in list_leaves([*call.arguments.values()])
        if _CODE.fullmatch(str(leaf)) and _holds(leaf, scenario.request)
    ]
    lacking = [one for one in needed if not any(_holds(one[1], text) for text in known)]
    replies = (await Trials.of(subject, means).oracle())[0].replies if lacking else []
    shown = [canonical_json([*reply.parts]) for reply in replies]
    unknown = (
        str(leaf)
        for place, leaf in lacking
        if not any(_holds(leaf, text) for text in shown[:place])
    )
    return next(unknown, "")


def _list_opened(contract: UserContract, hidden: list[str]) -> Iterator[Finding]:
    """Codes, dates and large numbers that the opening gives away. A word or a small number may
    stand there for something else."""
    for name in hidden:
        value = contract.facts[name]
        if _CODE.fullmatch(str(value)) and _holds(value, contract.opening):
            words = f"the opening tells {name!r} ({value!r}), which is told only when asked for"
            yield drop(GATE, "told_unasked", words, {"fact": name, "opening": contract.opening})


def list_suspicions(subject: ScenarioCase, hidden: list[str]) -> Iterator[Finding]:
    scenario = subject.scenario
    facts = {name: scenario.user.facts[name] for name in hidden}
    for name, words in list_delegations(scenario.request, scenario.user.opening, facts):
        told = (
            f"where the request has {facts[name]!r} ({name}), the opening has {words!r}: may the "
            "agent choose, or must it ask?"
        )
        question = (
            f'A person writes: "{scenario.user.opening}" Do the words "{words}" leave the choice '
            "to the one who is asked?"
        )
        yield replace(
            drop(GATE, "reads_as_delegation", told, {"fact": name, "words": words}),
            question=question,
        )
