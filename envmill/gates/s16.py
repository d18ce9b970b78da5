"""S16: one reader sees the request but not the reference path, and must understand it as the path
and the verifier do. Another reader sees the demands of the verifier. It must find each demand asked
for and each wish checked.

brief, rules, policy, tools, date, rows, request, told ─► reader ─► changes, answers, readings ─┐
reference path, verifier ────────────────────────────────────────────────────────────────────────┴─► differences: suspicions
the same, demands in plain sentences ─► mapper ─► sources, wishes, hints, readings ────────────────► unfair parts: suspicions
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from envmill.agents.attackers.state_index import StateIndex, read_rows
from envmill.base.errors import BadReply, BadRequest, Outage
from envmill.gates.base import Finding, GateContext, ScenarioCase, doubt, gather, pass_by, skip
from envmill.gates.exploring.trials import list_writes
from envmill.gates.reading.differences import find_differences
from envmill.gates.reading.evidence import describe_item, list_told, show_tools
from envmill.gates.reading.known_values import list_leaves
from envmill.gates.reading.mapping import MOST, ask_map, find_unfair, list_demands
from envmill.gates.reading.mapping import PROMPT as MAPPER
from envmill.kinds import kind_of
from envmill.kinds.dialogue.atoms import ATOMS
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession, name_judge
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.fairness import MapperReply
from schemas.ledger import ReasonClass
from schemas.reading import ReaderInput, ReaderReply

GATE = "S16"
CODES: Mapping[str, ReasonClass] = dict.fromkeys(
    ("read_otherwise", "two_readings", "unasked", "unchecked", "shows_way"), "suspicion"
)
PROMPT = Prompt.load(Path(__file__).parent / "prompts" / "reader.md", ReaderInput, ReaderReply)

_COMPOSED = (
    "The request tells what the user notices, and what mends it is found on the way: it was proved "
    "when the scenario was composed."
)
_WHOLE = 40
"""Rows up to which a table is shown whole."""
_LEAST_SHARE = 4
"""Number of rows of a larger table that are shown for each row that the path touches."""
_MOST = 3
"""Differences of the blind reader that are put to the judge, surest first: each takes two
readings."""
_WORD = re.compile(r"\w{3,}")


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Not measured where no reader can be asked. A reader's mistake drops nothing: each difference
    is a suspicion."""
    if means.models is None:
        return skip(
            GATE,
            "no_reader",
            "No model was asked: `suspicions` is `keep`, or the judge is the embedded one.",
        )
    if ATOMS in subject.environment.files:
        return pass_by(GATE, "composed", _COMPOSED)
    read, mapped = await asyncio.gather(
        _read(subject, means, means.models), _map(subject, means, means.models)
    )
    return merge(read, mapped)


def merge(read: Finding, mapped: Finding) -> Finding:
    """Suspicions of both readers; a second reading counts once. If there are none, the result says
    what could not be measured."""
    found = [one for one in read.spread() if one.outcome == "dropped"]
    ambiguous = any(one.reason == "two_readings" for one in found)
    found += [
        one
        for one in mapped.spread()
        if one.outcome == "dropped" and not (ambiguous and one.reason == "two_readings")
    ]
    if found:
        return gather(GATE, [replace(one, others=()) for one in found])
    seen = [one for one in (read, mapped) if one.outcome == "not_measured"] or [
        one for one in (read, mapped) if one.outcome == "kept"
    ]
    return replace(
        (seen or [read])[0], evidence=[one.evidence for one in (read, mapped) if one.evidence]
    )


async def _read(subject: ScenarioCase, means: GateContext, models: ModelSession) -> Finding:
    scenario = subject.scenario
    if not scenario.oracle and not scenario.verifier.facts:
        return pass_by(
            GATE, "nothing_to_compare", "There is neither a reference path nor anything to be told."
        )
    if not kind_of(subject.environment).looks_freely:
        return pass_by(
            GATE,
            "no_rows",
            "A machine has no rows that a reader could be shown: only its demands are mapped.",
        )
    try:
        reply = await ask_reader(subject, models)
    except (BadReply, BadRequest, Outage) as error:
        return skip(GATE, "not_read", error.message)
    return await compare(subject, means, reply, name_judge(models))


