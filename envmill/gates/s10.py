"""S10: text and structure agree: every date, amount and reference of the request is one of the world it speaks of."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal

from envmill.agents.attackers.stock import Stock
from envmill.gates.base import Finding, Means, Posed, drop, keep
from envmill.gates.likeness import is_same_end
from envmill.gates.order import list_other_amounts, list_unasked, order_as_asked
from envmill.gates.s15 import describe_row, list_targets
from envmill.gates.sources import COUNTED, Knowledge, list_leaves, read_dates, read_numbers, read_part, strip_numbering
from envmill.gates.trials import Attempt, Trials, list_writes
from envmill.gates.wishes import Wishes
from envmill.verifiers.numbers import find_numbers
from envmill.verifiers.words import normalise
from schemas.base import Json
from schemas.ledger import ReasonClass
from schemas.scenario import LEFT_ALONE

GATE = "S10"
CODES: Mapping[str, ReasonClass] = {
    "unknown_amount": "suspicion",
    "unknown_date": "suspicion",
    "unknown_reference": "suspicion",
    "wrong_weekday": "suspicion",
    "wrong_count": "suspicion",
    "wrong_order": "suspicion",
    "another_amount": "suspicion",
    "unasked_change": "suspicion",
}

_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})[,]?\s+(?:the\s+)?$")
_REFERENCE = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w-])")
_ITEM = re.compile(r"(?m)^\s*(?:\(?\d+[.)]|[-*•])\s+\S")
_NEAR = 400
"""Days from the clock within which a date may be one that the user has in mind."""


async def look(subject: Posed, means: Means) -> Finding:
    """Contradictions are dropped; what is only found somewhere in the state is told."""
    near, far = await gather_knowledge(subject, means)
    asked = Wishes.of(subject)
    found = [*list_contradictions(subject, far), *list_unmatched(subject, near, far), *list_mismatches(asked)]
    found += await list_disorder(subject, means, asked)
    if found:
        code, words = found[0]
        return drop(GATE, code, words, [{"contradiction": each, "what": what} for each, what in found])
    loose = sorted(str(one) for one in list_amounts(subject) if one not in near.numbers)
    return keep(GATE, {"found_in_state_only": loose})


async def gather_knowledge(subject: Posed, means: Means) -> tuple[Knowledge, Knowledge]:
    """What the reference path uses and sees, and beyond it the whole state and policy."""
    scenario, year = subject.scenario, int(subject.scenario.clock[:4])
    near, far = Knowledge(year), Knowledge(year)
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


def list_unmatched(subject: Posed, near: Knowledge, far: Knowledge) -> Iterator[tuple[str, str]]:
    """(reason code, words) for what the request says and nothing else knows."""
    request, scenario = subject.scenario.request, subject.scenario
    if not scenario.oracle:
        return
    writes = [scenario.oracle[place] for place in list_writes(subject)]
    stock = Stock.of(scenario.initial_state)
    given = [(name, value) for call in writes for name, value in call.arguments.items() if not stock.find_counted(name, value)]
    used = {Decimal(str(leaf)) for _, value in given for leaf in list_leaves(value) if _is_amount(leaf)}
    unsaid, described = sorted(used - list_said(request)), describe_targets(subject)
    for number in sorted(list_amounts(subject)):
        instead = f"; the reference path uses {', '.join(map(str, unsaid))}" if unsaid else ""
        if number not in far.numbers and not _is_part(number, far):
            yield "unknown_amount", f"the request says {number}, which nothing in the world or on the reference path is{instead}"
        elif unsaid and not described.holds(float(number)) and not _is_part(number, described):
            yield "unknown_amount", f"the request says {number}, which nothing that is acted on has{instead}"
    for day in read_dates(request):
        said = f"{day.year or near.year:04d}-{day.month:02d}-{day.day:02d}"
        if said not in far.dates and not _is_near(said, scenario.clock):
            yield "unknown_date", f"the request says {said}, far from the clock and found nowhere else"
        elif said not in far.dates and any(_is_date(leaf) for call in writes for leaf in list_leaves(call.arguments)):
            yield "unknown_date", f"the request says {said}; the reference path uses another date"
    for reference in _REFERENCE.findall(request):
        if reference.casefold() not in far.normal and not _stands_in(reference, far):
            yield "unknown_reference", f"the request names {reference}, which is nowhere in the state or on the reference path"


async def list_disorder(subject: Posed, means: Means, wishes: Wishes) -> list[tuple[str, str]]:
    """Wishes in another order than the reference path carries them out in, where the order asked for is refused or ends elsewhere."""
    oracle, asked, writes = subject.scenario.oracle, order_as_asked(subject, wishes), list_writes(subject)
    if asked is None:
        return []
    reads = [call for place, call in enumerate(oracle) if place not in writes]
    trials = Trials.of(subject, means)
    attempt = Attempt("as asked", (*reads, *(oracle[place] for place in asked)), trials.last_words())
    (trial,) = await trials.once("as_asked", lambda: trials.play([attempt]))
    right = (await trials.oracle())[0].ending
    if trial.ending is None or right is None or is_same_end(right.initial, trial.ending.final, right.final, subject.environment.tables):
        return []
    names = ", ".join(oracle[place].name for place in asked)
    return [("wrong_order", f"the request asks in the order {names}; done so, it is refused or ends elsewhere")]


def list_mismatches(asked: Wishes) -> Iterator[tuple[str, str]]:
    """(reason code, words) for changes that no sentence asks for, or whose sentence says another amount."""
    for wish, used, said in list_other_amounts(asked):
        yield "another_amount", f"call {wish.place + 1}, {wish.call.name}, uses {used}; the sentence that asks for it says {said}"
    for wish in list_unasked(asked):
        yield "unasked_change", f"call {wish.place + 1}, {wish.call.name}: what the request says of its rows asks for another change"


def describe_targets(subject: Posed) -> Knowledge:
    """What the reference path's arguments and the rows it acts on are, references followed."""
    stock, described = Stock.of(subject.scenario.initial_state), Knowledge(int(subject.scenario.clock[:4]))
    described.take([call.arguments for call in subject.scenario.oracle])
    for target in list_targets(subject):
        described.take([value for _, value in describe_row(stock, target.collection, target.key, 2)])
    return described


