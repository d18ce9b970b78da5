"""Manners of simulated users: how a person talks who knows and wants what a contract says, and
which of them are kept for tests.

message ─► person ─► answer ─► manner ─► the same answer in other words, put off once, or a slip at a deed

Users of split `train` meet scenarios of `train` and `validation`, those of `test` meet scenarios of
`test`. No user meets both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from envmill.agents.users.base import Person, UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.doing import find_deeds
from envmill.agents.users.hearing import understand
from envmill.agents.users.scripted import ACTS, ScriptedUser, render_value
from schemas.rollout import Misstep

_LOOKS = "I had it written down somewhere. Please ask me again in a moment."
_WRONG = "Oh, that was the wrong thing. Please tell me again what to do."
_NOTHING = "Hm, I pressed something and nothing happened. Please tell me again what to do."
_FEARS = (
    "Will that break anything? I am afraid of making it worse. Please tell me again what to do."
)
_PUT_OFF = (_LOOKS, _WRONG, _NOTHING, _FEARS)
_REMARKS = (
    "My sister laughs at me because I always call about such things.",
    "It has been such a long week here, and everybody wants something at once.",
    "I was just telling my neighbour how patient you people are.",
    "The weather makes everything harder, as you can imagine.",
)
"""Small talk. It holds no value, and neither a yes nor a no."""
_EVERY = 3
"""One deed of so many goes wrong at first, beginning with the first."""
_HESITATES: tuple[Misstep, ...] = ("oversteps", "repeats", "withholds")
"""What the word checks would make of a deed that is put off."""


class _Terse:
    """Says values without a sentence around them."""

    def __init__(self, knowledge: UserKnowledge) -> None:
        self._knowledge, self._person = knowledge, ScriptedUser(knowledge)
        self.listens = self._person.listens

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        answer = await self._person.answer(dialogue)
        contract = self._knowledge.contract
        asked = () if answer.end else understand(dialogue[-1].text, contract).facts
        told = [render_value(contract.facts[name]) for name in asked]
        if told and all(one in answer.text for one in told):
            return replace(answer, text=f"{'. '.join(told)}.")
        return replace(answer, text=_SHORT.get(answer.text, answer.text))


class _Chatty:
    """Says a remark before everything else."""

    def __init__(self, knowledge: UserKnowledge) -> None:
        self._person, self._place = ScriptedUser(knowledge), 0
        self.listens = self._person.listens

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        answer = await self._person.answer(dialogue)
        remark = _REMARKS[self._place % len(_REMARKS)]
        self._place += 1
        return replace(answer, text=f"{remark} {answer.text}")


class _Forgetful:
    """Looks for each hidden fact first, and tells it when asked again."""

    def __init__(self, knowledge: UserKnowledge) -> None:
        self._knowledge, self._person = knowledge, ScriptedUser(knowledge)
        self.listens = self._person.listens
        self._sought: set[str] = set()

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        contract, message = self._knowledge.contract, dialogue[-1].text
        asked = {name for name in understand(message, contract).facts if name in contract.hidden}
        new = asked - self._sought
        if new and not find_deeds(message, self._knowledge.deeds):
            self._sought |= new
            return UserAnswer(_LOOKS, meant=("withholds", "contradicts"))
        return await self._person.answer(dialogue)


class _Hesitant:
    """Puts off deeds that change something, and does them when told again."""

    def __init__(self, knowledge: UserKnowledge, every: int, words: str, looks: bool) -> None:
        self._knowledge, self._person = knowledge, ScriptedUser(knowledge)
        self.listens = self._person.listens
        self._every, self._words, self._looks = every, words, looks
        self._met: list[str] = []

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        answer = await self._person.answer(dialogue)
        reports = self._knowledge.contract.reports
        new = [
            name
            for name in answer.does
            if name not in self._met and self._knowledge.deeds[name].name not in reports
        ]
        self._met += new
        if not any(self._met.index(name) % self._every == 0 for name in new):
            return answer
        look = self._find_look(answer) if self._looks else ""
        words = _WRONG if look else self._words
        # What else was told stays told.
        text = words if answer.text == ACTS else f"{answer.text} {words}"
        return replace(answer, text=text, does=(look,) if look else (), meant=_HESITATES)

    def _find_look(self, answer: UserAnswer) -> str:
        """A deed that changes nothing and that they know enough for; empty where there is none."""
        knowledge = self._knowledge
        looks = (
            name
            for name, deed in knowledge.deeds.items()
            if deed.name in knowledge.contract.reports and name not in answer.does
        )
        return next((name for name in looks if not knowledge.contract.needs.get(name)), "")


_SHORT = {
    "Yes, please.": "Yes.",
    "Thank you, that is all.": "Thanks.",
    "All right.": "Ok.",
    "Do you still need something from me?": "Anything from me?",
}


@dataclass(frozen=True)
class Manner:
    """How a user talks and acts, whatever they know and want."""

    split: Literal["train", "test"]
    """Whether scenarios of `train` and `validation` have such a user, or those of `test`."""
    told: str
    """What a model that plays the user is told of it, besides the persona."""
    make: Callable[[UserKnowledge], Person]
    """The scripted user of this manner."""


MANNERS: Mapping[str, Manner] = {
    "plain": Manner("train", "You answer each question in one plain sentence.", ScriptedUser),
    "terse": Manner(
        "train", "You answer with the value alone, and use as few words as you can.", _Terse
    ),
    "forgetful": Manner(
        "train",
        "The first time you are asked for a value that you hide, say that you have to look for it "
        "and ask to be asked again. The "
        "second time, tell it.",
        _Forgetful,
    ),
    "fumbling": Manner(
        "train",
        "At every third action you get it wrong at first: do a different action of yours that "
        "only looks at something, say that it was the "
        "wrong one, and ask to be told again. Then do the right one.",
        lambda knowledge: _Hesitant(knowledge, _EVERY, _NOTHING, looks=True),
    ),
    "chatty": Manner(
        "test",
        "You make small talk before you answer. The small talk holds no value, no yes and no no.",
        _Chatty,
    ),
    "anxious": Manner(
        "test",
        "Before each action that changes something, say that you are afraid of making it worse "
        "and ask to be told again. Do it when "
        "you are told again.",
        lambda knowledge: _Hesitant(knowledge, 1, _FEARS, looks=False),
    ),
}
"""Each manner by its name. The name is stored with each conversation."""


def list_manners(split: str) -> list[str]:
    """The users of a scenario's split: those of `test` for `test`, those of `train` for the
    others."""
    mine = "test" if split == "test" else "train"
    return [name for name, manner in MANNERS.items() if manner.split == mine]


def choose_manner(split: str, number: int) -> str:
    """The user of an attempt: each of the split's in turn."""
    mine = list_manners(split)
    return mine[number % len(mine)]


def is_mixed(manner: str, split: str) -> bool:
    """Whether a user of one split met a scenario of the other. A contract's own manner is of
    neither."""
    return bool(manner) and manner not in list_manners(split)


def make_scripted(knowledge: UserKnowledge) -> Person:
    """The scripted user in the manner that their knowledge names."""
    return (
        MANNERS[knowledge.manner].make(knowledge) if knowledge.manner else ScriptedUser(knowledge)
    )


def puts_off(text: str) -> bool:
    """Whether a scripted user asks to be asked again for what they were asked for."""
    return any(words in text for words in _PUT_OFF)
