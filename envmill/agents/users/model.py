"""A model as the user: it reads its contract and the conversation, and answers with one message or
stops."""

from collections.abc import Sequence
from pathlib import Path

from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.manners import MANNERS
from envmill.base.errors import BadReply
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from schemas.turns import UserInput, UserReply

PROMPT = Prompt.load(Path(__file__).parents[1] / "prompts" / "user.md", UserInput, UserReply)
_SPEAKERS = {"user": "You", "agent": "Assistant"}


class ModelUser:
    """Whatever it says is held to the contract afterwards; what it does not say in the form asked
    for counts as silence."""

    listens = True

    def __init__(self, knowledge: UserKnowledge, models: ModelSession, attempt: int) -> None:
        self._contract, self._request, self._deeds = (
            knowledge.contract,
            knowledge.request,
            knowledge.deeds,
        )
        self._manner = MANNERS[knowledge.manner].told if knowledge.manner else ""
        self._account, self._attempt = models, attempt

    async def answer(self, dialogue: Sequence[Utterance]) -> UserAnswer:
        try:
            reply = await self._account.ask(
                PROMPT, self._inputs(dialogue), UserReply, role="user", sample=self._attempt
            )
        except BadReply:
            return UserAnswer("")
        return UserAnswer(
            reply.text, reply.why if reply.stop else "", tuple(dict.fromkeys(reply.does))
        )

    def _inputs(self, dialogue: Sequence[Utterance]) -> UserInput:
        contract = self._contract
        return UserInput(
            persona=" ".join(filter(None, [contract.persona, self._manner])),
            goals=contract.goals or [contract.opening],
            request=self._request,
            known={
                name: value for name, value in contract.facts.items() if name not in contract.hidden
            },
            hidden={
                name: contract.facts[name] for name in contract.hidden if name in contract.facts
            },
            wordings={
                name: asked for name, asked in contract.wordings.items() if name in contract.hidden
            },
            deeds=list(self._deeds),
            fallbacks=contract.fallbacks,
            stop=contract.stop or "the assistant says that it is done, or that it cannot do it",
            dialogue="\n".join(f"{_SPEAKERS[line.who]}: {line.text}" for line in dialogue),
        )
