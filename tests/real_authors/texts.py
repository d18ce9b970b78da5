"""Text faults planted in the recorded scenarios, with honest look-alikes: cases on which a judge of
suspicions is calibrated.

scenario ──operator──► faulty text ──gate──► question ──► planted case
    │                                            └──with the honest text──► honest case
    └──operator──► harmless words that alarm the gate ──► honest case

The program and the reference path stay as they were written. What an operator changes is right by
construction, so nobody has to read it.
"""

import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates import s8, s9, s10
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.reading.answers import FactCheck
from envmill.gates.reading.evidence import describe
from envmill.gates.reading.known_values import list_leaves, read_day
from envmill.language.dates import read_date
from schemas.base import Json, canonical_json, is_object
from schemas.scenario import Fact, Scenario
from schemas.suspicion import SuspicionCase, SuspicionItem

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?P<weekday>\w+day),? )?(?P<day>\d{{1,2}}) (?P<month>{MONTHS})(?P<year> \d{{4}})?"
)
_NUMBER = re.compile(r"(?<![\w.:,-])\d+(?![\w:-]|[.,]\d)")
_REFERENCE = re.compile(r"\b[A-Z]{1,3}-\d+\b")
_CHATTER = (
    "I was up at {n} this morning, so bear with me.",
    "You will find me in room {n} if you need me.",
    "This is the {n}th message I write today.",
)
_LONGEST = 6000
"""Characters of an item, about: what does not belong to the path is left out."""


