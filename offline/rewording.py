"""Answers to the prompt that words a request otherwise: one writer for each operator, over the
wishes that the reference path tells.

reference path ─► wishes ─► operator ─┬─► other words (and, for one of them, a longer chain)
                                      └─► the words as they were, where it finds no place
"""

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime

from envmill.runtime.results import is_reference
from offline.article import name_one
from offline.chaining import is_whole, list_touched, write_chain
from offline.dice import make_dice
from offline.domain import TODAY, Domain, OperationParameter, State
from offline.scenario import plan_more, sample_more
from offline.user import leave_vague, list_vague
from offline.wording import WantedChange, capitalise, follow, list_facts, name_goal, render_phrase
from offline.world import DomainWorld
from schemas.base import Contract, Json
from schemas.prompts import ScenarioReply
from schemas.typed_prompts import Operator, RewordInput, RewordReply

_MORE = (
    "Oh, one thing I forgot: {a}.",
    "Sorry, one more: {a}.",
    "And before I forget: {a}.",
    "Wait, there is something else: {a}, please.",
)
"""They come last, also after a closing."""
_CLOSING = re.compile(
    r"(?i)(?:(?<=[.!?)])\s|\n)[^.!?\n]*\b(?:else|only these|no other|no more|nothing more|the lot|"
    r"end of list|over)\b[^.!?\n]*[.!?]$"
)
_LONG_DATE = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December) \d{4}"
)
_WEEK = 7
_ONES = (
    *(
        "no",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
    ),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TRIES = 30


@dataclass(frozen=True)
class RewordingCase:
    """A request, and what it asks for."""

    asked: RewordInput
    domain: Domain
    wishes: list[WantedChange]
    dice: random.Random

    @property
    def state(self) -> dict[str, Json]:
        return self.asked.initial_state

    @property
    def same(self) -> RewordReply:
        """The words as they are."""
        asked = self.asked
        return RewordReply(
            request=asked.request,
            opening=asked.opening,
            facts=asked.facts,
            hidden=asked.hidden,
            goals=asked.goals,
        )

    def change(self, alter: Callable[[str], str]) -> RewordReply:
        """The same done to both messages."""
        return self.same.model_copy(
            update={"request": alter(self.asked.request), "opening": alter(self.asked.opening)}
        )


def answer_reword(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    """Only what is to be achieved is told by a path's changes: of anything else the words stay."""
    asked = RewordInput.model_validate(inputs)
    changes = [
        (domain.operations[call.name], call.arguments)
        for call in asked.oracle
        if call.name in domain.operations
    ]
    wishes = [
        WantedChange(operation, arguments)
        for operation, arguments in changes
        if operation.effect == "change"
    ]
    dice = make_dice("reword", asked.operator, asked.request, seed, sample)
    case = RewordingCase(asked, domain, wishes, dice)
    # A wish about a record that the path makes can be told from its words alone, not from the path.
    linked = any(_names_new_row(wish, case.state) for wish in wishes)
    return (
        OPERATORS[asked.operator](case)
        if wishes and asked.polarity == "achieve" and not linked
        else case.same
    )


def _names_new_row(wish: WantedChange, state: State) -> bool:
    """Whether it is about a row that is not there at the start: by reference, or by the id that it
    got when the path was played."""
    rows = [
        (each.row, wish.arguments[each.name])
        for each in wish.operation.takes
        if each.row and each.name in wish.arguments
    ]
    return any(
        is_reference(value) or (isinstance(value, str) and value not in state[home])
        for home, value in rows
    )


def expand_goal(case: RewordingCase) -> RewordReply:
    """One wish more that the end permits, tied to what is done before."""
    asked = case.asked
    if asked.chain is None:
        return case.same
    tools = [tool.model_dump() for tool in asked.tools]
    for _ in range(_TRIES):
        wish = sample_more(
            case.wishes, DomainWorld(case.domain, deepcopy(case.state), TODAY, "more"), case.dice
        )
        if wish is None:
            continue
        oracle = plan_more(asked.oracle, wish, case.domain, case.state)
        told = ScenarioReply(initial_state=case.state, request=asked.request, oracle=oracle)
        grown = write_chain(told, case.domain)
        if (
            is_whole(grown, list_touched(tools))
            and grown.chain.nodes[: len(asked.chain.nodes)] == asked.chain.nodes
        ):
            return _reveal_more(case, wish, grown.chain.model_dump(), grown.filling.model_dump())
    return case.same


def _reveal_more(
    case: RewordingCase, wish: WantedChange, chain: Json, filling: Json
) -> RewordReply:
    lead, ask = case.dice.choice(_MORE), case.dice.choice(wish.operation.asks)
    vague = leave_vague(
        [*case.wishes, wish], frozenset(case.asked.hidden), case.domain, case.state
    )[-1]
    told, hinted = (
        capitalise(lead.format(a=render_phrase(ask, one, case.domain, case.state)))
        for one in (wish, vague)
    )
    opening = case.asked.opening and _add(case.asked.opening, hinted)
    reply = case.same.model_copy(
        update={"request": _add(case.asked.request, told), "opening": opening}
    )
    facts = list_facts([*case.wishes, wish], case.domain, case.state)
    goals = [*case.asked.goals, name_goal(wish, case.domain, case.state)]
    return RewordReply.model_validate(
        reply.model_dump()
        | {"facts": facts | case.asked.facts, "goals": goals, "chain": chain, "filling": filling}
    )


def _add(text: str, sentence: str) -> str:
    """Before a last sentence that says that there is no more to it."""
    closing = _CLOSING.search(text)
    return f"{text[: closing.start()]} {sentence}{closing[0]}" if closing else f"{text} {sentence}"


def compress(case: RewordingCase) -> RewordReply:
    """Orders alone, like ones drawn together; what a later one cannot do without is not said."""
    said = [wish for place, wish in enumerate(case.wishes) if not _is_inferable(place, case)]
    vague = leave_vague(said, frozenset(case.asked.hidden), case.domain, case.state)
    told, opening = (
        _list_orders(said, case),
        _list_orders(vague, case) if case.asked.opening else "",
    )
    return (
        case.same.model_copy(update={"request": told, "opening": opening})
        if len(told) < len(case.asked.request)
        else case.same
    )


def _is_inferable(place: int, case: RewordingCase) -> bool:
    """Whether it says nothing of its own, something after it is refused without it, and what it
    changes in a row is changed again: a step
    on the way. What lasts is a wish of its own: nobody says that a training took place by asking
    for what the trained alone get."""
    wish, later = case.wishes[place], case.wishes[place + 1 :]
    named = {value for one in later for value in one.arguments.values()}
    if not later or not set(wish.arguments.values()) <= named:
        return False
    worlds = [DomainWorld(case.domain, deepcopy(case.state), TODAY, "without")]
    for one in case.wishes:
        worlds.append(worlds[-1].copy())
        worlds[-1].apply(one.operation, one.arguments)
    before, after, end = (_list_cells(worlds[step]) for step in (place, place + 1, -1))
    if not any(
        isinstance(value, str) and cell in before and before[cell] != value != end.get(cell)
        for cell, value in after.items()
    ):
        return False
    world = worlds[place]
    for one in later:
        if not world.allows(one.operation, one.arguments):
            return True
        world.apply(one.operation, one.arguments)
    return False


def _list_cells(world: DomainWorld) -> dict[tuple[str, str, str], Json]:
    return {
        (home, key, name): value
        for home, rows in world.state.items()
        for key, row in rows.items()
        for name, value in row.items()
    }


def _list_orders(wishes: list[WantedChange], case: RewordingCase) -> str:
    orders, place = list[str](), 0
    while place < len(wishes):
        pair = wishes[place : place + 2]
        joined = _join(pair, case) if len(pair) == 2 else ""
        orders.append(
            joined
            or render_phrase(
                wishes[place].operation.asks[0], wishes[place], case.domain, case.state
            )
        )
        place += 2 if joined else 1
    return f"{capitalise('; '.join(orders))}."


def _join(pair: list[WantedChange], case: RewordingCase) -> str:
    """The same done twice, where one thing alone differs that is said once; empty where it is not
    so."""
    one, other = pair
    differing = [name for name in one.arguments if one.arguments[name] != other.arguments.get(name)]
    rows = {each.name: each.local for each in one.operation.takes if each.row}
    # Two amounts in one breath would be a sum, or one of them anybody's.
    if (
        one.operation.name != other.operation.name
        or len(differing) != 1
        or differing[0] not in rows
    ):
        return ""
    ask, local = one.operation.asks[0], rows[differing[0]]
    first, second = (render_phrase(ask, wish, case.domain, case.state) for wish in pair)
    values = [render_phrase(f"{{{local}}}", wish, case.domain, case.state) for wish in pair]
    # "Change A and a B so that it": nobody knows which one `it` is.
    fits = (
        " it " not in first
        and not re.match("an? ", values[1])
        and first.count(values[0]) == 1
        and first.replace(values[0], values[1]) == second
    )
    return first.replace(values[0], " and ".join(values)) if fits else ""


def refer(case: RewordingCase) -> RewordReply:
    """What was named already is not named again, where nothing else of its kind was named since."""
    named = list(_list_named(case))
    for parameter, label, _ in named:
        noun = case.domain.collections[parameter.row].noun.replace("_", " ")
        # `Ada Kern's trip` names Ada Kern as well: `that driver` behind it is her.
        rows = {
            follow(parameter.row, key, [], case.domain, case.state)
            for key in case.state[parameter.row]
        }
        others = ({other for each, other, _ in named if each.row == parameter.row} | rows) - {label}
        # "the room Room 7" is named by both words: neither is left standing. In an opening `a room`
        # is another one.
        again = re.compile(rf"(?:\b[Tt]he {re.escape(noun)} )?(?<!\w){re.escape(label)}(?!\w)")
        between = re.compile(
            "|".join(
                [
                    re.escape(name_one(noun)),
                    *(rf"(?<!\w){re.escape(other)}(?!\w)" for other in others),
                ]
            )
        )
        told = case.change(
            lambda text, again=again, between=between, noun=noun: _keep_first(
                text, again, between, f"that {noun}"
            )
        )
        if told.request != case.asked.request:
            return told
    return case.same


def _keep_first(text: str, again: re.Pattern[str], between: re.Pattern[str], word: str) -> str:
    parts, last = list[str](), 0
    for found in again.finditer(text):
        since = text[last : found.start()]
        points = bool(parts) and not between.search(since)
        parts += [since, _capitalise_after(text, found.start(), word) if points else found[0]]
        last = found.end()
    return "".join([*parts, text[last:]])


def _capitalise_after(text: str, place: int, word: str) -> str:
    """With a capital where a sentence begins."""
    before = text[:place].rstrip()
    return capitalise(word) if not before or before[-1] in ".!?" else word


def _list_named(case: RewordingCase) -> Iterator[tuple[OperationParameter, str, dict[str, Json]]]:
    """Parameter, what its row is called, the row."""
    for wish in case.wishes:
        for parameter in (each for each in wish.operation.takes if each.row):
            label = render_phrase(f"{{{parameter.local}}}", wish, case.domain, case.state)
            yield parameter, label, case.state[parameter.row][wish.arguments[parameter.name]]


def obscure(case: RewordingCase) -> RewordReply:
    """A date by its distance from today; else a record by the one value that sets it apart."""
    said = sorted({found[0] for found in _LONG_DATE.finditer(case.asked.request)})
    if said:
        written = case.dice.choice(said)
        distance = _render_distance((datetime.strptime(written, "%d %B %Y").date() - TODAY).days)
        return case.change(lambda text: re.sub(rf"(?:\bon )?\b{written}", distance, text))
    for parameter, label, row in _list_named(case):
        if (
            (described := _describe(parameter.row, row, case))
            and described not in label
            and label in case.asked.request
        ):
            noun = case.domain.collections[parameter.row].noun.replace("_", " ")
            named = re.compile(rf"(?:\b[Tt]he {re.escape(noun)} )?{re.escape(label)}")
            return case.change(
                lambda text, named=named, described=described: named.sub(described, text)
            )
    return case.same


def _render_distance(days: int) -> str:
    if abs(days) < 2:
        return ("yesterday", "today", "tomorrow")[days + 1]
    weeks, rest = divmod(abs(days), _WEEK)
    counted = (
        f"{_render_count(abs(days))} days"
        if rest
        else f"{_render_count(weeks)} week{'s' if weeks > 1 else ''}"
    )
    return f"{counted} ago" if days < 0 else f"{counted} from today"


def _render_count(number: int) -> str:
    """In words, for a figure would be an amount."""
    tens, ones = divmod(number, 10)
    if number < len(_ONES):
        return _ONES[number]
    return f"{_TENS[tens]}{f'-{_ONES[ones]}' if ones else ''}" if tens < len(_TENS) else str(number)


def _describe(collection: str, row: dict[str, Json], case: RewordingCase) -> str:
    """By a value that one row alone has, of things that can be listed whole; by what it belongs to,
    and its standing."""
    about, rows = case.domain.collections[collection], case.state[collection].values()
    noun, owner = about.noun.replace("_", " "), next(iter(about.lookup.using.values()), "")
    if not owner:
        apart = [
            (name, row[name])
            for name, attribute in about.attributes.items()
            if attribute.one_of
            and not attribute.unique
            and row[name]
            and sum(other[name] == row[name] for other in rows) == 1
        ]
        return f"the {noun} whose {apart[0][0].replace('_', ' ')} is {apart[0][1]}" if apart else ""
    home = about.attributes[owner].ref if owner in about.attributes else ""
    kin = [other for other in rows if other[owner] == row[owner]]
    alike = [other for other in kin if other.get("status") == row.get("status")]
    standing = f" that is {row['status']}" if len(kin) > 1 else ""
    return (
        f"the {noun} of {follow(home, row[owner], [], case.domain, case.state)}{standing}"
        if home and len(alike) == 1
        else ""
    )


def minimise(case: RewordingCase) -> RewordReply:
    """All that can be asked for is left out of the first message."""
    hidden = list_vague(case.wishes, case.domain, case.state, case.asked.hidden)
    if len(hidden) == len(case.asked.hidden) or not set(hidden) <= case.asked.facts.keys():
        return case.same
    vague = leave_vague(case.wishes, frozenset(hidden), case.domain, case.state)
    return case.same.model_copy(update={"opening": _list_orders(vague, case), "hidden": hidden})


OPERATORS: dict[Operator, Callable[[RewordingCase], RewordReply]] = {
    "goal_expansion": expand_goal,
    "compression": compress,
    "implicit_reference": refer,
    "ambiguity": obscure,
    "minimal_information": minimise,
}
"""Operator → who does it."""
