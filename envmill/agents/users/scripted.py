"""The scripted user: tells what it is asked for, says so when it does not know, agrees, and stops
once nothing is asked any more."""

import re
from collections.abc import Mapping, Sequence

from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.doing import find_deeds, find_strange, turn_down
from envmill.agents.users.hearing import ParsedMessage, touches, understand
from envmill.agents.users.naming import render_name
from envmill.language.told import render_leaf
from envmill.language.words import find_words, normalise
from schemas.base import Json, is_array, is_object

UNKNOWN = "I do not know that, sorry."
ACTS = "All right."
_YES, _WAITS = "Yes, please.", "All right, go on."
_THANKS = "Thank you, that is all."
_NUDGE = "Do you still need something from me?"
_LEAVES = "All right, then I leave it there."
_WHAT = "What would you like to know?"
_ENOUGH = "I cannot tell you more than I have. Let us leave it at that."
_PATIENCE = 3
"""Answers in a row that tell nothing, before the user has had enough."""
TALKATIVE = re.compile(r"\b(?:chatty|talkative|forthcoming|(?:tells|says) everything|volunteers)\b")
"""Personas that tell all they have when they are asked for whatever there is."""


class ScriptedUser:
    """Plays the contract to the letter: no word of it is guessed, and nothing hidden is told
    unasked."""

    def __init__(self, knowledge: UserKnowledge) -> None:
        self._contract, self._deeds = knowledge.contract, knowledge.deeds
        self._known = render_known(knowledge)
        self.listens = bool(knowledge.deeds)
        self._untold = [name for name in self._contract.hidden if name in self._contract.facts]
        self._nudged = False
        self._idle = 0

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        message = dialogue[-1].text
        heard = understand(message, self._contract)
        does = find_deeds(message, self._deeds)
        if does and (strange := find_strange(message, self._deeds, self._known)):
            return self._turn_down(strange, heard, message)
        if does:
            self._idle = 0
            return UserAnswer(
                self._word(heard.facts, heard, message) if heard.facts else ACTS, does=does
            )
        if message.strip() and not heard.asks and not heard.promise:
            return self._close(message)
        told = self._choose(heard)
        self._idle = 0 if told or heard.consent else self._idle + 1
        if self._idle >= _PATIENCE:
            return UserAnswer(_ENOUGH, "gave_up")
        return UserAnswer(self._word(told, heard, message))

    def _close(self, message: str) -> UserAnswer:
        """Nothing is asked, as far as words tell. While something hidden is untold the user never
        says that this is all; where the agent
        speaks of it, it may have asked in words that were not understood, and is asked back
        once."""
        plain = normalise(message)
        left = [
            name
            for name in self._untold
            if not find_words(plain, render_value(self._contract.facts[name]))
        ]
        if not left:
            return UserAnswer(_THANKS, "content")
        if self._nudged or not any(touches(message, name) for name in left):
            return UserAnswer(_LEAVES, "content")
        self._nudged = True
        return UserAnswer(_NUDGE)

    def _turn_down(self, strange: str, heard: ParsedMessage, message: str) -> UserAnswer:
        """Nobody does with a record they never spoke of what they asked for with another."""
        self._idle += 1
        if self._idle >= _PATIENCE:
            return UserAnswer(_ENOUGH, "gave_up")
        told = self._word(heard.facts, heard, message) if heard.facts else ""
        return UserAnswer(f"{turn_down(strange)} {told}".rstrip())

    def _choose(self, heard: ParsedMessage) -> list[str]:
        """What is told: what was asked for. A talkative person tells all that is left when asked
        for anything."""
        if heard.facts or not heard.anything:
            return list(heard.facts)
        return list(self._untold) if TALKATIVE.search(normalise(self._contract.persona)) else []

    def _word(self, told: Sequence[str], heard: ParsedMessage, message: str) -> str:
        if told:
            self._untold = [name for name in self._untold if name not in told]
            words = [render_fact(name, self._contract.facts) for name in told]
            # What else the same message asked, where the contract has words of its own for it.
            return " ".join(filter(None, [*words, self._find_fallback(heard.unknown)]))
        if heard.consent:
            return _YES
        if heard.errand:
            return self._contract.opening
        if not heard.asks:
            return _WAITS
        return self._find_fallback(message) or (
            _WHAT if heard.anything else self._contract.fallbacks.get("", UNKNOWN)
        )

    def _find_fallback(self, message: str) -> str:
        """By the first word of the contract that the question holds; empty where it holds none."""
        plain = normalise(message)
        return next(
            (
                said
                for word, said in self._contract.fallbacks.items()
                if word and find_words(plain, word)
            ),
            "",
        )


def render_known(knowledge: UserKnowledge) -> str:
    """All that a user may speak of."""
    contract = knowledge.contract
    return "\n".join(
        [
            knowledge.request,
            contract.opening,
            *contract.goals,
            *map(render_value, contract.facts.values()),
        ]
    )


def render_fact(name: str, facts: Mapping[str, Json]) -> str:
    """A fact as a plain sentence."""
    subject = render_name(name, facts)
    return f"{subject[0].upper()}{subject[1:]} is {render_value(facts[name])}."


def render_value(value: Json) -> str:
    """A value as somebody would say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_array(value):
        said = [render_value(one) for one in value]
        return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
    if is_object(value):
        return ", ".join(
            f"{name.replace('_', ' ')} {render_value(one)}" for name, one in value.items()
        )
    return render_leaf(value)