async def _map(subject: ScenarioCase, means: GateContext, models: ModelSession) -> Finding:
    if not means.fairness:
        return pass_by(
            GATE, "no_map", "No model was asked for a map: the run's setting `fairness` is off."
        )
    try:
        reply = await ask_map(subject, models)
    except (BadReply, BadRequest, Outage) as error:
        return skip(GATE, "not_mapped", error.message)
    return judge_map(subject, reply, name_judge(models))


def judge_map(subject: ScenarioCase, reply: MapperReply, model: str = "") -> Finding:
    """The finding that a map gives."""
    demands = list_demands(subject)
    told: dict[str, Json] = {
        "model": model,
        "prompt_hash": MAPPER.hash,
        "map": reply.model_dump(mode="json"),
    }
    found = find_unfair(
        reply, describe_item(subject, " ".join(one.text for one in demands)), demands
    )
    return gather(
        GATE, [doubt(GATE, one.code, one.words, one.question, told) for one in found[:MOST]], told
    )


async def ask_reader(subject: ScenarioCase, models: ModelSession) -> ReaderReply:
    return await models.ask(PROMPT, show(subject), ReaderReply, role="judge")


async def compare(
    subject: ScenarioCase, means: GateContext, reply: ReaderReply, model: str = ""
) -> Finding:
    """The finding that a reply gives."""
    told: dict[str, Json] = {
        "model": model,
        "prompt_hash": PROMPT.hash,
        "reply": reply.model_dump(mode="json"),
    }
    if not (reply.changes or reply.answers or reply.readings) and (
        list_writes(subject) or subject.scenario.verifier.facts
    ):
        return skip(
            GATE,
            "nothing_read",
            "The reader names no change, no answer and no second reading.",
            told,
        )
    found = await find_differences(subject, means, reply)
    findings = [
        doubt(GATE, one.code, one.words, one.question, told | {"difference": one.seen})
        for one in found[:_MOST]
    ]
    return gather(GATE, findings, told)


def show(subject: ScenarioCase) -> ReaderInput:
    """The knowledge that agent and user share."""
    scenario, environment = subject.scenario, subject.environment
    return ReaderInput(
        brief=environment.brief.model_copy(update={"outline": None}),
        name=environment.name,
        rules=environment.rules,
        policy=environment.policy_document,
        tools=show_tools(environment),
        rows={
            name: _show_table(name, value, subject)
            for name, value in scenario.initial_state.items()
        },
        date=scenario.clock,
        request=scenario.request,
        told=list_told(scenario),
    )


def _show_table(name: str, value: Json, subject: ScenarioCase) -> Json:
    """A small table as a whole. For a large table, the rows that matter, among many similar rows,
    in key order: the choice reveals nothing."""
    rows = read_rows(value)
    if len(rows) <= _WHOLE:
        return value
    touched = {key for home, key in _list_touched(subject) if home == name}
    words = set(
        _WORD.findall(
            canonical_json(
                [subject.scenario.request, *(rows[key] for key in touched if key in rows)]
            ).casefold()
        )
    )

    def rank(key: str) -> tuple[bool, int, str]:
        return (
            key not in touched,
            -len(words & set(_WORD.findall(canonical_json(rows[key]).casefold()))),
            key,
        )

    picked = set(sorted(rows, key=rank)[: max(_WHOLE, _LEAST_SHARE * len(touched))])
    if is_array(value):
        return [row for row in value if is_object(row) and row.get("id") in picked]
    return {key: row for key, row in rows.items() if key in picked}


def _list_touched(subject: ScenarioCase) -> Iterator[tuple[str, str]]:
    """Rows that the path names, and those they refer to."""
    stock = StateIndex.of(subject.scenario.initial_state)
    for call in subject.scenario.oracle:
        for argument, value in (
            (name, leaf) for name, given in call.arguments.items() for leaf in list_leaves(given)
        ):
            if home := stock.find_home(value, argument):
                yield home, str(value)
                row = stock.rows[home][str(value)]
                for field, other in row.items() if is_object(row) else ():
                    if found := stock.find_home(other, field):
                        yield found, str(other)
