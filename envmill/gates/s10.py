"""S10: text and structure agree: every date, amount and reference of the request exists in the
scenario's world."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, gather
from envmill.gates.exploring.equivalence import is_same_end
from envmill.gates.exploring.trials import Attempt, Trials, list_writes
from envmill.gates.reading.change_order import list_other_amounts, list_unasked, order_as_asked
from envmill.gates.reading.given_values import (
    amounts_to,
    has_hundredths,
    has_units,
    is_converted,
    is_in_hundredths,
)
from envmill.gates.reading.known_values import (
    KnownValues,
    list_leaves,
    read_dates,
    read_numbers,
    read_part,
    strip_numbering,
)
from envmill.gates.reading.request_alignment import RequestAlignment
from envmill.gates.s15 import describe_row, list_targets
from envmill.kinds.dialogue.atoms import ATOMS
from envmill.language.numbers import find_numbers
from envmill.language.words import Span, normalise
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.environment import Call
from schemas.ledger import ReasonClass
from schemas.scenario import LEFT_ALONE

GATE = "S10"
Contradiction = tuple[str, str, str]
"""Reason code, words, question."""
CODES: Mapping[str, ReasonClass] = {
    "unmatched_value": "suspicion",
    "wrong_order": "suspicion",
    "unasked_change": "suspicion",
}

_REFERENCE = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w-])")
_QUANTITY = re.compile(
    r"(?i)\d+(?:AM|PM|H|HRS?|KG|G|KM|M|CM|MM|L|ML|MIN|ST|ND|RD|TH|EUR|USD|GBP|CHF|K|X|PCS|W|KW|"
    r"KWH|GB|MB|TB)"
)
"""Amounts, hours and ordinals in capitals, which name nothing."""
_BEFORE = re.compile(
    r"\b(?:at (?:least|most)|(?:no|not) (?:more|less|fewer|later|earlier) than|(?:more|less|fewer|"
    r"under|over|above"
    r"|below|older|younger) than"
    r"|under|over|above|below|up to|between|about|around|roughly|approximately|some|within|until|"
    r"till|since|from|by|than)\s[$€£]?$"
    r"|\d\s?(?:to|and|or|–|-)\s?[$€£]?$"
)
_AFTER = re.compile(
    r"^[$€£]?[\d.,]+\s?(?:[ap]\.?m\b|o'clock|hrs\b|(?:to|or|–|-)\s?\d|(?:\w+ )?(?:more|less|fewer|"
    r"extra|additional"
    r"|further|times|or so|ago|years old)\b"
    r"|(?:minutes?|hours?|days?|weeks?|months?|years?|nights?)(?:'|\b))"
)
_BESIDE = 24
"""Number of characters around a number that show its meaning."""
_NEAR = 400
"""Maximal number of days from the clock to a date that the user may have in mind."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Every contradiction is a suspicion. A value that is found only somewhere in the state is
    reported."""
    near, far = await gather_knowledge(subject, means)
    asked, shown = RequestAlignment.of(subject), await list_shown(subject, means)
    found = [
        *list_unmatched(subject, near, far, shown),
        *list_mismatches(asked, shown),
    ]
    if ATOMS not in subject.environment.files:
        # Of what was composed the user says what they notice, and not what is to be changed.
        found += await list_unasked_changes(subject, means, asked)
    found += await list_disorder(subject, means, asked)
    evidence: Json = [{"contradiction": each, "what": what} for each, what, _ in found]
    loose = sorted(str(one) for one in list_amounts(subject) if one not in near.numbers)
    findings = [
        replace(drop(GATE, code, words, evidence), question=question)
        for code, words, question in found
    ]
    return gather(GATE, findings, {"found_in_state_only": loose})


async def gather_knowledge(
    subject: ScenarioCase, means: GateContext
) -> tuple[KnownValues, KnownValues]:
    """Values that the reference path uses and sees, and all values of the state and the policy."""
    scenario, year = subject.scenario, int(subject.scenario.clock[:4])
    near, far = KnownValues(year), KnownValues(year)
    near.take([call.arguments for call in scenario.oracle])
    near.take([fact.value for fact in scenario.verifier.facts])
    if scenario.oracle:
        trial = (await Trials.of(subject, means).oracle())[0]
        near.take([read_part(part) for reply in trial.replies for part in reply.parts])
    far.take(scenario.initial_state)
    if scenario.polarity in LEFT_ALONE:
        # A wish that is not carried out may name what never comes to be.
        far.take(list(list_leaves(scenario.user.facts)))
    for text in (subject.environment.policy_document, *subject.environment.rules):
        far.read(text)
    far.numbers |= near.numbers
    far.dates |= near.dates | {scenario.clock[:10]}
    far.values |= near.values
    far.normal += near.normal
    return near, far


async def list_shown(subject: ScenarioCase, means: GateContext) -> list[set[Decimal]]:
    """Numbers that replies had shown before each call, from which an amount can be computed. An
    amount in the call's own arguments or reply does not count, because it would make any amount
    known."""
    if not subject.scenario.oracle:
        return []
    trial, seen = (
        (await Trials.of(subject, means).oracle())[0],
        KnownValues(int(subject.scenario.clock[:4])),
    )
    shown: list[set[Decimal]] = []
    for place in range(len(subject.scenario.oracle)):
        shown.append(set(seen.numbers))
        seen.take(
            [read_part(part) for part in trial.replies[place].parts]
            if place < len(trial.replies)
            else []
        )
    return shown


def list_unmatched(
    subject: ScenarioCase, near: KnownValues, far: KnownValues, shown: Sequence[set[Decimal]]
) -> Iterator[Contradiction]:
    """Values of the request that no other source knows."""
    request, scenario = subject.scenario.request, subject.scenario
    if not scenario.oracle:
        return
    writes = [scenario.oracle[place] for place in list_writes(subject)]
    used, said = list_used(subject), KnownValues.of([request], near.year)
    unsaid = sorted(
        one for one in used.keys() - list_said(request) if not is_in_hundredths(one, said)
    )
    described = describe_targets(subject)
    for number in sorted(list_amounts(subject)):
        instead = f"; the reference path uses {', '.join(map(str, unsaid))}" if unsaid else ""
        question = ask_amount(number, unsaid)
        if number not in far.numbers and not _is_part(number, far):
            in_other_units = has_units(request) and is_converted(number, near.numbers)
            if not in_other_units and not (
                has_hundredths(request) and number * 100 in near.numbers
            ):
                yield (
                    "unmatched_value",
                    f"the request says {number}, which nothing in the world or on the reference "
                    f"path is{instead}",
                    question,
                )
            continue
        is_described = not unsaid or described.holds(float(number)) or _is_part(number, described)
        if (
            number in far.numbers
            and not is_described
            and not _explains(number, {one: shown[used[one]] for one in unsaid}, request)
        ):
            yield (
                "unmatched_value",
                f"the request says {number}, which nothing that is acted on has{instead}",
                question,
            )
    for day in read_dates(request):
        named = f"{day.year or near.year:04d}-{day.month:02d}-{day.day:02d}"
        question = ask_date(named)
        if named in far.dates or _turn_round(named) in far.dates:
            continue
        if not _is_near(named, scenario.clock):
            yield (
                "unmatched_value",
                f"the request says {named}, far from the clock and found nowhere else",
                question,
            )
        elif any(_is_date(leaf) for call in writes for leaf in list_leaves(call.arguments)):
            yield (
                "unmatched_value",
                f"the request says {named}; the reference path uses another date",
                question,
            )
    for reference in _REFERENCE.findall(request):
        if (
            reference.casefold() not in far.normal
            and not _stands_in(reference, far)
            and not _QUANTITY.fullmatch(reference)
        ):
            question = (
                f"Does the request name {reference!r} as something that has to be there to do "
                "what it asks?"
            )
            yield (
                "unmatched_value",
                f"the request names {reference}, which is nowhere in the state or on the "
                "reference path",
                question,
            )


def ask_amount(number: Decimal, instead: Sequence[Decimal]) -> str:
    """A neutral question about an amount of the request. Yes means that the path uses another
    amount."""
    used = f" where {', '.join(map(str, instead))} was used" if instead else ", which was not used"
    return f"Does the request ask for an amount of {number}{used}?"


def ask_date(day: str) -> str:
    return f"Does the request ask for something on {day} that was done for another date?"


def ask_unasked(call: Call) -> str:
    return f"Is {call.name} with {call.arguments} something that the request does not ask for?"


async def list_unasked_changes(
    subject: ScenarioCase, means: GateContext, asked: RequestAlignment
) -> list[Contradiction]:
    """Changes that no sentence of the request asks for, except steps on the way to a requested
    change."""
    return [
        (
            "unasked_change",
            f"call {wish.place + 1}, {wish.call.name}: what the request says of its rows asks "
            "for another change",
            question,
        )
        for wish in list_unasked(asked)
        if (question := ask_unasked(wish.call))
        and not await is_on_the_way(subject, means, wish.place)
    ]


async def is_on_the_way(subject: ScenarioCase, means: GateContext, place: int) -> bool:
    """Whether a later call is refused without this change, and later changes the status that this
    change gave. A user who asks to finish a job also asks to start it. A change that lasts is a
    wish of its own, even if a rule demands it. A user who asks for something that requires a
    payment does not ask to record the payment."""
    oracle, trials = tuple(subject.scenario.oracle), Trials.of(subject, means)
    before, after, without = await trials.play(
        [
            Attempt("before it", oracle[:place]),
            Attempt("up to it", oracle[: place + 1]),
            Attempt("without it", oracle[:place] + oracle[place + 1 :]),
        ]
    )
    right = (await trials.oracle())[0].ending
    if (
        before.ending is None
        or after.ending is None
        or right is None
        or all(one.outcome == "ok" for one in without.replies[place:])
    ):
        return False
    made = {
        tuple(one.path)
        for one in diff_states(before.ending.final, after.ending.final)
        if isinstance(one.after, str)
    }
    later = {tuple(one.path) for one in diff_states(after.ending.final, right.final)}
    return not later.isdisjoint(made)


async def list_disorder(
    subject: ScenarioCase, means: GateContext, wishes: RequestAlignment
) -> list[Contradiction]:
    """Wishes in another order than the reference path carries them out in, where words demand it
    and it is refused or ends elsewhere."""
    oracle, asked, writes = (
        subject.scenario.oracle,
        order_as_asked(subject, wishes),
        list_writes(subject),
    )
    if asked is None:
        return []
    reads = [call for place, call in enumerate(oracle) if place not in writes]
    trials = Trials.of(subject, means)
    attempt = Attempt(
        "as asked", (*reads, *(oracle[place] for place in asked)), trials.last_words()
    )
    (trial,) = await trials.once("as_asked", lambda: trials.play([attempt]))
    right = (await trials.oracle())[0].ending
    if trial.ending is None or right is None:
        return []
    if is_same_end(
        right.initial,
        trial.ending.final,
        right.final,
        subject.environment.tables,
        subject.scenario.verifier,
    ):
        return []
    names = ", ".join(oracle[place].name for place in asked)
    question = f"Does the request demand that these changes be made in this order: {names}?"
    return [
        (
            "wrong_order",
            f"the request asks in the order {names}; done so, it is refused or ends elsewhere",
            question,
        )
    ]


def list_used(subject: ScenarioCase) -> dict[Decimal, int]:
    """Amounts that the path's changes use, and the first call that does."""
    stock, used = StateIndex.of(subject.scenario.initial_state), dict[Decimal, int]()
    for place in list_writes(subject):
        given = [
            value
            for name, value in subject.scenario.oracle[place].arguments.items()
            if not stock.find_counted(name, value)
        ]
        for leaf in (leaf for value in given for leaf in list_leaves(value) if is_amount(leaf)):
            used.setdefault(Decimal(str(leaf)), place)
    return used


