"""S9: no leak: the request names no tool, no hidden id, no expected value and no field of the
state."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, gather
from envmill.gates.exploring.equivalence import list_generated
from envmill.gates.exploring.trials import Trials
from envmill.gates.reading.known_values import list_leaves
from envmill.verifiers.compose import GIVEN
from envmill.verifiers.facts import communicates
from schemas.base import Json, is_array, is_object
from schemas.ledger import ReasonClass
from schemas.scenario import Scenario

GATE = "S9"
CODES: Mapping[str, ReasonClass] = {
    "expected_value": "proof",
    "tool_name": "suspicion",
    # The state's own key, letter for letter, in the form that only programs write: nothing is read.
    "hidden_id": "proof",
    "id_like": "suspicion",
    "state_key": "suspicion",
    "answer": "suspicion",
}

_GENERATED = re.compile(
    r"(?i)[a-z0-9]+_[0-9a-f]{4,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|"
    r"(?=[0-9a-f]*\d)[0-9a-f]{12,}"
)
"""Ids that programs generate. People know an id that a card or a receipt shows (`M-1042`,
`T217`)."""
_MACHINE_MADE = re.compile(r"[a-z][a-z0-9_]*_(?=[0-9a-f]*\d)[0-9a-f]{8}")
"""Ids as a session makes them: `loan_3f9c1a2b`."""
_QUESTIONS = {
    "tool_name": "Does the user's text use {value!r} as the name of a program's function, rather than as "
    "a word of everyday language?",
    "id_like": "Is {value!r}, as it stands in the user's text, a key that only a program's storage has, "
    "and no number or code on paper?",
    "state_key": "Is {value!r}, as it stands in the user's text, a name of a field in a program, rather "
    "than a word that people use?",
    "answer": "Does the request itself already tell the answer ({value}) that the agent is asked to "
    "find out?",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Every leak found; those that the replay shows come first."""
    found = [
        *[("expected_value", value) for value in await list_expected(subject, means)],
        *list_leaks(subject),
    ]
    evidence: Json = [{"leak": each, "value": leaked} for each, leaked in found]
    return gather(
        GATE, [describe_leak(code, value, evidence) for code, value in dict.fromkeys(found)]
    )


def describe_leak(code: str, value: str, evidence: Json) -> Finding:
    finding = drop(
        GATE, code, f"the user says {value!r}, which nobody outside the program knows", evidence
    )
    return replace(finding, question=_QUESTIONS.get(code, "").format(value=value))


def list_leaks(subject: ScenarioCase) -> Iterator[tuple[str, str]]:
    """(reason code, words of the request) for leaks that state and interface alone show."""
    scenario = subject.scenario
    said = describe_all(subject)
    for tool in subject.environment.tools:
        if _names_tool(tool.name, said):
            yield "tool_name", tool.name
    for key in StateIndex.of(scenario.initial_state).list_keys():
        if _MACHINE_MADE.fullmatch(key):
            # The letters and digits behind the name are as unknown to people as the whole.
            yield from (("hidden_id", part) for part in (key, key[-8:]) if is_said(part, said))
        elif (_GENERATED.fullmatch(key) or "_" in key) and is_said(key, said):
            yield "id_like", key
    for name in sorted(set(list_names(scenario.initial_state))):
        if "_" in name and is_said(name, said):
            yield "state_key", name
    for fact in scenario.verifier.facts:
        if fact.kind != "pattern" and communicates(
            fact.model_copy(update={"rivals": []}), scenario.request[:4000]
        ):
            yield "answer", str(fact.value)
    yield from (("answer", name) for name in list_given(scenario))


def list_given(scenario: Scenario) -> Iterator[str]:
    """Facts that the verifier does not require because the user states them. Under `achieve`, the
    user may say more than necessary. Under any other polarity, the agent would have nothing left to
    find out."""
    refused: Json = scenario.features.get("facts_refused", [])
    if scenario.polarity != "achieve" and is_array(refused):
        yield from (
            name
            for each in refused
            for name, _, reason in [str(each).rpartition(": ")]
            if reason == GIVEN
        )


async def list_expected(subject: ScenarioCase, means: GateContext) -> list[str]:
    """Values that only the program could have made, and that the user says nevertheless."""
    if not subject.scenario.oracle:
        return []
    ending = (await Trials.of(subject, means).oracle())[0].ending
    if ending is None:
        return []
    said = describe_all(subject)
    stamps = {
        str(leaf)
        for leaf in list_leaves(ending.final)
        if isinstance(leaf, str) and _TIME.match(leaf)
    }
    # A time in a call is part of the wish. Only the program makes the others.
    given = [leaf for call in subject.scenario.oracle for leaf in list_leaves(call.arguments)]
    stamps -= {
        str(leaf) for leaf in (*list_leaves(ending.initial), *given) if isinstance(leaf, str)
    }
    return sorted(
        value
        for value in list_generated(ending.initial, ending.final) | stamps
        if is_said(value, said)
    )


def describe_all(subject: ScenarioCase) -> str:
    """All that the user may say, names of facts among it."""
    user = subject.scenario.user
    leaves = (str(leaf) for leaf in list_leaves(user.facts))
    return "\n".join([subject.scenario.request, user.opening, *user.facts, *leaves])


def is_said(word: str, said: str) -> bool:
    """Whether it stands there as a whole, letter for letter."""
    return word in said and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said) is not None


def list_names(value: Json) -> Iterator[str]:
    """Names of collections and of their rows' fields."""
    if is_object(value):
        for key, one in value.items():
            if not _is_row_key(key, one):
                yield key
            yield from list_names(one)
    elif is_array(value):
        for one in value:
            yield from list_names(one)


def _is_row_key(key: str, value: Json) -> bool:
    return is_object(value) and any(each.isdigit() for each in key)


def _names_tool(name: str, said: str) -> bool:
    """Whether the text names a tool. A name of one word is also an everyday word: it leaks only if
    the text calls it a tool."""
    if "_" in name or re.search(r"[a-z][A-Z]", name):
        return is_said(name, said)
    return (
        name in said
        and re.search(
            rf"`{re.escape(name)}`|\b{re.escape(name)}\(|\b{re.escape(name)} (?:tool|function)\b",
            said,
        )
        is not None
    )
