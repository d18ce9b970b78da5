"""The umpire: whether a user spoilt its conversation. A judge has to quote question and answer;
both quotes and the fault are looked up.

conversation that failed, or is suspected ─► judge ─► fault, question, answer ─┬─ quoted, and borne out ─► the user's fault
                                                                               └─ anything else ─────────► as before
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.doing import describe_again, describe_outcome
from envmill.agents.users.missteps import finds_no_end, invents, repeats, states_value
from envmill.agents.users.naming import is_worded
from envmill.base.errors import BadReply
from envmill.language.words import split_words
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from schemas.rollout import Misstep
from schemas.turns import FaultInput, FaultReply

PROMPT = Prompt.load(
    Path(__file__).parents[1] / "prompts" / "user_fault.md", FaultInput, FaultReply
)
_SPEAKERS = {"user": "Person", "agent": "Assistant"}


@dataclass(frozen=True)
class _Claim:
    """A fault that a judge named, at an answer that it quoted."""

    reply: FaultReply
    knowledge: UserKnowledge
    before: Sequence[Utterance]
    """Everything up to the message that was answered."""
    answer: str
    """The whole answer."""
    last: bool
    """Whether the user said nothing after it."""

    @property
    def lacks(self) -> bool:
        """Whether neither the answer nor anything that the user said before the question has the
        value."""
        facts, name = self.knowledge.contract.facts, self.reply.fact
        said = [self.answer, *(line.text for line in self.before[:-1] if line.who == "user")]
        return name in facts and not any(states_value(facts[name], text) for text in said)


async def find_user_fault(
    knowledge: UserKnowledge, dialogue: Sequence[Utterance], models: ModelSession, attempt: int
) -> tuple[Misstep, str] | None:
    """(misstep, words) where the judge says so and what it says is borne out; Outage where it
    cannot be reached."""
    contract = knowledge.contract
    inputs = FaultInput(
        persona=contract.persona,
        goals=contract.goals or [contract.opening],
        facts=contract.facts,
        hidden=contract.hidden,
        deeds=list(knowledge.deeds),
        fallbacks=contract.fallbacks,
        dialogue="\n".join(f"{_SPEAKERS[line.who]}: {line.text}" for line in dialogue),
    )
    try:
        reply = await models.ask(PROMPT, inputs, FaultReply, role="judge", sample=attempt)
    except BadReply:
        return None
    if reply.fault not in _FAULTS:
        return None
    misstep, bears_out = _FAULTS[reply.fault]
    if not any(bears_out(claim) for claim in _list_claims(reply, knowledge, dialogue)):
        return None
    return (
        misstep,
        f"{reply.fact}: asked {reply.question!r}, answered {reply.answer!r}. "
        f"{reply.reason}".rstrip(),
    )


def _list_claims(
    reply: FaultReply, knowledge: UserKnowledge, dialogue: Sequence[Utterance]
) -> list[_Claim]:
    """Every place where the quoted answer follows the quoted question at once."""
    return [
        _Claim(reply, knowledge, dialogue[:place], line.text, place == len(dialogue) - 1)
        for place, line in enumerate(dialogue)
        if place and line.who == "user" and _quotes(reply.answer, line.text)
        and dialogue[place - 1].who == "agent" and _quotes(reply.question, dialogue[place - 1].text)
    ]  # fmt: skip


def _reveals_unasked(claim: _Claim) -> bool:
    """The answer is the first line that has the hidden value, and no stored question had asked for
    it."""
    contract, name = claim.knowledge.contract, claim.reply.fact
    if (
        name not in contract.hidden
        or name not in contract.facts
        or not states_value(contract.facts[name], claim.answer)
    ):
        return False
    stored = contract.wordings.get(name, ())
    return not any(
        states_value(contract.facts[name], line.text)
        or (line.who == "agent" and is_worded(line.text, stored))
        for line in claim.before
    )


def _acts(claim: _Claim) -> bool:
    name = claim.reply.fact
    told = (
        describe_outcome(name, True, ""),
        describe_outcome(name, False, ""),
        describe_again(name),
    )
    return name in claim.knowledge.deeds and any(words in claim.answer for words in told)


_FAULTS: Mapping[str, tuple[Misstep, Callable[[_Claim], bool]]] = {
    "withheld": ("withholds", lambda claim: claim.lacks),
    "contradicted": ("contradicts", lambda claim: claim.lacks),
    "ended_early": ("stops_early", lambda claim: claim.lacks and claim.last),
    "told_unasked": ("reveals", _reveals_unasked),
    "invented": (
        "invents",
        lambda claim: invents(claim.knowledge, claim.before, UserAnswer(claim.reply.answer)),
    ),
    "acted_unasked": ("oversteps", _acts),
    "repeated": (
        "repeats",
        lambda claim: repeats(claim.knowledge, claim.before, UserAnswer(claim.answer)),
    ),
    "went_on": (
        "never_stops",
        lambda claim: claim.last and finds_no_end(claim.knowledge, claim.before),
    ),
}
"""What a judge may name → the misstep, and what the conversation itself has to show."""


def _quotes(quote: str, text: str) -> bool:
    said = " ".join(split_words(quote))
    return bool(said) and f" {said} " in f" {' '.join(split_words(text))} "
