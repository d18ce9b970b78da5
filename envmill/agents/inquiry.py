"""A scripted policy in a conversation: before it makes a call that rests on something the user has
not told yet, it asks.

call ─► arguments, and the rows they name ─► hidden facts among them ─► a question ─► answer ─► the call
call of the user's own ─► it is asked of them, and never made
"""

from collections.abc import Iterator, Mapping

from envmill.agents.base import Actor, Move, Say
from envmill.agents.users.doing import bid, list_deeds
from envmill.agents.users.manners import puts_off
from envmill.agents.users.naming import render_name
from envmill.language.told import list_leaves, render_leaf
from envmill.language.words import find_words, normalise
from envmill.sandbox import Observation
from schemas.base import Json, is_object
from schemas.environment import Call
from schemas.scenario import Scenario

_SHORTEST = 4
"""Letters of a value that is not part of another by chance."""


_MOST = 4
"""Times that it asks again, of a user who puts it off."""


class Inquirer:
    """Asks for the facts its next call needs, all in one question; what no call shows is asked for
    first."""

    def __init__(self, actor: Actor, scenario: Scenario) -> None:
        self._actor, self._state, self._facts = actor, scenario.initial_state, scenario.user.facts
        self.listens: bool = getattr(actor, "listens", True)
        self._untold = [name for name in scenario.user.hidden if name in self._facts]
        self._deeds = list_deeds(scenario.oracle, scenario.user.able)
        self._undone, self._needs = list(self._deeds), scenario.user.needs
        shown = {
            name
            for call in scenario.oracle
            if call.actor == "agent"
            for name in self._list_needs(call)
        }
        self._unplaced = [name for name in self._untold if name not in shown]
        self._held: Move | None = None
        self._asked: Say | None = None
        self._times = 0

    def act(self, last: Observation | Say | None) -> Move:
        if self._asked and isinstance(last, Say) and puts_off(last.text) and self._times < _MOST:
            self._times += 1
            return self._asked
        move = self._choose(last)
        self._asked, self._times = move if isinstance(move, Say) else None, 0
        return move

    def _choose(self, last: Observation | Say | None) -> Move:
        if self._held is not None:
            held, self._held = self._held, None
            return held
        move = self._actor.act(last)
        if not isinstance(move, Call):
            return move
        if move.actor != "agent":
            return self._leave_to_user(move)
        needs = [*self._unplaced, *self._list_needs(move)]
        if not needs:
            return move
        self._untold = [name for name in self._untold if name not in needs]
        self._unplaced, self._held = [], move
        return Say(ask_for(needs, self._facts))

    def _leave_to_user(self, call: Call) -> Move:
        """Asked of them: the next of this tool that was not, the first where all were. What is none
        of theirs is the agent's own try."""
        names = [name for name, deed in self._deeds.items() if deed.name == call.name]
        if not names:
            return call.model_copy(update={"actor": "agent"})
        name = next((one for one in names if one in self._undone), names[0])
        self._undone = [one for one in self._undone if one != name]
        return Say(bid(name, self._deeds, self._needs.get(name, ())))

    def _list_needs(self, call: Call) -> list[str]:
        known = {render_leaf(leaf) for leaf in _list_grounds(call, self._state)}
        return [
            name
            for name in self._untold
            if any(_rests_on(leaf, known) for leaf in list_leaves(self._facts[name]))
        ]


def ask_for(names: list[str], facts: Mapping[str, Json]) -> str:
    """One question for several facts."""
    listed = [render_name(name, facts) for name in names]
    return (
        "Could you tell me "
        f"{' and '.join([', '.join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)}?"
    )


def _rests_on(told: Json, known: set[str]) -> bool:
    """Whether what the user would tell is, or names, something that the call goes by."""
    plain = normalise(render_leaf(told))
    return render_leaf(told) in known or any(
        len(leaf) >= _SHORTEST and find_words(plain, leaf) for leaf in known
    )


def _list_grounds(call: Call, state: Mapping[str, Json]) -> Iterator[Json]:
    """What a call's arguments say, and the fields of the rows they name."""
    for leaf in list_leaves(list(call.arguments.values())):
        yield leaf
        for rows in state.values():
            if isinstance(leaf, str) and is_object(rows) and is_object(row := rows.get(leaf)):
                yield from (value for value in row.values() if not is_object(value))
