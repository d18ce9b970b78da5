"""Several requests over one state: the wishes of a scenario shared out, each share asked for by
itself.

path ─► its changes are the wishes, in order ─► shares of at most five calls ─► a request for each ─► the node that fulfils it
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from envmill.recipes.drafting.requests import MOST_CALLS
from offline.dice import make_dice
from offline.domain import Domain
from offline.serving import recall_names
from offline.wording import WantedChange, write_request
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import TopologyReply, WrittenRequest


@dataclass(frozen=True)
class RequestShare:
    """Wishes that are asked for at once."""

    request: str
    until: int
    """Number of the call that fulfils the last of them."""


def share_wishes(
    reply: ScenarioReply, path: Sequence[Call], domain: Domain, many: int
) -> list[RequestShare]:
    """So many requests, none of which takes too many calls; none where the path allows none. `path`
    is the reply's, look-ups added."""
    wishes = [
        WantedChange(domain.operations[call.name], call.arguments)
        for call in reply.oracle
        if _changes(call, domain)
    ]
    done = [place for place, call in enumerate(path, 1) if _changes(call, domain)]
    if len(wishes) != len(done):
        return []
    dice = make_dice("requests", reply.request)
    for cuts in _list_cuts(len(wishes), many):
        ends = [done[cut - 1] for cut in cuts]
        if all(end - begin <= MOST_CALLS for begin, end in zip([0, *ends], ends, strict=False)):
            begins = [0, *cuts[:-1]]
            names = recall_names(reply, domain)
            asked = [
                write_request(wishes[a:b], domain, reply.initial_state, dice, names)
                for a, b in zip(begins, cuts, strict=True)
            ]
            return [RequestShare(*one) for one in zip(asked, ends, strict=True)]
    return []


def write_requests(reply: ChainReply, shares: Sequence[RequestShare]) -> TopologyReply:
    """The scenario with these requests; each call of its path is a step of the chain, in order."""
    written = [WrittenRequest(request=one.request, until=f"s{one.until}") for one in shares]
    told: dict[str, Json] = {
        "request": "",
        "opening": "",
        "hidden": [],
        "wordings": {},
        "requests": written,
    }
    alone = reply.model_dump() | told
    return TopologyReply.model_validate(alone)


def _list_cuts(wishes: int, many: int) -> Iterator[tuple[int, ...]]:
    """Ways to share them out in order, the most even first."""
    ways = [(*cut, wishes) for cut in combinations(range(1, wishes), many - 1)]
    yield from sorted(
        ways, key=lambda cuts: max(b - a for a, b in zip((0, *cuts), cuts, strict=False))
    )


def _changes(call: Call, domain: Domain) -> bool:
    return domain.operations[call.name].effect == "change"
