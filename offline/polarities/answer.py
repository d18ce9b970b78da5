"""Answer: a question about the records, whose answer is counted, added up or compared from what the
lookups give."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from envmill.verifiers.facts import is_given
from offline.domain import Collection, Row
from offline.polarities.base import Twins, find_row, is_known, policy_of, read_rows, stands_in
from offline.wording import capitalise, follow, render_value
from offline.wording.grammar import load_sayings
from offline.world import DomainWorld
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.scenario import Fact

FEWEST_ROWS = 2
OPENED, CLOSED = 0.75, 0.6
MOST_RIVALS = 8
Kind: TypeAlias = Literal["text", "number", "date"]
SHORTEST = 3
"""Letters and digits of a name that no sentence holds by chance."""
NO_SUMS = frozenset(
    re.findall(
        r"\w+",
        "age charge degrees depth draught engaged fee form grade height length level light limit "
        "line lowest_form mark minimum number "
        "per_kilo per_tray percent price rate reading row score serviced_at sulphur trust wear "
        "worth year",
    )
)
"""Of these nobody wants to know what they come to in all: a sum of ages or prices is nothing."""
LOOKED_UP = 0.3
"""How often a question is taken that one lookup answers as it stands; the others have to be counted
or compared."""


@dataclass(frozen=True)
class PlannedQuestion:
    """Something to be found out."""

    word: str
    """Which sayings ask for it."""
    fields: dict[str, str]
    value: Json
    rivals: list[Json]
    kind: Kind
    spoken: str = ""
    """How it is said, where that is not the value itself."""


def pose_answer(world: DomainWorld, dice: random.Random) -> Twins | None:
    """A question with its reads; none when nothing worth asking was found."""
    for view in _sample_views(world, dice):
        questions = list(_list_questions(view, world))
        dice.shuffle(questions)
        for question in questions if not view.alone or dice.random() < LOOKED_UP else []:
            reply = _write(question, view, world, dice)
            if reply:
                return Twins(reply, None, "a question asks for no change")
    return None


@dataclass(frozen=True)
class LookupView:
    """Rows that one lookup gives, and what they are the rows of."""

    collection: str
    rows: list[Row]
    reads: list[Call]
    of: str
    """`of Maya Okafor`, or empty when the lookup gives them all."""
    alone: bool = False
    """One row that was asked for by name."""


def _sample_views(world: DomainWorld, dice: random.Random) -> Iterator[LookupView]:
    names = list(world.domain.collections)
    dice.shuffle(names)
    for name in names:
        rows = list(world.state[name].values())
        if rows:
            yield from _view(name, dice.choice(rows), world)


def _view(name: str, row: Row, world: DomainWorld) -> Iterator[LookupView]:
    """What is seen on the way to a row. Only lookups that hide nothing: a question is about the
    records, not about a filter."""
    collection = world.domain.collections[name]
    reads = find_row(name, row["id"], world.domain, world.state)
    given = read_rows(reads[-1], world)
    if not collection.lookup.using:
        if len(given) == len(world.state[name]):
            yield LookupView(name, given, reads, "")
        return
    ((_, attribute),) = collection.lookup.using.items()
    owner = collection.attributes[attribute].ref
    if owner and len(given) == sum(
        each[attribute] == row[attribute] for each in world.state[name].values()
    ):
        yield LookupView(
            name, given, reads, f"of {follow(owner, row[attribute], [], world.domain, world.state)}"
        )
    elif not owner and given == [row]:
        yield LookupView(name, given, reads, "", alone=True)


def _list_questions(view: LookupView, world: DomainWorld) -> Iterator[PlannedQuestion]:
    collection = world.domain.collections[view.collection]
    plain = [key for key, source in collection.attributes.items() if not source.ref]
    names = {
        "things": view.collection.replace("_", " "),
        "thing": collection.noun.replace("_", " "),
        "of": view.of,
    }
    for key in plain:
        values = [row[key] for row in view.rows]
        said = names | {"attribute": key.replace("_", " ")}
        if view.alone:
            yield from _ask_single(view, key, said, world)
        elif len(view.rows) >= FEWEST_ROWS and all(
            isinstance(each, int | float) for each in values
        ):
            yield from _ask_numbers(view, key, said, world) if not _is_name(key, collection) else ()
        elif len(view.rows) >= FEWEST_ROWS and all(_is_day(each) for each in values):
            yield _make(
                "latest",
                said,
                max(values),
                [each for each in values if each != max(values)],
                "date",
            )
        elif key == "status" and len(view.rows) >= FEWEST_ROWS:
            yield from _ask_status(view, said, world)


def _ask_single(
    view: LookupView, key: str, said: dict[str, str], world: DomainWorld
) -> Iterator[PlannedQuestion]:
    (row,) = view.rows
    label = follow(view.collection, row["id"], [], world.domain, world.state)
    others = [each[key] for each in world.state[view.collection].values() if each[key] != row[key]]
    if (
        isinstance(row[key], int | float)
        or _is_day(row[key])
        or (
            key != "status"
            and row[key] not in label
            and len(re.findall(r"[^\W\d_]", row[key])) >= SHORTEST
        )
    ):
        kind = (
            "number"
            if isinstance(row[key], int | float)
            else "date"
            if _is_day(row[key])
            else "text"
        )
        yield _make("single", said | {"label": label}, row[key], others, kind)


def _ask_numbers(
    view: LookupView, key: str, said: dict[str, str], world: DomainWorld
) -> Iterator[PlannedQuestion]:
    values = [row[key] for row in view.rows]
    total = round(sum(values), 2)
    every = round(sum(row[key] for row in world.state[view.collection].values()), 2)
    if key not in NO_SUMS:
        yield _make(
            "total",
            said,
            total,
            [total + 1, total - 1, *([every] if every != total else []), *values],
            "number",
        )
    for word, best in (("highest", max(values)), ("lowest", min(values))):
        holders = [row for row in view.rows if row[key] == best]
        if len(holders) == 1 and not view.of:
            yield from _ask_which(word, holders[0], view, said, world)


def _is_name(key: str, collection: Collection) -> bool:
    """Whether rows are called by it: nobody asks which box has the highest number."""
    return f"{{{key}}}" in collection.label


def _ask_status(
    view: LookupView, said: dict[str, str], world: DomainWorld
) -> Iterator[PlannedQuestion]:
    for value, count in sorted(Counter(row["status"] for row in view.rows).items()):
        # Said beside the right number, its neighbours give away who recites; the whole is no rival,
        # for it may well be told too.
        near = [
            each
            for each in (count - 1, count + 1, count + 2)
            if each >= 0 and each != len(view.rows)
        ]
        yield _make("howmany", said | {"value": value}, count, near, "number")
        if count == 1 and not view.of:
            yield from _ask_which(
                "which",
                next(row for row in view.rows if row["status"] == value),
                view,
                said | {"value": value},
                world,
            )


def _ask_which(
    word: str, row: Row, view: LookupView, said: dict[str, str], world: DomainWorld
) -> Iterator[PlannedQuestion]:
    """Only where rows go by one attribute: of a longer name nobody says every part."""
    found = re.fullmatch(r"[^{]*\{(\w+)\}[^{]*", world.domain.collections[view.collection].label)
    if found and found[1] in row and len(re.findall(r"\w", str(row[found[1]]))) >= SHORTEST:
        rivals = [each[found[1]] for each in view.rows if each is not row]
        named = follow(view.collection, row["id"], [], world.domain, world.state)
        yield replace(_make(word, said, row[found[1]], rivals, "text"), spoken=named)


def _make(
    word: str, fields: dict[str, str], value: Json, rivals: list[Json], kind: Kind
) -> PlannedQuestion:
    value, *rivals = (_drop_nought(each) for each in (value, *rivals))
    others = [
        each
        for each in dict.fromkeys(rivals)
        if each != value and str(each).lower() not in str(value).lower()
    ]
    return PlannedQuestion(word, fields, value, others[:MOST_RIVALS], kind)


def _drop_nought(value: Json) -> Json:
    """As people say it: nobody answers 2002.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _write(
    question: PlannedQuestion, view: LookupView, world: DomainWorld, dice: random.Random
) -> ScenarioReply | None:
    sayings = load_sayings()
    asked = capitalise(
        re.sub(
            r"\{(\w+)\}",
            lambda found: question.fields[found[1]],
            sayings.sample(question.word, dice),
        )
    )
    asked = re.sub(r"  +| (?=[?.,])", lambda found: " " if len(found[0]) > 1 else "", asked)
    drawn = dice.random()
    opening = (
        [dice.choice(world.domain.voices)]
        if drawn < OPENED / 2
        else [sayings.sample("ask_open", dice)]
        if drawn < OPENED
        else []
    )
    closing = [sayings.sample("ask_close", dice)] if dice.random() < CLOSED else []
    request = " ".join([*opening, asked, *closing])
    rivals = [each for each in question.rivals if not stands_in(each, request)]
    told = Fact(
        name=f"answer: {question.word}", kind=question.kind, value=question.value, rivals=rivals
    )
    # Read as a judge reads: 45.0 is given away by "room 45".
    if (
        not question.value
        or not question.rivals
        or any(is_given(told, text) for text in (request, policy_of(world.domain)))
    ):
        return None
    if not all(
        is_known(call, view.reads[:place], request, world) for place, call in enumerate(view.reads)
    ):
        return None
    spoken = question.spoken or render_value(question.value)
    say = sayings.sample(
        "answer_number" if question.kind == "number" else "answer_text", dice
    ).replace("{value}", spoken)
    return ScenarioReply(
        initial_state=world.state,
        request=request,
        oracle=view.reads,
        polarity="answer",
        say=capitalise(say),
        tell=[told],
        goals=[asked],
    )


def _is_day(value: Json) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value))
