"""The scripted user: tells what it is asked for, says so when it does not know, agrees, and stops once nothing is asked any more."""

from collections.abc import Mapping, Sequence

from envmill.agents.users.base import Answer, Knowledge, Line
from envmill.agents.users.doing import find_deeds, find_strange
from envmill.agents.users.hearing import Heard, spell_name, understand
from envmill.verifiers.told import spell_leaf
from envmill.verifiers.words import find_words, normalise
from schemas.base import Json, is_array, is_object

UNKNOWN = "I do not know that, sorry."
_YES, _WAITS = "Yes, please.", "All right, go on."
_ACTS = "All right."
_THANKS = "Thank you, that is all."
_ENOUGH = "I cannot tell you more than I have. Let us leave it at that."
_PATIENCE = 3
"""Answers in a row that tell nothing, before the user has had enough."""


class ScriptedUser:
    """Plays the contract to the letter: no word of it is guessed, and nothing hidden is told unasked."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._contract, self._deeds = knowledge.contract, knowledge.deeds
        said = [spell_value(value) for value in knowledge.contract.facts.values()]
        self._known = "\n".join([knowledge.request, knowledge.contract.opening, *knowledge.contract.goals, *said])
        self.listens = bool(knowledge.deeds)
        self._untold = list(self._contract.hidden)
        self._idle = 0

    async def answer(self, dialogue: Sequence[Line]) -> Answer:
        message = dialogue[-1].text
        heard = understand(message, self._contract.facts)
        does = find_deeds(message, self._deeds)
        if does and (strange := find_strange(message, self._deeds, self._known)):
            return self._turn_down(strange, heard, message)
        if does:
            self._idle = 0
            return Answer(self._word(heard.facts, heard, message) if heard.facts else _ACTS, does=does)
        if message.strip() and not heard.asks and not heard.promise:
            return Answer(_THANKS, "content")
        told = self._choose(heard)
        self._idle = 0 if told or heard.consent else self._idle + 1
        if self._idle >= _PATIENCE:
            return Answer(_ENOUGH, "gave_up")
        return Answer(self._word(told, heard, message))

    def _turn_down(self, strange: str, heard: Heard, message: str) -> Answer:
        """Nobody does with a record they never spoke of what they asked for with another."""
        self._idle += 1
        if self._idle >= _PATIENCE:
            return Answer(_ENOUGH, "gave_up")
        told = self._word(heard.facts, heard, message) if heard.facts else ""
        return Answer(f"{strange.upper()} is not the one I mean. {told}".rstrip())

    def _choose(self, heard: Heard) -> list[str]:
        """What is told: what was asked for, or what is left to tell when anything is."""
        return list(heard.facts) or (list(self._untold) if heard.anything else [])

    def _word(self, told: Sequence[str], heard: Heard, message: str) -> str:
        if told:
            self._untold = [name for name in self._untold if name not in told]
            return " ".join(spell_fact(name, self._contract.facts) for name in told)
        if heard.consent:
            return _YES
        return self._fall_back(message) if heard.asks else _WAITS

    def _fall_back(self, message: str) -> str:
        """By the first word of the contract that the question holds."""
        plain, known = normalise(message), self._contract.fallbacks
        return next((said for word, said in known.items() if word and find_words(plain, word)), known.get("", UNKNOWN))


def spell_fact(name: str, facts: Mapping[str, Json]) -> str:
    """A fact as a plain sentence."""
    subject = spell_name(name, facts)
    return f"{subject[0].upper()}{subject[1:]} is {spell_value(facts[name])}."


def spell_value(value: Json) -> str:
    """A value as somebody would say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_array(value):
        said = [spell_value(one) for one in value]
        return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
    if is_object(value):
        return ", ".join(f"{name.replace('_', ' ')} {spell_value(one)}" for name, one in value.items())
    return spell_leaf(value)