def list_mismatches(
    asked: RequestAlignment, shown: Sequence[set[Decimal]]
) -> Iterator[Contradiction]:
    """Changes for which the request states another amount."""
    for wish, used, said in list_other_amounts(asked, shown):
        words = (
            f"call {wish.place + 1}, {wish.call.name}, uses {used}; the sentence that asks for "
            f"it says {said}"
        )
        text = asked.texts[wish.sentence].text.strip()
        yield (
            "unmatched_value",
            words,
            f"Do the words {text!r} ask for {said} rather than {used} in {wish.call.name}?",
        )


def describe_targets(subject: ScenarioCase) -> KnownValues:
    """Values of the reference path's arguments and of the rows that it acts on, references
    followed."""
    stock, described = (
        StateIndex.of(subject.scenario.initial_state),
        KnownValues(int(subject.scenario.clock[:4])),
    )
    described.take([call.arguments for call in subject.scenario.oracle])
    for target in list_targets(subject):
        described.take(
            [value for _, value in describe_row(stock, target.collection, target.key, 2)]
        )
    return described


def list_amounts(subject: ScenarioCase) -> set[Decimal]:
    """Numbers that the request writes in digits. A number word may mean something else (`one more
    thing`)."""
    text = strip_numbering(subject.scenario.request)
    digits = [one for one in find_numbers(text) if any(map(str.isdigit, text[slice(*one.span)]))]
    return {one.value for one in digits if not one.percent and not _is_measured(text, one.span)}


