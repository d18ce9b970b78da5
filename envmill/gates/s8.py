"""S8: an agent on the reference path can know every argument before its call, and at the end the
facts that it must tell.

request, facts, policy ─┐
replies to earlier calls ┴─► does anything hold this argument?  no ─► computed from what is known?  no ─► reported
all replies ─────────────► does what is to be told follow?      no, or the request's words fit another value better ─► reported
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Literal

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, gather, skip
from envmill.gates.exploring.trials import Attempt, Trials
from envmill.gates.reading.answers import judge_answers
from envmill.gates.reading.given_values import (
    amounts_to,
    find_root,
    has_hundredths,
    is_in_hundredths,
    is_listed,
    is_relative,
    is_written_otherwise,
)
from envmill.gates.reading.known_values import (
    KnownValues,
    holds_words,
    list_leaves,
    list_told,
    read_day,
    read_numbers,
    read_part,
    read_plain_number,
)
from envmill.gates.reading.question import cut_name, split_sentences, stem
from envmill.gates.reading.request_alignment import RequestAlignment
from envmill.gates.s15 import describe_row
from envmill.language.words import split_words
from envmill.sandbox import Observation
from schemas.base import Json, is_array, is_object
from schemas.environment import Call, Tool
from schemas.ledger import ReasonClass

GATE = "S8"
CODES: Mapping[str, ReasonClass] = {
    "unseen_id": "proof",
    "underivable_argument": "suspicion",
    "wrong_answer": "suspicion",
}

Source = Literal[
    "told", "seen", "listed", "narrows", "idle", "free", "default", "unknown", "nowhere"
]

_DAY_WORDS = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|now|next|following|later|days?|weeks?|months?|fortnight|"
    r"end of"
    r"|weekend|earlier|postponed?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|wed|"
    r"thur?s?|fri|sat|sun)\b"
)
_MOST_WORDS = 0.6
"""Share of a longer text's words that must be known if the text is to count as the agent's own
summary."""
_OTHER_WORDS = "something else altogether"
"""Holds no word of a value: a verifier may look for the value inside a longer text."""
_LITTLE = 3
"""Letters of a word that says little: `the`, `for`, `of`."""
_LETTERS = 2
"""Maximal number of letters of a key that a reader can derive from its number."""


@dataclass(frozen=True)
class Argument:
    """A plain value that the reference path uses, and where it could be known from."""

    place: int
    tool: str
    name: str
    value: Json
    source: Source


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Ids first: an id out of nowhere is a lookup that is missing, and the replies of the replay
    show it."""
    scenario = subject.scenario
    if not scenario.oracle:
        return skip(
            GATE, "no_oracle", "There is no reference path whose arguments could be traced."
        )
    arguments = await find_harmless(subject, means, await trace(subject, means))
    lost = [each for each in arguments if each.source == "nowhere"]
    unknown = [describe_argument(each) for each in arguments if each.source == "unknown"]
    keys, said = StateIndex.of(scenario.initial_state), "\n".join(list_told(scenario))
    hidden = [
        each for each in lost if keys.find_home(each.value) and not is_hinted(each.value, said)
    ]
    evidence: Json = {"nowhere": [describe_argument(each) for each in lost], "unknown": unknown}
    found = [drop(GATE, "unseen_id", describe(each), evidence) for each in hidden]
    found += [
        replace(drop(GATE, "underivable_argument", describe(each), evidence), question=ask(each))
        for each in lost
        if each not in hidden
    ]
    answers = await judge_answers(subject, means)
    told: list[Json] = [each.describe() for each in answers]
    wrong = [each for each in answers if each.standing in ("outdone", "underivable")]
    found += [
        replace(drop(GATE, "wrong_answer", each.words, told), question=each.ask()) for each in wrong
    ]
    return gather(GATE, found, {"arguments": len(arguments), "unknown": unknown, "answers": told})


async def find_harmless(
    subject: ScenarioCase, means: GateContext, arguments: Sequence[Argument]
) -> list[Argument]:
    """An unknown value is no fault if nothing depends on it: the path comes to the same end without
    the value, or with another one."""
    trials = Trials.of(subject, means)
    return [
        await weigh(one, subject, trials) if one.source == "nowhere" else one for one in arguments
    ]


