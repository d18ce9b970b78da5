"""The scenario's user at the desk a person plays at: what was said, and what the user does when
asked to."""

from collections.abc import Awaitable, Callable

from envmill.agents.users.base import UserKnowledge, Utterance
from envmill.agents.users.doing import describe_deed, find_lacking
from envmill.agents.users.requests import make_in_turn
from envmill.agents.users.scripted import ScriptedUser
from envmill.sandbox import Observation
from schemas.environment import Call
from schemas.scenario import Scenario


class DeskTalk:
    """A conversation with the scripted user; deeds of theirs are made by whoever holds the
    session."""

    def __init__(self, scenario: Scenario) -> None:
        self._knowledge = UserKnowledge.of(scenario)
        self._person = make_in_turn(self._knowledge, ScriptedUser)
        self._dialogue = [Utterance("user", scenario.user.opening)]
        self.said: list[str] = []
        """Messages of the agent's side."""
        self.answers: list[str] = []
        """What the user said to each."""

    async def answer(
        self, text: str, act: Callable[[Call], Awaitable[Observation]]
    ) -> tuple[str, str]:
        """What the user says to it, and how the conversation ended; empty while it goes on."""
        self.said.append(text)
        self._dialogue.append(Utterance("agent", text))
        answer, contract = await self._person.answer(self._dialogue), self._knowledge.contract
        told = [answer.text]
        for name in answer.does:
            call = self._knowledge.deeds[name]
            lacking = find_lacking(name, call, contract, self.said)
            told.append(lacking or describe_deed(name, call, await act(call), contract.reports))
        words = " ".join(filter(None, told))
        self.answers.append(words)
        self._dialogue.append(Utterance("user", words))
        return words, answer.end