def reword(
    posed: ScenarioCase, changes: Mapping[str, str], more: str = "", **fields: Any
) -> ScenarioCase:
    """The scenario with words replaced in all that the person says; more is added to the request
    and the first message."""
    scenario = posed.scenario
    names = "|".join(map(re.escape, sorted(changes, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w-])({names})(?![\w-]|\. [A-Z])") if changes else None

    def put(text: str) -> str:
        return tidy(pattern.sub(lambda found: changes[found[1]], text)) if pattern else text

    user = scenario.user.model_dump()
    facts = {
        name: put(value) if isinstance(value, str) else _put_number(value, changes)
        for name, value in user["facts"].items()
    }
    user |= {"facts": facts, "opening": _add(put(user["opening"]), more)}
    told: dict[str, Any] = {"id": "", "request": _add(put(scenario.request), more), "user": user}
    return replace(posed, scenario=Scenario.model_validate(scenario.model_dump() | told | fields))


def says_other(posed: ScenarioCase, changes: Mapping[str, str]) -> bool:
    """Whether the request itself is another one with these words: a fault of what is told later
    only is none of the request."""
    return reword(posed, changes).scenario.request != tidy(posed.scenario.request)


def tidy(text: str) -> str:
    """No article twice, and a capital where a sentence begins."""
    text = re.sub(r"\b[Tt]he (?=(?:the|any|either|another|one|a certain|so many)\b)", "", text)
    return re.sub(
        r"(^|[.!?] |\n- |\n\d\. )([a-z])", lambda found: found[1] + found[2].upper(), text
    )


def _add(text: str, more: str) -> str:
    return f"{text}\n\nP.S. {more}" if more and text else text


def _put_number(value: Json, changes: Mapping[str, str]) -> Json:
    new = changes.get(str(value), "")
    return int(new) if isinstance(value, int) and new.isdigit() else value


@dataclass(frozen=True)
class Text:
    """A scenario with other words: a planted fault or an honest look-alike, and what the gate asks
    of it."""

    operator: str
    posed: ScenarioCase
    findings: tuple[Finding, ...]
    """None where the gate does not notice a planted fault. A look-alike has the question that it is
    asked."""
    planted: bool
    spoilt: str = ""
    """Why a look-alike is not honest as a whole, although its question is; empty where it is."""

    def list_cases(self) -> list[SuspicionCase]:
        return [make_case(self.posed, one, planted=self.planted) for one in self.findings]


def make_case(posed: ScenarioCase, finding: Finding, *, planted: bool) -> SuspicionCase:
    item = shorten(
        describe(posed, finding), posed, finding.question, all_rows=finding.reason == "wrong_answer"
    )
    return SuspicionCase(
        gate=finding.gate,
        reason=finding.reason,
        planted=planted,
        item=item,
        question=finding.question,
    )


def shorten(
    item: SuspicionItem, posed: ScenarioCase, question: str, *, all_rows: bool
) -> SuspicionItem:
    """The tools of the path, and as many rows as there is room for: those first that the path or
    the texts speak of.

    An answer may be a count or an extreme, for which all rows are needed.
    """
    used = {call.name for call in posed.scenario.oracle}
    tools = [
        tool.model_copy(update={"parameters": say_parameters(tool.parameters)})
        for tool in item.tools
        if tool.name in used
    ]
    item = item.model_copy(update={"tools": tools})
    if all_rows:
        return item
    room = _LONGEST - len(
        canonical_json(item.model_copy(update={"rows": []}).model_dump(mode="json"))
    )
    said = f"{item.request} {item.told} {canonical_json(item.path)} {question}".casefold()
    rows = [
        (table, key, row)
        for table, held in (item.rows.items() if is_object(item.rows) else ())
        for key, row in held.items()
    ]
    ranked = sorted(range(len(rows)), key=lambda place: -count_said(*rows[place][1:], said))
    kept: set[int] = set()
    for place in ranked:
        room -= len(canonical_json(rows[place][2])) + 40
        if room > 0 or len(kept) < 4:
            kept.add(place)
    held: dict[str, dict[str, Json]] = {}
    for place in sorted(kept):
        table, key, row = rows[place]
        held.setdefault(table, {})[key] = row
    return item.model_copy(update={"rows": held})


def say_parameters(schema: Json) -> Json:
    """Each parameter with its description, without the rest of the schema."""
    properties: Any = schema.get("properties", {}) if is_object(schema) else {}
    return {name: one.get("description") or one.get("type", "") for name, one in properties.items()}


def count_said(key: str, row: Json, said: str) -> int:
    return (
        5 * (key in said)
        + sum(str(value).casefold() in said for value in row.values() if len(str(value)) > 2)
        if is_object(row)
        else 0
    )


def pick_finding(found: Finding, gate: str, reason: str, word: str = "") -> Finding | None:
    """The finding of a code whose question names what was planted."""
    return next(
        (
            one
            for one in found.spread()
            if (one.gate, one.reason) == (gate, reason) and one.question and word in one.question
        ),
        None,
    )


# Values: the request says a date, an amount or a reference that the path does not have.


async def list_values(
    posed: ScenarioCase, means: GateContext, dice: random.Random
) -> AsyncIterator[Text]:
    changed = (
        *_list_dates(posed),
        *_list_amounts(posed, dice),
        *_list_amounts(posed, dice),
        *_list_references(posed, dice),
    )
    for changes, word, honest in changed:
        chatter = dice.choice(("", dice.choice(_CHATTER).format(n=dice.randint(4, 19))))
        faulty = reword(posed, changes, chatter)
        if not says_other(posed, changes):
            continue
        finding = pick_finding(await s10.check(faulty, means), "S10", "unmatched_value", word)
        yield Text("another value", faulty, (finding,) if finding else (), planted=True)
        if finding and honest:
            yield Text("another value", posed, (replace(finding, question=honest),), planted=False)
    for number, template in zip(dice.sample(range(4, 20), len(_CHATTER)), _CHATTER, strict=True):
        harmless = reword(posed, {}, template.format(n=number))
        if finding := pick_finding(
            await s10.check(harmless, means), "S10", "unmatched_value", str(number)
        ):
            yield Text("another value", harmless, (finding,), planted=False)
    for words, word in _list_harmless(dice):
        harmless = reword(posed, {}, words)
        if finding := pick_finding(
            await s10.check(harmless, means), "S10", "unmatched_value", word
        ):
            yield Text("another value", harmless, (finding,), planted=False)


def _list_harmless(dice: random.Random) -> Iterator[tuple[str, str]]:
    """Words that name a day, a code or a number and ask for nothing with it."""
    day, code = dice.randint(10, 28), f"{dice.choice('BCDG')}{dice.randint(2, 9)}"
    yield f"I am away from {day} April 2026, so please do it now.", f"2026-04-{day:02d}"
    yield f"You reach me in office {code}.", code


def _list_dates(posed: ScenarioCase) -> Iterator[tuple[dict[str, str], str, str]]:
    """Another day of the month, with the weekday that belongs to it."""
    year = posed.scenario.clock[:4]
    for found in _DATE.finditer(posed.scenario.request):
        for step in (8, 11):
            day, old = int(found["day"]), found[0]
            other = day + step if day < 17 else day - step
            new = old.replace(str(day), str(other), 1)
            said, honest = (
                read_date(f"{one} {found['month']} {(found['year'] or year).strip()}")
                for one in (other, day)
            )
            if said is None or honest is None:
                continue
            if weekday := found["weekday"]:
                new = new.replace(weekday, f"{said:%A}", 1)
            yield (
                {old: new, honest.isoformat(): said.isoformat()},
                said.isoformat(),
                s10.ask_date(honest.isoformat()),
            )


def _list_amounts(
    posed: ScenarioCase, dice: random.Random
) -> Iterator[tuple[dict[str, str], str, str]]:
    request = _DATE.sub(lambda found: "x" * len(found[0]), posed.scenario.request)
    given = {
        Decimal(str(leaf))
        for call in posed.scenario.oracle
        for leaf in list_leaves(call.arguments)
        if s10.is_amount(leaf)
    }
    said = dict.fromkeys(found[0] for found in _NUMBER.finditer(request) if int(found[0]) > 1)
    numbers = [one for one in said if Decimal(one) in given]
    for number in numbers:
        other = str(int(number) + dice.choice((3, 7, 11, 20, 50)))
        instead = [Decimal(one) for one in numbers if one != number][:2]
        yield {number: other}, other, s10.ask_amount(Decimal(number), instead) if instead else ""


def _list_references(
    posed: ScenarioCase, dice: random.Random
) -> Iterator[tuple[dict[str, str], str, str]]:
    for old in [*dict.fromkeys(_REFERENCE.findall(posed.scenario.request))] * 2:
        head, _, digits = old.partition("-")
        new = f"{head}-{int(digits) + dice.randint(400, 500)}"
        yield {old: new}, new, ""


# Arguments: nobody says what the path uses.


async def list_arguments(posed: ScenarioCase, means: GateContext) -> AsyncIterator[Text]:
    """A value is taken out of all that the person says; the same question about the words as they
    were written is the honest case."""
    tools = {tool.name: tool for tool in posed.environment.tools}
    for argument in await s8.trace(posed, means):
        if (
            tools[argument.tool].effect == "query"
            or argument.source == "seen"
            or isinstance(argument.value, bool)
        ):
            continue
        changes = dict.fromkeys(list_spellings(argument.value, posed), _say_vaguely(argument.value))
        if not _is_fixed(argument, posed):
            continue
        question = s8.ask(argument)
        honest = Finding("S8", "suspected", "underivable_argument", question=question)
        yield Text("an argument unsaid", posed, (honest,), planted=False)
        vague = _forget(posed, changes)
        if vague.scenario.request != posed.scenario.request:
            found = [
                one for one in (await s8.check(vague, means)).spread() if one.question == question
            ]
            yield Text("an argument unsaid", vague, tuple(found[:1]), planted=True)


def _forget(posed: ScenarioCase, changes: Mapping[str, str]) -> ScenarioCase:
    """Reworded, and without the facts that hold what was taken out."""
    user = posed.scenario.user
    kept = {
        name: value
        for name, value in user.facts.items()
        if not any(one in str(value) for one in changes)
    }
    told = user.model_copy(
        update={
            "facts": kept,
            "hidden": [name for name in user.hidden if name in kept],
            "fallbacks": {},
            "wordings": {},
        }
    )
    scenario = Scenario.model_validate(
        posed.scenario.model_dump() | {"id": "", "user": told.model_dump()}
    )
    return reword(replace(posed, scenario=scenario), changes)


def _is_fixed(argument: s8.Argument, posed: ScenarioCase) -> bool:
    """Whether the request fixes the value: a number, a day, a name or words that it quotes; a
    reason may be told in other words."""
    value, quoted = argument.value, posed.scenario.request
    if not isinstance(value, str) or read_day(value):
        return not StateIndex.of(posed.scenario.initial_state).find_home(value, argument.name)
    return (
        value[:1].isupper()
        and value in quoted
        and argument.name not in ("reason", "note", "comment")
    )


def list_spellings(value: Json, posed: ScenarioCase) -> list[str]:
    """Spellings under which the request may say a value."""
    spelt = [str(value)]
    if isinstance(value, float) and value == int(value):
        spelt.append(str(int(value)))
    if isinstance(value, int | float):
        words = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
        ordinals = "ground first second third fourth fifth sixth".split()  # noqa: SIM905
        spelt += [words[int(value)]] if 1 < value < 13 else []
        spelt += [ordinals[int(value)]] if 1 < value < 7 else []
        spelt.append(f"{int(value):02d}:00")
    if day := read_day(value):
        date = read_date(day)
        spelt += [
            one[0] for one in _DATE.finditer(posed.scenario.request) if date and _is_day(one, date)
        ]
    spelt += [str(value).replace("_", " ")] if isinstance(value, str) else []
    return sorted(dict.fromkeys(spelt), key=len, reverse=True)


def _is_day(found: re.Match[str], date: Any) -> bool:
    return int(found["day"]) == date.day and found["month"] == f"{date:%B}"


def _say_vaguely(value: Json) -> str:
    if read_day(value):
        return "the day we spoke of"
    return "so many" if isinstance(value, int | float) else "the one we spoke of"


# Answers: what is to be told is not so.


async def list_answers(
    posed: ScenarioCase, means: GateContext, dice: random.Random
) -> AsyncIterator[Text]:
    scenario = posed.scenario
    facts = scenario.verifier.facts
    for place, fact in enumerate(facts):
        rivals = _list_rivals(fact, scenario)
        for rival in dice.sample(rivals, min(4, len(rivals))):
            wrong = fact.model_copy(update={"value": rival, "also": [], "rivals": []})
            verifier = scenario.verifier.model_copy(
                update={"facts": [*facts[:place], wrong, *facts[place + 1 :]]}
            )
            told = {
                "verifier": verifier.model_dump(),
                "say": scenario.say.replace(str(fact.value), str(rival)),
            }
            faulty = reword(posed, {}, **told)
            found = [
                one
                for one in (await s8.check(faulty, means)).spread()
                if one.reason == "wrong_answer" and fact.name in one.question
            ]
            yield Text("another answer", faulty, tuple(found[:1]), planted=True)
            for finding in found[:1]:
                question = _swap(finding.question, repr(fact.value), repr(rival))
                if "rather than" not in question:
                    question = FactCheck(fact, "underivable", "").ask()
                yield Text(
                    "another answer", posed, (replace(finding, question=question),), planted=False
                )


def _swap(text: str, one: str, other: str) -> str:
    return re.sub(
        rf"{re.escape(one)}|{re.escape(other)}",
        lambda found: other if found[0] == one else one,
        text,
    )


def _list_rivals(fact: Fact, scenario: Scenario) -> list[Json]:
    """Other values of the fields that hold the right one."""
    stock = StateIndex.of(scenario.initial_state)
    if fact.kind == "pattern":
        return []
    found = [
        one
        for values in stock.fields.values()
        if fact.value in values
        for one in values
        if one != fact.value
    ]
    kind = int | float if isinstance(fact.value, int | float) else str
    return list(
        dict.fromkeys(
            one
            for one in found
            if isinstance(one, kind) and str(one) not in scenario.say and one != ""
        )
    )


async def list_told_answers(posed: ScenarioCase) -> AsyncIterator[Text]:
    """The request tells the answer itself; or it holds it among others, and leaves open which it
    is."""
    for fact in posed.scenario.verifier.facts:
        rivals = [str(one) for one in _list_rivals(fact, posed.scenario)][:2]
        if len(rivals) < 2 or isinstance(fact.value, bool):
            continue
        name, right = fact.name.removeprefix("the "), str(fact.value)
        options = " or ".join(sorted([str(fact.value), *rivals]))
        for words, planted in (
            (f"As for the {name}, that is {right}, if I am not mistaken.", True),
            (f"My colleague says the {name} is {right}.", True),
            (f"The {name} used to be {rivals[0]}, and now it is {right}.", True),
            (f"As for the {name}, that is {options}, I forget which.", False),
            (f"My colleague once wrote down {right}, though not about this.", False),
            (
                f"The {name} was {rivals[0]} once and {right} at another time; I do not know "
                "what it is now.",
                False,
            ),
        ):
            text = reword(posed, {}, words)
            leaks = [
                s9.describe_leak(*leak, None)
                for leak in s9.list_leaks(text)
                if leak == ("answer", right)
            ]
            yield Text("the answer told", text, tuple(leaks[:1]), planted=planted)