def _is_measured(text: str, span: Span) -> bool:
    """Whether a number is a limit, an hour, an end of a range or a step. No call takes such a
    number as an amount: `at most 20`, `at 9 am`, `3 to 5`, `2 more`."""
    before, after = text[max(0, span[0] - _BESIDE) : span[0]], text[span[0] : span[1] + _BESIDE]
    return _BEFORE.search(before) is not None or _AFTER.search(after) is not None


def list_said(request: str) -> set[Decimal]:
    """Numbers the request says, in whatever spelling."""
    return {one.value for one in read_numbers(request)}


def _explains(number: Decimal, unsaid: Mapping[Decimal, set[Decimal]], request: str) -> bool:
    """Whether this number explains every amount that the path uses and the request does not state,
    by its words or in another unit. `unsaid` maps each such amount to the numbers shown before."""
    said = KnownValues(0, normal=normalise(request), plain=request, numbers={number})
    return all(amounts_to(one, said, there) for one, there in unsaid.items())


def _turn_round(day: str) -> str:
    """Day and month the other way round, as 03/04 is read elsewhere."""
    year, month, number = day.split("-")
    return f"{year}-{number}-{month}"


def _is_part(number: Decimal, far: KnownValues) -> bool:
    """Whether it is part of a name: `room 12`, `flat 4`."""
    return (
        re.search(
            rf"(?<![\w.]){re.escape(f'{number:f}')}(?![\w.])",
            f"{far.normal} {' '.join(far.values)}",
        )
        is not None
    )


def _stands_in(reference: str, far: KnownValues) -> bool:
    return any(reference.casefold() in value for value in far.values)


def is_amount(leaf: Json) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def _is_date(leaf: Json) -> bool:
    return isinstance(leaf, str) and re.match(r"\d{4}-\d\d-\d\d", leaf) is not None


def _is_near(said: str, clock: str) -> bool:
    return abs(date.fromisoformat(said) - date.fromisoformat(clock[:10])) <= timedelta(days=_NEAR)