def list_contradictions(subject: Posed, far: Knowledge) -> Iterator[tuple[str, str]]:
    """(reason code, words) for what the request says against itself or against the calendar."""
    text = normalise(subject.scenario.request)
    for day in read_dates(subject.scenario.request):
        named = _WEEKDAY.search(text[: day.span[0]])
        if named and date(day.year or far.year, day.month, day.day).weekday() != _WEEKDAYS.index(named[1]):
            yield "wrong_weekday", f"{day.year or far.year}-{day.month:02d}-{day.day:02d} is no {named[1]}"
    counted, items = COUNTED.search(text), len(_ITEM.findall(subject.scenario.request))
    if counted:
        wanted = int(find_numbers(counted[1])[0].value)
        steps = len(list_writes(subject)) + len(subject.scenario.verifier.facts)
        if items and items != wanted:
            yield "wrong_count", f"the request speaks of {counted[0]} and lists {items}"
        elif subject.scenario.oracle and steps < wanted:
            yield "wrong_count", f"the request speaks of {counted[0]}; the reference path changes or tells {steps}"


def list_amounts(subject: Posed) -> set[Decimal]:
    """Numbers of the request in digits; one in words may be anything (`one more thing`)."""
    text = strip_numbering(subject.scenario.request)
    return {one.value for one in find_numbers(text) if any(map(str.isdigit, text[slice(*one.span)]))}


def list_said(request: str) -> set[Decimal]:
    """Numbers the request says, in whatever spelling."""
    return {one.value for one in read_numbers(request)}


def _is_part(number: Decimal, far: Knowledge) -> bool:
    """Whether it is part of a name: `room 12`, `flat 4`."""
    return re.search(rf"(?<![\w.]){re.escape(f'{number:f}')}(?![\w.])", f"{far.normal} {' '.join(far.values)}") is not None


def _stands_in(reference: str, far: Knowledge) -> bool:
    return any(reference.casefold() in value for value in far.values)


def _is_amount(leaf: Json) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def _is_date(leaf: Json) -> bool:
    return isinstance(leaf, str) and re.match(r"\d{4}-\d\d-\d\d", leaf) is not None


def _is_near(said: str, clock: str) -> bool:
    return abs(date.fromisoformat(said) - date.fromisoformat(clock[:10])) <= timedelta(days=_NEAR)
