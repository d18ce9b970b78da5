"""Near misses of a reference path: mutants that the verifier must reject.

wrong argument · wrong target · twice the same · extra write · overwritten row · wrong words
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from envmill.agents.attackers.arguments import list_choices, sample_call
from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import ScenarioCase
from envmill.gates.exploring.attempts import misstate_questions
from envmill.gates.exploring.trials import Attempt, list_writes
from envmill.gates.reading.known_values import read_day
from envmill.language import regex
from envmill.verifiers.ending import Ending
from schemas.base import Json
from schemas.environment import Call, Tool
from schemas.scenario import Fact

_TARGETS, _EXTRAS, _OVERWRITES = 2, 3, 3
"""Numbers of mutants per call, or per path."""
WRITES = 40
"""Number of writes of a path that get mutants."""


def breed(subject: ScenarioCase, seed: int) -> list[Attempt]:
    """All mutants of a path, in an order that the seed determines."""
    dice = random.Random(f"{subject.scenario.id}/{seed}")
    stock, tools = (
        StateIndex.of(subject.scenario.initial_state),
        {tool.name: tool for tool in subject.environment.tools},
    )
    bred: list[Attempt] = []
    for place in sample_writes(list_writes(subject), dice):
        call = subject.scenario.oracle[place]
        if call.name in tools:
            bred += [
                _put(subject, place, *one) for one in _mistake(call, tools[call.name], stock, dice)
            ]
            bred.append(_insert(subject, place, call, "twice_the_same"))
    return [
        *bred,
        *_add_writes(subject, stock, dice),
        *_overwrite(subject, stock, dice),
        *_misspeak(subject),
    ]


def sample_writes(writes: Sequence[int], dice: random.Random) -> list[int]:
    """All of a few writes, or an even sample of many. Each mutant plays the whole path, so mutants
    of all writes would take quadratic time."""
    if len(writes) <= WRITES:
        return list(writes)
    stride = len(writes) / WRITES
    begin = dice.random() * stride
    return [writes[int(begin + number * stride)] for number in range(WRITES)]


def find_targets(call: Call, stock: StateIndex) -> Iterator[tuple[str, str, list[Json]]]:
    """(parameter, collection, other keys) for each argument that is the key of a row."""
    for name, value in call.arguments.items():
        if home := stock.find_home(value, name):
            yield name, home, [type(value)(key) for key in stock.rows[home] if key != str(value)]


def _mistake(
    call: Call, tool: Tool, stock: StateIndex, dice: random.Random
) -> Iterator[tuple[str, Call]]:
    """The same call on other rows, and with other values."""
    pointing = {name: others for name, _, others in find_targets(call, stock)}
    for name, others in pointing.items():
        for key in dice.sample(others, min(_TARGETS, len(others))):
            yield "wrong_target", _replace(call, name, key)
    schemas: Mapping[str, Json] = tool.parameters.get("properties", {})
    for name, value in call.arguments.items():
        if name not in pointing:
            yield from (
                ("wrong_argument", _replace(call, name, other))
                for other in _list_others(name, value, schemas.get(name, {}), stock)
            )


def _list_others(
    name: str, value: Json, schema: Mapping[str, Json], stock: StateIndex
) -> list[Json]:
    """Values close to the right one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1]
    if not isinstance(value, str):
        return []
    if day := read_day(value):
        return [(date.fromisoformat(day) + timedelta(days=1)).isoformat() + value[10:]]
    choices = [one for one in list_choices(schema) if one != value]
    known = [one for one in stock.namesakes(name) if isinstance(one, str) and one != value]
    return choices[:1] or [*known[:1], f"{value} too"]


def _add_writes(subject: ScenarioCase, stock: StateIndex, dice: random.Random) -> Iterator[Attempt]:
    """The path with an unwanted write at its end."""
    oracle, changes = (
        subject.scenario.oracle,
        [tool for tool in subject.environment.tools if tool.effect == "change"],
    )
    for _ in range(_EXTRAS if changes else 0):
        call = sample_call(dice.choice(changes), stock, dice)
        if call not in oracle:
            yield _insert(subject, len(oracle) - 1, call, "extra_write")


def _overwrite(subject: ScenarioCase, stock: StateIndex, dice: random.Random) -> Iterator[Attempt]:
    """The path with another change of its rows at its end."""
    calls = [subject.scenario.oracle[place] for place in list_writes(subject)]
    touched = {
        value
        for call in calls
        for name, value in call.arguments.items()
        if _is_text(value) or stock.find_home(value, name)
    }
    drawn: list[Call] = []
    for tool in (each for each in subject.environment.tools if each.effect == "change"):
        for name, schema in tool.parameters.get("properties", {}).items():
            home = stock.find_pointed(name)
            keys = sorted(
                key for key in (stock.offer_keys(home, schema) if home else ()) if key in touched
            )
            drawn += [_replace(sample_call(tool, stock, dice), name, key) for key in keys]
    drawn = [call for call in drawn if call not in subject.scenario.oracle]
    dice.shuffle(drawn)
    for call in drawn[:_OVERWRITES]:
        yield _insert(subject, len(subject.scenario.oracle) - 1, call, "overwritten_row")


def _misspeak(subject: ScenarioCase) -> Iterator[Attempt]:
    """The right calls, with one wrong fact in the last words."""
    facts = subject.scenario.verifier.facts
    for fact in facts:
        words = [f"{_twist(each) if each is fact else each.value}." for each in facts]
        said = (
            regex.replace(str(fact.value), subject.scenario.say, _misstate)
            if fact.kind == "pattern"
            else " ".join(words)
        )
        yield Attempt(
            "wrong_words",
            misstate_questions(subject.scenario.oracle, fact, str(_twist(fact))),
            (said,),
        )


def _misstate(said: str) -> str:
    """The text of a pattern's match with all its numbers changed; empty if it has none, because
    only the pattern knows its meaning."""
    return (
        re.sub(r"\d+", lambda found: str(int(found[0]) + 1), said) if re.search(r"\d", said) else ""
    )


def _twist(fact: Fact) -> Json:
    value = fact.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + 1
    if day := read_day(value):
        return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    return "something else"


def _put(subject: ScenarioCase, place: int, label: str, call: Call) -> Attempt:
    oracle = subject.scenario.oracle
    return Attempt(
        label, (*oracle[:place], call, *oracle[place + 1 :]), _words(subject), place=place
    )


def _insert(subject: ScenarioCase, place: int, call: Call, label: str) -> Attempt:
    """The path with the call added after the given position."""
    oracle: Sequence[Call] = subject.scenario.oracle
    return Attempt(
        label, (*oracle[: place + 1], call, *oracle[place + 1 :]), _words(subject), place=place + 1
    )


def _words(subject: ScenarioCase) -> tuple[str, ...]:
    return Ending.list_words(subject.scenario)


def _replace(call: Call, name: str, value: Json) -> Call:
    return call.model_copy(update={"arguments": call.arguments | {name: value}})


def _is_text(value: Json) -> bool:
    return isinstance(value, str)
