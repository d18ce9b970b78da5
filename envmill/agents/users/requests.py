"""A user who makes several requests in turn: the next one once the agent has ended the one before.

request ─► conversation about it ─► the user is content ─┬─ a request is left: it is made ─► conversation about it ─► …
                                                         └─ none is left: the conversation is over
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from envmill.agents.users.base import Person, UserAnswer, UserKnowledge, Utterance
from schemas.base import Json
from schemas.scenario import UserContract

_DONE = "the assistant has done what your last request asks for, or says that it cannot"


def make_in_turn(knowledge: UserKnowledge, make: Callable[[UserKnowledge], Person]) -> Person:
    """The person alone where they have one request."""
    return RequestsInTurn(knowledge, make) if knowledge.contract.later else make(knowledge)


class RequestsInTurn:
    """Holds a person for each request, who knows no later one: what is not asked for yet is not
    told."""

    def __init__(self, knowledge: UserKnowledge, make: Callable[[UserKnowledge], Person]) -> None:
        self._knowledge, self._make = knowledge, make
        self._asked, self._left = [knowledge.contract.opening], list(knowledge.contract.later)
        self._person = self._begin()
        self.listens = self._person.listens

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        answer = await self._person.answer(dialogue)
        if answer.end != "content" or not self._left:
            return answer
        self._asked.append(self._left.pop(0))
        self._person = self._begin()
        return replace(answer, text=self._asked[-1], end="")

    def _begin(self) -> Person:
        # Goals and the end of the whole scenario name later requests: a model that knows them asks
        # too early, and then twice.
        now: dict[str, Json] = {
            "opening": self._asked[-1],
            "later": [],
            "goals": [self._asked[-1]],
            "stop": _DONE,
        }
        contract = UserContract.model_validate(self._knowledge.contract.model_dump() | now)
        return self._make(
            replace(self._knowledge, contract=contract, request="\n\n".join(self._asked))
        )
