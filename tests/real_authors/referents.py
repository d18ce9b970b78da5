"""Text faults about rows: requests that leave open or confuse which row is meant, and first
messages that leave the choice to the agent."""

import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates import s15, s17
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.exploring.trials import Trials
from envmill.gates.reading.known_values import list_leaves, read_day
from schemas.base import Json, is_object
from schemas.scenario import Scenario
from tests.real_authors.texts import Text, reword, says_other, tidy


async def list_rows(
    posed: ScenarioCase, means: GateContext, dice: random.Random
) -> AsyncIterator[Text]:
    targets = {(one.collection, one.key): one for one in s15.list_targets(posed)}
    stock = StateIndex.of(posed.scenario.initial_state)
    for (collection, key), target in targets.items():
        own = {
            value
            for name, value in target.said
            if "." not in name and not _is_shared(value, collection, key, stock)
        }
        if not own:
            continue
        unnamed = dict.fromkeys(own, f"the {say_singular(collection)}")
        vague = reword(posed, unnamed)
        if not says_other(posed, unnamed):
            continue
        for text in _list_sides("a row unnamed", posed, vague, await s15.check(vague, means), key):
            yield text
        for changes in islice(_list_other_names(target, own, stock, dice), 4):
            other = reword(posed, changes)
            for text in _list_sides(
                "another row's name", posed, other, await s15.check(other, means), f"than {key}"
            ):
                yield text


def _list_sides(
    operator: str, posed: ScenarioCase, faulty: ScenarioCase, found: Finding, word: str
) -> Iterator[Text]:
    """The fault, and the text as it was written with the same questions."""
    findings = tuple(
        one
        for one in found.spread()
        if one.reason in ("ambiguous_referent", "wrong_referent") and word in one.question
    )
    yield Text(operator, faulty, findings, planted=True)
    if findings:
        yield Text(operator, posed, findings, planted=False)


async def list_twins(posed: ScenarioCase, means: GateContext) -> AsyncIterator[Text]:
    """A second row that is called as the target is; of the honest look-alike a letter more is said.

    A look-alike is spoilt where the second row makes the whole request another one.
    """
    stock = StateIndex.of(posed.scenario.initial_state)
    for target in {(one.collection, one.key): one for one in s15.list_targets(posed)}.values():
        row: Any = stock.rows[target.collection][target.key]
        names = [
            name
            for name, value in target.said
            if "." not in name and _is_name(row.get(name)) and row[name] != target.key
        ]
        if not names or not is_object(posed.scenario.initial_state.get(target.collection)):
            continue
        key = target.key[:-1] + ("0" if target.key[-1] != "0" else "1")
        twin = {name: key if value == target.key else value for name, value in row.items()}
        other = twin | {name: _vary(row[name]) for name in names}
        for planted, copy in ((True, twin), (False, other)):
            held: Any = posed.scenario.initial_state[target.collection]
            state = posed.scenario.initial_state | {target.collection: {**held, key: copy}}
            text = reword(posed, {}, initial_state=state)
            finding = s15.suspect(
                [s15.Rival(target, key, better=False)], StateIndex.of(text.scenario.initial_state)
            )
            found = [
                one
                for one in (await s15.check(text, means)).spread()
                if one.reason == "ambiguous_referent" and key in one.question
            ]
            if planted:
                yield Text("a twin row", text, tuple(found[:1]), planted=True)
            else:
                yield Text(
                    "a twin row",
                    text,
                    (finding,),
                    planted=False,
                    spoilt=await _find_flaw(text, target, names, means),
                )


