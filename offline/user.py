"""The person who asks: what their first message leaves out, who they are, what they want, and when
they are content.

wishes ──► facts, some of them hidden ──► the same request with those left vague: the opening of a conversation
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from envmill.agents.users.naming import render_name
from envmill.agents.users.wordings import FEWEST
from envmill.language.mentions import is_told
from offline.dice import make_dice
from offline.domain import Domain, OperationParameter, State
from offline.wording import WantedChange, name_facts, name_goal
from offline.wording.grammar import load_sayings
from schemas.base import Json
from schemas.prompts import ScenarioReply

HIDDEN = 0.5
"""How often a fact that can be left out is."""


def instruct_user(
    reply: ScenarioReply,
    wishes: list[WantedChange],
    domain: Domain,
    state: State,
    write: Callable[[list[WantedChange]], str],
) -> ScenarioReply:
    """The scenario with a person behind it. `write` words wishes as the request was worded."""
    dice = make_dice("user", reply.request)
    hidden = _choose_hidden(wishes, domain, state, dice)
    opening = write(leave_vague(wishes, hidden, domain, state)) if hidden else ""
    left = [
        name
        for name, value in reply.facts.items()
        if name in hidden and not is_told(value, opening)
    ]
    told: dict[str, Json] = {
        "goals": [name_goal(wish, domain, state) for wish in wishes],
        "hidden": left,
        "opening": f"{opening} {_render_missing(left, reply, dice)}" if left else "",
        "wordings": {name: _ask_for(name, reply, dice) for name in left},
    }
    return introduce_user(reply.model_copy(update=told))


def _render_missing(names: list[str], reply: ScenarioReply, dice: random.Random) -> str:
    """A sentence that tells the agent what it will have to ask for: nobody takes "a member" for any
    member then."""
    rendered = [render_name(name, reply.facts) for name in names]
    listed = " and ".join(
        [", ".join(rendered[:-1]), rendered[-1]] if len(rendered) > 1 else rendered
    )
    return load_sayings().sample("will_tell", dice).format(facts=listed)


def _ask_for(name: str, reply: ScenarioReply, dice: random.Random) -> list[str]:
    sayings, asked = load_sayings(), dict[str, None]()
    while len(asked) < FEWEST:
        asked[sayings.sample("ask_hidden", dice).format(fact=render_name(name, reply.facts))] = None
    return [*asked]


def list_vague(
    wishes: list[WantedChange], domain: Domain, state: State, hidden: Sequence[str]
) -> list[str]:
    """As many facts as can be left untold at first: those that are, and of each other sort one."""
    able = _find_able(wishes, domain, state)
    taken = {able[name] for name in hidden if name in able}
    return [*hidden, *{sort: name for name, sort in able.items() if sort not in taken}.values()]


def leave_vague(
    wishes: list[WantedChange], hidden: frozenset[str], domain: Domain, state: State
) -> list[WantedChange]:
    """The wishes with these facts said as no more than what sort of thing they are."""
    return [
        _leave_vague(wish, number, hidden, domain, state, wishes)
        for number, wish in enumerate(wishes)
    ]


def introduce_user(reply: ScenarioReply) -> ScenarioReply:
    """Who they are, what they say when they do not know, and when they stop; unless told, they want
    what the request says."""
    sayings, dice = load_sayings(), make_dice("persona", reply.request)
    told: dict[str, Json] = {
        "persona": sayings.sample("persona", dice),
        "goals": reply.goals or [reply.request],
        "fallbacks": {
            "": sayings.sample("unknown", dice),
            "id": sayings.sample("unknown_id", dice),
        },
        "stop": sayings.sample(f"content_{reply.polarity}", dice),
    }
    return reply.model_copy(update=told)


def _choose_hidden(
    wishes: list[WantedChange], domain: Domain, state: State, dice: random.Random
) -> frozenset[str]:
    """Names of facts that stay untold at first: rows and dates, of which a phrase can say the sort
    alone. Of a sort at most one, and none
    that is named elsewhere: "put the bees of a hive into a hive" is said by nobody, and could not
    be asked about.
    """
    able = _find_able(wishes, domain, state)
    names = [*able]
    dice.shuffle(names)
    drawn = [name for name in names if dice.random() < HIDDEN] or names[:1]
    return frozenset({able[name]: name for name in drawn}.values())


def _find_able(wishes: list[WantedChange], domain: Domain, state: State) -> dict[str, str]:
    """Fact → collection it names a row of; empty for a date."""
    facts = list(name_facts(wishes, domain, state))
    uses = Counter(name for name, *_ in facts) + Counter(str(value) for _, value, _, _ in facts)
    return {
        name: parameter.row
        for name, value, number, parameter in facts
        if uses[name] == uses[str(value)] == 1 and _can_be_vague(wishes[number], parameter)
    }


def _can_be_vague(wish: WantedChange, parameter: OperationParameter) -> bool:
    """A date, or a row of which every phrase says its name alone: "with a doctor at a time on a
    day" is no way to ask.

    Where a number or a noun comes before the name, an article cannot: "put 13 a part into the
    store".
    """
    phrases = (*wish.operation.asks, *wish.operation.tells)
    bound = re.compile(
        rf"\{{{parameter.local}\.|(\}}|\b(?:the|an?|this) [\w-]+) \{{{parameter.local}\}}"
    )
    return bool(parameter.day) or (bool(parameter.row) and not any(map(bound.search, phrases)))


def _leave_vague(
    wish: WantedChange,
    number: int,
    hidden: frozenset[str],
    domain: Domain,
    state: State,
    wishes: list[WantedChange],
) -> WantedChange:
    locals_ = [
        parameter.local
        for name, _, place, parameter in name_facts(wishes, domain, state)
        if place == number and name in hidden
    ]
    return replace(wish, unsaid=frozenset(locals_))