async def weigh(argument: Argument, subject: ScenarioCase, trials: Trials) -> Argument:
    """The argument, with its source where a look-up is answered without it, or the look-up is idle,
    or its text may be any."""
    oracle, place = subject.scenario.oracle, argument.place
    call = oracle[place]
    tool = next((one for one in subject.environment.tools if one.name == call.name), None)
    if tool is None or argument.name not in call.arguments:
        return argument
    before, after = oracle[:place], oracle[place + 1 :]
    if tool.effect == "query" and argument.name not in tool.parameters.get("required", []):
        kept = {name: value for name, value in call.arguments.items() if name != argument.name}
        (trial,) = await trials.play(
            [Attempt("wider", (*before, call.model_copy(update={"arguments": kept})), ())]
        )
        if len(trial.replies) > place and trial.replies[place].outcome == "ok":
            return replace(argument, source="narrows")
    if tool.effect == "query":
        (trial,) = await trials.play([Attempt("without", (*before, *after), trials.last_words())])
        idle = trial.verdict.outcome == "pass" and is_idle(
            place, subject, (await trials.oracle())[0].replies
        )
        return replace(argument, source="idle") if idle else argument
    # The user may state a name even if no verifier checks it.
    if isinstance(argument.value, str) and " " in argument.value and not argument.value.istitle():
        put = call.model_copy(update={"arguments": {**call.arguments, argument.name: _OTHER_WORDS}})
        (trial,) = await trials.play(
            [Attempt("put otherwise", (*before, put, *after), trials.last_words())]
        )
        return replace(argument, source="free") if trial.verdict.outcome == "pass" else argument
    return argument


def is_idle(place: int, subject: ScenarioCase, replies: Sequence[Observation]) -> bool:
    """Whether a look-up's reply shows nothing that a later call or the answer uses and that is not
    known without it."""
    scenario, year = subject.scenario, int(subject.scenario.clock[:4])
    shown, known = KnownValues(year), KnownValues.of(list_told(scenario), year)
    for number, (call, reply) in enumerate(zip(scenario.oracle, replies, strict=False)):
        needed = list(list_leaves(call.arguments)) if number > place else []
        if any(shown.holds(value) and not known.holds(value) for value in needed):
            return False
        (shown if number == place else known).take([read_part(part) for part in reply.parts])
    return not any(
        shown.holds(fact.value) and not known.holds(fact.value) for fact in scenario.verifier.facts
    )


def describe(argument: Argument) -> str:
    return (
        f"call {argument.place + 1}, {argument.tool}: nobody said {argument.name} = "
        f"{argument.value!r}, and no reply before it shows it"
    )


def ask(argument: Argument) -> str:
    """A neutral question about one argument."""
    return (
        "Could somebody who knows only the request, the tools' descriptions and the earlier "
        "replies have used another value than "
        f"{argument.value!r} for {argument.name} of {argument.tool} (call {argument.place + 1}) "
        "and still have done what the request says?"
    )


def is_hinted(value: Json, said: str) -> bool:
    """Whether the text states the digits of a short key: a reader of `room 12` may derive the key
    R12."""
    digits = re.sub(r"\D", "", str(value))
    is_short = len(re.findall(r"[^\W\d_]", str(value))) <= _LETTERS
    return bool(digits) and is_short and re.search(rf"(?<!\d){digits}(?!\d)", said) is not None


