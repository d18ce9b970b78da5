"""The umpire: whether a conversation failed because its user did. A judge has to quote question and answer, and both are looked up.

failed conversation ─► judge ─► fact, question, answer ─► quoted from it, and the answer lacks the value ─► the user's fault
                                                      └─► anything else ─► the agent's failure, as before
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from envmill.agents.users.base import Knowledge, Line
from envmill.agents.users.missteps import tells
from envmill.errors import BadReply
from envmill.models.account import Account
from envmill.models.prompt import Prompt
from envmill.verifiers.words import split_words
from schemas.rollout import Misstep
from schemas.turns import FaultInput, FaultReply

PROMPT = Prompt.load(Path(__file__).parents[1] / "prompts" / "user_fault.md", FaultInput, FaultReply)
MISSTEPS: Mapping[str, Misstep] = {"withheld": "withholds", "contradicted": "contradicts", "ended_early": "stops_early"}
_SPEAKERS = {"user": "Person", "agent": "Assistant"}


async def find_user_fault(knowledge: Knowledge, dialogue: Sequence[Line], account: Account, attempt: int) -> tuple[Misstep, str] | None:
    """(misstep, words) where the judge says so and can be shown to be right about what was said; Outage where it cannot be reached."""
    contract = knowledge.contract
    inputs = FaultInput(
        persona=contract.persona,
        goals=contract.goals or [contract.opening],
        facts=contract.facts,
        fallbacks=contract.fallbacks,
        dialogue="\n".join(f"{_SPEAKERS[line.who]}: {line.text}" for line in dialogue),
    )
    try:
        reply = await account.ask(PROMPT, inputs, FaultReply, role="judge", sample=attempt)
    except BadReply:
        return None
    if reply.fault not in MISSTEPS or not _is_shown(reply, knowledge, dialogue):
        return None
    return MISSTEPS[reply.fault], f"{reply.fact}: asked {reply.question!r}, answered {reply.answer!r}. {reply.reason}".rstrip()


def _is_shown(reply: FaultReply, knowledge: Knowledge, dialogue: Sequence[Line]) -> bool:
    """Whether both quotes stand in the conversation, the answer after the question, and the answer lacks the value."""
    if reply.fact not in knowledge.contract.facts:
        return False
    value = knowledge.contract.facts[reply.fact]
    asked = [place for place, line in enumerate(dialogue) if line.who == "agent" and _quotes(reply.question, line.text)]
    answers = [dialogue[place + 1] for place in asked if place + 1 < len(dialogue)]
    if not asked or any(tells(value, line.text) for line in dialogue[: asked[0]] if line.who == "user"):
        return False
    return any(line.who == "user" and _quotes(reply.answer, line.text) and not tells(value, line.text) for line in answers)


def _quotes(quote: str, text: str) -> bool:
    said = " ".join(split_words(quote))
    return bool(said) and f" {said} " in f" {' '.join(split_words(text))} "