async def _find_flaw(
    text: ScenarioCase, target: s15.Target, names: Sequence[str], means: GateContext
) -> str:
    """Why the second row leaves more than its own name to be told apart; empty where it does
    not."""
    stock = StateIndex.of(text.scenario.initial_state)
    if any(read_day(stock.rows[target.collection][target.key][name]) for name in names):
        return "its day is respelt and may be read as another day"
    if (await Trials.of(text, means).oracle())[0].verdict.outcome != "pass":
        return "beside it the reference path is not paid"
    said = f"{text.scenario.request} {' '.join(map(str, text.scenario.user.facts.values()))}"
    for call in text.scenario.oracle:
        for name, value in (
            (name, leaf) for name, given in call.arguments.items() for leaf in list_leaves(given)
        ):
            home = stock.find_home(value, name)
            if home == target.collection and not _is_named(home, str(value), said, stock):
                return (
                    "the request describes a row of this table, and the second row may fit the "
                    "description"
                )
    return ""


def _is_named(collection: str, key: str, said: str, stock: StateIndex) -> bool:
    row: Any = stock.rows[collection][key]
    return any(
        str(one) in said and not _is_shared(str(one), collection, key, stock)
        for one in row.values()
        if _is_name(one)
    )


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and any(letter.isupper() or letter.isdigit() for letter in value)


def _vary(name: str) -> str:
    """Another name that looks like it: of a number the next one, of a word one letter more."""
    if digits := re.search(r"\d+$", name):
        return f"{name[: digits.start()]}{int(digits[0]) + 1}"
    return f"{name}s" if not name.endswith("s") else f"{name[:-1]}"


def _is_shared(value: str, collection: str, key: str, stock: StateIndex) -> bool:
    return any(
        value in map(str, row.values())
        for other, row in stock.rows[collection].items()
        if other != key and is_object(row)
    )


def _list_other_names(
    target: s15.Target, own: set[str], stock: StateIndex, dice: random.Random
) -> Iterator[dict[str, str]]:
    mine: Any = stock.rows[target.collection][target.key]
    others: list[Any] = [
        row for key, row in stock.rows[target.collection].items() if key != target.key
    ]
    dice.shuffle(others)
    for row in others:
        changes = {
            str(value): str(row[name])
            for name, value in mine.items()
            if str(value) in own and row.get(name)
        }
        if changes and all(old != new for old, new in changes.items()):
            yield changes


# Openings: words in a hidden value's place that leave the choice to the agent, or do not.

_LEAVING = (
    "any of the {many}",
    "either of the {many} that are left",
    "another of the {many} (I do not mind which)",
)
_HOLDING = (
    "one of the {many} (ask me which)",
    "another of the {many} (which one I say when you ask)",
    "a certain one of the {many} (not just any)",
)


async def list_openings(posed: ScenarioCase) -> AsyncIterator[Text]:
    """Facts that name a row which a change is about, each put in other words in the first
    message."""
    user, stock = posed.scenario.user, StateIndex.of(posed.scenario.initial_state)
    targets = {(one.collection, one.key) for one in s15.list_targets(posed)}
    for name, value in user.facts.items():
        homes = [home for home, key in targets if value in list(list_leaves(stock.rows[home][key]))]
        if not isinstance(value, str) or not homes or posed.scenario.request.count(value) != 1:
            continue
        for template, planted in (
            *((one, True) for one in _LEAVING),
            *((one, False) for one in _HOLDING),
        ):
            opening = tidy(
                posed.scenario.request.replace(
                    value, template.format(many=homes[0].replace("_", " "))
                )
            )
            contract = user.model_copy(update={"opening": opening, "hidden": [name]}).model_dump()
            text = replace(
                posed,
                scenario=Scenario.model_validate(
                    posed.scenario.model_dump() | {"id": "", "user": contract}
                ),
            )
            yield Text(
                "an opening that leaves the choice",
                text,
                tuple(islice(s17.list_suspicions(text, [name]), 1)),
                planted=planted,
            )


def say_singular(collection: str) -> str:
    words = collection.replace("_", " ")
    return (
        re.sub(r"ies$", "y", words)
        if words.endswith("ies")
        else re.sub(r"(?<=ch|sh|ss)es$|(?<!s)s$", "", words)
    )