async def trace(subject: ScenarioCase, means: GateContext) -> list[Argument]:
    """Every plain value of every call, with its source among the values known before the call."""
    scenario, (trial, *_) = subject.scenario, await Trials.of(subject, means).oracle()
    year, policy = int(scenario.clock[:4]), subject.environment.policy_document
    said, told = (KnownValues.of([*list_told(scenario), *texts], year) for texts in ((), (policy,)))
    told.dates.add(scenario.clock[:10])
    apart = KnownValues.of([*map(str, list_leaves(scenario.user.facts)), policy], year)
    asked, seen = RequestAlignment.of(subject), KnownValues(year)
    tools, stock = (
        {tool.name: tool for tool in subject.environment.tools},
        StateIndex.of(scenario.initial_state),
    )
    found, rows, stored = (
        list[Argument](),
        list[Json](),
        list(list_leaves(trial.ending.final)) if trial.ending else [],
    )
    for place, call in enumerate(scenario.oracle):
        schemas: Mapping[str, Json] = (
            tools[call.name].parameters.get("properties", {}) if call.name in tools else {}
        )
        found += [
            Argument(place, call.name, name, value, "seen")
            for name, value in list_plain(call.arguments)
            if is_result(value, call)
        ]
        for name, value in (
            one for one in list_plain(call.arguments) if not is_result(one[1], call)
        ):
            top, about = (
                name.split(".")[0],
                {str(leaf) for leaf in list_leaves(call.arguments) if isinstance(leaf, str)},
            )
            default = schemas.get(top, {}).get("default", _NO_DEFAULT) == value
            source, tool, sentence = (
                find_source(value, told, seen, top),
                tools.get(call.name),
                asked.find_text(place),
            )
            if (
                source == "told"
                and is_amount(value)
                and not is_said(value, said, policy, (call.name, name, sentence), tool)
            ):
                source = find_source(value, said, seen, top)
            if counted := stock.find_counted(top, value):
                # A number that names a row is no amount: an agent does not compute it, and rows of
                # other kinds have it, too.
                source = (
                    "told"
                    if source == "told"
                    else "seen"
                    if any(is_named(value, top, counted, row) for row in rows)
                    else "nowhere"
                )
            elif (
                source == "told"
                and not apart.holds(value)
                and asked.mentions_for_others(place, value)
            ):
                source = find_source(value, apart, seen)
            if source == "unknown" and is_amount(value) and not counted and sentence:
                # A user who leaves a sum to the agent states its parts. Numbers of other wishes
                # could add up to any number.
                source = (
                    "unknown"
                    if is_worked_out(value, read_own(place, asked, stock, year), seen)
                    else "nowhere"
                )
            if (
                source == "seen"
                and is_amount(value)
                and not counted
                and not any(
                    is_shown(value, row, about) or is_written(value, f"{top} {call.name}", row)
                    for row in rows
                )
            ):
                here = KnownValues.of([sentence], year) if sentence else told
                source = (
                    "unknown"
                    if is_worked_out(
                        value, here, seen if is_relative(here.normal) else KnownValues(year)
                    )
                    else "nowhere"
                )
            # A listed value is known, but the user must say which one a row should get. A value
            # that no row holds selects what the tool does.
            if source == "nowhere" and not counted and is_listed(value, tool, name):
                source = (
                    "listed"
                    if value not in stored or (tool and tool.effect == "query")
                    else "nowhere"
                )
            found.append(Argument(place, call.name, name, value, "default" if default else source))
        if place < len(trial.replies):
            parts = [read_part(part) for part in trial.replies[place].parts]
            rows += list_rows(parts)
            seen.take(parts)
            seen.read(trial.replies[place].message)
    return found


def read_own(place: int, asked: RequestAlignment, stock: StateIndex, year: int) -> KnownValues:
    """The sentence that asks for a change, without numbers of the other changes that it asks for
    and of the rows these name."""
    wish = next(one for one in asked.known if one.place == place)
    beside = {
        number for other in asked.list_beside(wish) for number in list_numbers(other.call, stock)
    }
    own = KnownValues.of([asked.find_text(place)], year)
    own.numbers -= beside - set(list_numbers(wish.call, stock))
    return own


def list_numbers(call: Call, stock: StateIndex) -> Iterator[Decimal]:
    """Numbers among the arguments of a call, and in the rows that it names, in texts such as
    `GA-855` too."""
    for name, value in list_plain(call.arguments):
        home = stock.find_home(value, name)
        for leaf in (
            (one for _, one in describe_row(stock, home, str(value), 1)) if home else (value,)
        ):
            yield from (one.value for one in read_numbers(leaf)) if isinstance(leaf, str) else ()
            number = read_plain_number(leaf)
            yield from () if number is None else (number,)


def is_said(
    value: Json, said: KnownValues, policy: str, about: tuple[str, str, str], tool: Tool | None
) -> bool:
    """Whether the user states an amount, or the policy document does. In the policy, the sentence
    must share a word with the change or with the wish for it.

    `about` is the names of tool and argument, and the sentence that asks for the change; without
    such a sentence, all the user's words count. `Where two people quarrel, the mediator decides`
    sets no amount.
    """
    words = list_roots(
        " ".join([*about, tool.description if tool else "", "" if about[2] else said.normal])
    )
    number = read_plain_number(value)
    if number is None or find_source(value, said, KnownValues(said.year)) == "told":
        return True
    wanted = {number, number / 100} if has_hundredths(policy) else {number}
    return any(
        not wanted.isdisjoint(one.value for one in read_numbers(text))
        and not words.isdisjoint(list_roots(f"{heading} {text}"))
        for heading, text in list_ruling(policy)
    )


def list_ruling(policy: str) -> Iterator[tuple[str, str]]:
    """Sentences of the policy document, each with the heading that it stands under."""
    heading = ""
    for line in policy.splitlines():
        if line.lstrip().startswith("#") or line.rstrip().endswith(":"):
            heading = line
        yield from ((heading, text) for text in split_sentences(line))


def list_roots(text: str) -> set[str]:
    """Words of a text that carry meaning, one form for each."""
    return {find_root(word) for word in split_words(text.replace("_", " ")) if len(word) > _LITTLE}


def is_result(value: Json, call: Call) -> bool:
    """Whether the value is the result of an earlier call and stands in that call's reply."""
    return any(value in list(list_leaves(use.was)) for use in call.uses)


