"""Rewording: a request that stands, worded otherwise by one operator after the other; what does not
stand leaves the old words.

request ─► operator ─► executed again ─► one referent, facts closure, no leak, agreement ─┬─► the new words go on to the next operator
   ▲                                                                                    └─► the old words stay, with a reason
   └──────────────────────────────────────────────────────────────────────────────────────────┘
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from envmill.base.errors import BadReply
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from schemas.base import Json
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import Operator, RewordInput, RewordReply

REWORD = Prompt.load(Path(__file__).parent / "prompts" / "reword.md", RewordInput, RewordReply)
_TOLD = {
    "polarity",
    "request",
    "opening",
    "facts",
    "hidden",
    "goals",
    "initial_state",
    "oracle",
    "avoid",
}
KEPT = 2
"""Operators that one request bears: after more of them nobody speaks like that."""
METHODS: Mapping[Operator, str] = {
    "goal_expansion": "Ask for one thing more that the tools can do and that goes with the rest, after what is "
    "asked for already; the "
    "reference path grows by what it takes. It uses a tool that the path did not use, and starts "
    "from what is there by then.",
    "compression": "Say it in fewer words: leave out what only introduces, thanks and explains, draw "
    "together what is done alike, and "
    "leave a step unsaid that is only on the way to a later one, such as to start what is to be "
    "finished. A payment, a training and "
    "whatever else lasts is said.",
    "implicit_reference": "Do not name again what was named before, or name it by what it belongs to: `that loan`, "
    "`the booking of Ms Okafor`.",
    "ambiguity": "Put a plain value so that it has to be worked out or looked up: a date by its distance "
    "from today, a record by the "
    "one thing that sets it apart.",
    "minimal_information": "Leave out of the first message of the conversation whatever the person can tell when "
    "asked; the request "
    "itself stays.",
}
"""Operator → how it is done, for whoever does it. In this order: what adds comes first, what leaves
out last."""


class JudgedWording(Protocol):
    """A wording that was executed and judged."""

    @property
    def reply(self) -> ScenarioReply:
        """What was executed, its calls with it."""
        ...

    @property
    def objection(self) -> tuple[str, str] | None:
        """(reason code, words) when it does not stand."""
        ...


J = TypeVar("J", bound=JudgedWording)


@dataclass(frozen=True)
class RewordingRound(Generic[J]):
    """What became of one operator."""

    operator: Operator
    before: str
    """The request as it was."""
    after: str
    """As it was proposed; the same where nothing was."""
    reason: str = ""
    """Why the old words stay; empty where the new ones do."""
    detail: str = ""
    judged: J | None = None
    """The new version, where it stands."""


def pick_operators(operators: Sequence[Operator], number: int) -> tuple[Operator, ...]:
    """All but one, another one each time, so that no two requests of an environment are reworded
    alike; their order stays. A single
    operator is always tried."""
    left_out = number % len(operators) if len(operators) > 1 else -1
    return tuple(one for place, one in enumerate(operators) if place != left_out)


async def ask_words(
    environment: Environment,
    number: int,
    operator: Operator,
    reply: ScenarioReply,
    models: ModelSession,
) -> RewordReply:
    """One operator, asked of whoever writes."""
    known = reply.model_dump(include=_TOLD)
    chain = (
        {"chain": reply.chain, "filling": reply.filling} if isinstance(reply, ChainReply) else {}
    )
    about = environment.model_dump(include={"brief", "name", "rules", "tools"})
    inputs = RewordInput.model_validate(
        about
        | known
        | chain
        | {"number": number, "operator": operator, "method": METHODS[operator]}
    )
    return await models.ask(REWORD, inputs, RewordReply)


async def reword(
    reply: ScenarioReply,
    operators: Sequence[Operator],
    ask: Callable[[Operator, ScenarioReply], Awaitable[RewordReply]],
    judge: Callable[[ScenarioReply, ScenarioReply | None], Awaitable[J]],
    most: int = KEPT,
) -> list[RewordingRound[J]]:
    """One turn for each operator that was tried, in their order; the last one that stands has the
    words.

    `judge` is given the scenario before as well where the new one expands it.
    """
    turns, kept = list[RewordingRound[J]](), 0
    for operator in operators:
        if kept == most:
            break
        turns.append(await _try(operator, reply, ask, judge))
        if (judged := turns[-1].judged) is not None:
            reply, kept = judged.reply, kept + 1
    return turns


async def _try(
    operator: Operator,
    reply: ScenarioReply,
    ask: Callable[[Operator, ScenarioReply], Awaitable[RewordReply]],
    judge: Callable[[ScenarioReply, ScenarioReply | None], Awaitable[J]],
) -> RewordingRound[J]:
    try:
        said = await ask(operator, reply)
    except BadReply as error:
        return RewordingRound(operator, reply.request, reply.request, "bad_reply", error.message)
    fault = _find_fault(operator, reply, said)
    if fault:
        return RewordingRound(operator, reply.request, said.request, *fault)
    judged = await judge(_apply(reply, said), reply if operator == "goal_expansion" else None)
    if judged.objection:
        return RewordingRound(operator, reply.request, said.request, *judged.objection)
    return RewordingRound(operator, reply.request, said.request, judged=judged)


def _find_fault(
    operator: Operator, reply: ScenarioReply, said: RewordReply
) -> tuple[str, str] | None:
    """What can be seen without running anything."""
    if (said.request, said.opening) == (reply.request, reply.opening):
        return "no_place", f"{operator} found nothing to do"
    grows = operator == "goal_expansion"
    if grows is not _grows(reply, said):
        return (
            "path_changed" if not grows else "nothing_added",
            "only an expanded goal has another reference path",
        )
    if lost := sorted(
        name for name, value in reply.facts.items() if said.facts.get(name, value) != value
    ):
        return "fact_changed", f"the facts {lost} have other values"
    if operator == "minimal_information" and not set(reply.hidden) < set(said.hidden):
        return "no_place", "nothing more is left to be asked for"
    return None


def _grows(reply: ScenarioReply, said: RewordReply) -> bool:
    return (
        isinstance(reply, ChainReply)
        and said.chain is not None
        and len(said.chain.nodes) > len(reply.chain.nodes)
    )


def _apply(reply: ScenarioReply, said: RewordReply) -> ScenarioReply:
    told = said.model_dump(include={"request", "opening", "hidden"}) | {
        "facts": reply.facts | said.facts,
        "goals": said.goals or reply.goals,
    }
    if isinstance(reply, ChainReply) and said.chain is not None:
        grown: dict[str, Json] = {
            "chain": said.chain,
            "filling": said.filling or reply.filling,
            "oracle": [],
            "variants": reply.variants | said.variants,
            "say": f"{reply.say} {said.say}".strip(),
            "tell": [*reply.tell, *said.tell],
        }
        return reply.model_copy(update=told | grown)
    return reply.model_copy(update=told)
