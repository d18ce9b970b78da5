"""Several requests of one scenario: each has its part of the reference path, and nobody needs a
later one to fulfil it.

requests, each with the node that ends it ─► chain, carried out ─► parts of the path ─► each short, of use, told, and asked for in time
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from envmill.base.errors import BuildError
from envmill.kinds.authoring.complaint import Complaint
from envmill.language.mentions import is_told
from envmill.sandbox import Observation
from envmill.toolgraph.references import walk_nodes
from envmill.verifiers.facts import communicates
from schemas.chain import Chain, Filling
from schemas.prompts import ScenarioReply
from schemas.scenario import RequestPart
from schemas.typed_prompts import TopologyReply

MOST_CALLS = 5
"""Calls of one part of a path, as published."""
_SHORTEST = 4
"""Characters of a text that no request says by chance."""
_CONTRACT = (
    "Each request takes one to five calls, and changes something or is told something that it "
    "asks for. It can be fulfilled by an agent "
    "that knows no later request."
)


def choose_requests(most: int, number: int) -> int:
    """How many requests the scenario of a number makes: one, two and so on, in turn."""
    return 1 + number % max(1, most)


def share_calls(reply: ScenarioReply, steps: Sequence[str]) -> list[RequestPart]:
    """The parts of a path, given the step that made each call; none where there is one request."""
    if not isinstance(reply, TopologyReply) or not reply.requests:
        return []
    order = _place_nodes(reply.chain)
    begins, parts = 0, list[RequestPart]()
    for written in reply.requests:
        if written.until not in order:
            raise BuildError(
                f"`until` of a request names {written.until!r}, which is no node of the chain.",
                reason="unknown_node",
            )
        made = [
            place for place, step in enumerate(steps) if order.get(step, -1) <= order[written.until]
        ]
        ends = max(made, default=-1) + 1
        if ends <= begins:
            raise BuildError(
                f"No call is made between the request that ends with {written.until} and the one "
                "before.",
                reason="no_call",
            )
        parts.append(RequestPart(request=written.request, calls=ends - begins, say=written.say))
        begins = ends
    if begins < len(steps):
        raise BuildError(
            f"The last request ends with {reply.requests[-1].until}, and the chain goes on.",
            reason="unasked_call",
        )
    return parts


def list_part_complaints(
    reply: ScenarioReply, parts: Sequence[RequestPart], states: Sequence[Observation]
) -> Iterator[Complaint]:
    """`states` are what was seen before the first call and after each call."""
    filling = reply.filling if isinstance(reply, TopologyReply) else Filling()
    ends = [0, *accumulate(part.calls for part in parts)]
    for place, part in enumerate(parts, 1):
        facts = [fact for fact in reply.tell if fact.asked == place]
        begins, end = ends[place - 1], ends[place]
        told = f"request {place} ({part.request[:80]!r})"
        if part.calls > MOST_CALLS:
            yield _complain(
                "request_too_long",
                f"{told} takes {part.calls} calls, and {MOST_CALLS} are the most",
            )
        if not facts and states[begins].state_hash == states[end].state_hash:
            yield _complain(
                "request_idle", f"{told} changes nothing, and nothing is told in reply to it"
            )
        for fact in facts:
            if not communicates(fact, part.say):
                yield _complain(
                    "request_silent",
                    f"{told}: its last words do not communicate {fact.name!r} ({fact.value!r})",
                )
        for name, value in _list_ahead(reply, parts, place, filling):
            yield _complain(
                "request_ahead",
                f"{told}: its path says {value!r} ({name}), and only a later request names that",
            )


def _list_ahead(
    reply: ScenarioReply, parts: Sequence[RequestPart], place: int, filling: Filling
) -> Iterator[tuple[str, str]]:
    """Texts that the user says for a step of this part, and that only later requests hold."""
    if not isinstance(reply, TopologyReply):
        return
    order = _place_nodes(reply.chain)
    until = order[reply.requests[place - 1].until]
    since = order[reply.requests[place - 2].until] if place > 1 else -1
    by_now, later = (
        "\n".join(part.request for part in some) for some in (parts[:place], parts[place:])
    )
    for name, value in filling.said.items():
        step = name.partition(".")[0]
        is_text = isinstance(value, str) and len(value) >= _SHORTEST
        if (
            is_text
            and since < order.get(step, -1) <= until
            and is_told(value, later)
            and not is_told(value, by_now)
        ):
            yield name, value


def _place_nodes(chain: Chain) -> dict[str, int]:
    """Node → its place in the chain; of one inside a loop or a branch, the place of the
    outermost."""
    return {
        one.node.id: place for place, node in enumerate(chain.nodes) for one in walk_nodes([node])
    }


def _complain(code: str, words: str) -> Complaint:
    return Complaint("oracle", code, words, contract=_CONTRACT)