_NO_DEFAULT = object()


def find_source(value: Json, told: KnownValues, seen: KnownValues, name: str = "") -> Source:
    """The source from which an agent could know a value. A value that could be computed is unknown,
    because no rule can decide."""
    if isinstance(value, bool) or value is None or value == "":
        return "default"
    if told.holds(value) or is_in_hundredths(value, told):
        return "told"
    if seen.holds(value):
        return "seen"
    return (
        "unknown"
        if is_worked_out(value, told, seen) or is_part_of_day(name, value, told.dates | seen.dates)
        else "nowhere"
    )


def is_worked_out(value: Json, told: KnownValues, seen: KnownValues) -> bool:
    """Whether an agent could compute the value: a date given by a weekday or a distance, a sum or
    share of known numbers, or a text of mostly known words."""
    if day := read_day(value):
        return bool(_DAY_WORDS.search(told.normal)) or _is_spelled_otherwise(day, told)
    number = read_plain_number(value)
    if number is not None and not isinstance(value, str):
        wanted = {number, number / 100} if has_hundredths(told.plain) else {number}
        return amounts_to(number, told, seen.numbers) or any(
            not wanted.isdisjoint(_combine(one, other))
            for one in told.numbers
            for other in told.numbers | seen.numbers
        )
    if is_written_otherwise(str(value), told, seen):
        return True
    words = split_words(str(value))
    known = [
        word for word in words if holds_words(told.normal, word) or holds_words(seen.normal, word)
    ]
    return len(words) > 1 and len(known) / len(words) >= _MOST_WORDS


def is_part_of_day(name: str, value: Json, days: set[str]) -> bool:
    """Whether an argument is the year or the month of a day that is known, today among them: `2026`
    is in `1 March 2026`."""
    words, number = name.lower().split("_"), read_plain_number(value)
    part = slice(0, 4) if "year" in words else slice(5, 7) if "month" in words else None
    return part is not None and number is not None and any(int(day[part]) == number for day in days)


def is_amount(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_shown(value: Json, row: Json, about: set[str]) -> bool:
    """Whether a row contains an amount and is about the same things as the call. Small numbers
    occur in rows of all kinds."""
    leaves = list(list_leaves(row))
    return value in [leaf for leaf in leaves if is_amount(leaf)] and (
        not about or bool(about & {str(leaf) for leaf in leaves})
    )


def is_written(value: Json, name: str, row: Json) -> bool:
    """Whether a text in a row states an amount in one sentence with a word of the parameter or of
    the tool: `loads it with the loading code 3620`."""
    words = {stem(word) for word in cut_name(name)}
    return any(
        Decimal(str(value)) in KnownValues.of([sentence], 0).numbers
        and not words.isdisjoint(map(stem, split_words(sentence)))
        for leaf in list_leaves(row)
        if isinstance(leaf, str) and " " in leaf
        for sentence in split_sentences(leaf)
    )


def is_named(value: Json, name: str, home: str, row: Json) -> bool:
    """Whether a row of a reply bears a number as its own, or as the name of the parameter."""
    own = {name, "id", f"{home.rstrip('s')}_id"}
    return any(field in own and leaf == value and leaf is not True for field, leaf in row.items())


def list_rows(value: Json) -> Iterator[Json]:
    """Objects at any depth. An object that contains others is listed without them."""
    if is_object(value):
        inner = [row for one in value.values() for row in list_rows(one)]
        yield from inner
        yield {name: one for name, one in value.items() if not is_object(one)} if inner else value
    elif is_array(value):
        for one in value:
            yield from list_rows(one)


def list_plain(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """(dotted name, plain value) of an arguments object."""
    if is_object(value):
        for key, one in value.items():
            yield from list_plain(one, f"{name}.{key}" if name else key)
    elif is_array(value):
        for one in value:
            yield from list_plain(one, name)
    else:
        yield name, value


def describe_argument(argument: Argument) -> Json:
    return {
        "call": argument.place + 1,
        "tool": argument.tool,
        "argument": argument.name,
        "value": argument.value,
    }


def _is_spelled_otherwise(day: str, told: KnownValues) -> bool:
    """Whether only the day of the month was said, as in `the 14th`."""
    return re.search(rf"\b{date.fromisoformat(day).day}(?:st|nd|rd|th)\b", told.normal) is not None


def _combine(one: Decimal, other: Decimal) -> tuple[Decimal, ...]:
    if one in (0, 1) or other in (0, 1):
        return ()
    quotients = [a / b for a, b in ((one, other), (other, one)) if b]
    return (one + other, one - other, other - one, one * other, *quotients, one * other / 100)
