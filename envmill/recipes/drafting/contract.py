"""The user contract of a reply, held to itself: what is hidden is known, untold at first, and no
other than what the request says."""

import re
from collections.abc import Iterator, Sequence

from envmill.language.delegation import find_handed_over
from envmill.language.mentions import is_exact, is_told
from schemas.base import Json, is_array, is_object
from schemas.dialogue_prompts import ComposedReply
from schemas.prompts import ScenarioReply
from schemas.scenario import UserContract


def make_contract(reply: ScenarioReply, requests: Sequence[str] = ()) -> UserContract:
    """Where nothing is hidden the whole request opens the conversation; of several requests, the
    first."""
    acting = {"able", "needs", "reports"} if isinstance(reply, ComposedReply) else set[str]()
    return UserContract(
        **{name: getattr(reply, name) for name in sorted(acting)},
        opening=requests[0] if requests else reply.opening if reply.hidden else reply.request,
        later=[*requests[1:]],
        facts=reply.facts,
        persona=reply.persona,
        goals=reply.goals,
        hidden=reply.hidden,
        fallbacks=reply.fallbacks,
        stop=reply.stop,
        wordings={
            name: asked for name, asked in reply.wordings.items() if name in reply.hidden and asked
        },
    )


def find_contract_faults(reply: ScenarioReply) -> Iterator[tuple[str, str]]:
    """(reason code, words) of everything that keeps the person from a conversation that ends where
    the request does."""
    if unknown := [name for name in reply.hidden if name not in reply.facts]:
        yield (
            "user_lacks_fact",
            f"`hidden` names {unknown}, which `facts` does not hold: nobody could ever be told",
        )
    if reply.hidden and not reply.opening.strip():
        yield (
            "no_opening",
            f"`hidden` names {reply.hidden}, and there is no `opening` that leaves them out",
        )
    if reply.hidden and (words := find_handed_over(reply.request, reply.opening)):
        yield (
            "opening_delegates",
            f"the opening leaves a choice to the agent ({words!r}), and `hidden` names "
            f"{reply.hidden}: what is hidden has to be asked for, "
            "and what the agent may choose is no fact",
        )
    for name in (name for name in reply.hidden if name in reply.facts):
        value = reply.facts[name]
        if is_exact(value) and not is_told(value, reply.request):
            yield (
                "user_contradicts",
                f"the request does not say {name!r} as {value!r}, which the person would answer "
                "when asked",
            )
        elif other := _find_other(name, value, reply):
            words = (
                f"the reference path uses {other!r} for {name!r}, as the request says, and the "
                f"person would answer {value!r} when asked"
            )
            yield "user_contradicts", words
        if is_told(value, reply.opening):
            yield (
                "opening_tells",
                f"the opening already says {name!r} ({value!r}), which `hidden` says is told "
                "only when asked",
            )


def _find_other(name: str, value: Json, reply: ScenarioReply) -> int:
    """The number that the path and the request have for a fact instead of its own, which the
    request says of something else; 0 if none.

    A number that the path uses anywhere, or that is the sum of those it uses, is right under
    whatever name.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    argument = re.sub(r"\W+", "_", re.sub(r"[ _]\d+$", "", name.casefold()))
    used = [number for call in reply.oracle for number in _list_numbers(call.arguments)]
    own = [
        given
        for call in reply.oracle
        if isinstance(given := call.arguments.get(argument), int) and not isinstance(given, bool)
    ]
    if value in (*used, sum(own)):
        return 0
    return next((other for other in own if is_told(other, reply.request)), 0)


def _list_numbers(value: Json) -> Iterator[Json]:
    """Numbers anywhere inside, also those that are written as texts."""
    if is_object(value):
        value = [*value.values()]
    if is_array(value):
        for inside in value:
            yield from _list_numbers(inside)
    elif isinstance(value, str) and value.isdecimal():
        yield int(value)
    elif isinstance(value, int | float):
        yield value
