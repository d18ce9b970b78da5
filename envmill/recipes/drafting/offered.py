"""A chain that the author of a scenario is offered, and what of it the reference path lacks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.kinds.authoring.complaint import Complaint
from envmill.toolgraph.overlap import ChainMatch, match_chain
from schemas.base import Json
from schemas.chain import Chain, Infeasible
from schemas.environment import Call

LEFT = "chain_left"
INFEASIBLE = "infeasible"
_CONTRACT = (
    "The path contains every step of the sampled chain, in its order, and each argument that the "
    "chain takes from an earlier reply; other "
    "calls may stand in between. If no scenario can do that, answer `infeasible` with the node "
    "and the reason."
)


@dataclass(frozen=True)
class OfferedChain:
    """A sampled chain, and whether the reference path must contain it."""

    chain: Chain
    binding: bool = False
    calls: tuple[Call, ...] = ()
    """How a binding chain was carried out."""
    steps: frozenset[str] = frozenset()
    """Steps that were carried out."""

    def compare(self, calls: Sequence[Call], replies: Sequence[Json]) -> ChainMatch:
        """A path compared with the chain, by its calls and the replies to them."""
        return match_chain(self.chain, calls, replies, self.steps)


def complain_of_left(match: ChainMatch) -> Iterator[Complaint]:
    """One complaint for each step and each argument that is missing."""
    for part in match.missing:
        yield Complaint(
            "oracle",
            LEFT,
            part.words,
            index=part.index,
            tool=part.tool,
            arguments=part.arguments,
            contract=_CONTRACT,
        )


def complain_of_infeasible(said: Infeasible) -> Complaint:
    """That the author found every chain infeasible that it was offered."""
    return Complaint(
        "oracle",
        INFEASIBLE,
        f"the author says that node {said.node} cannot be carried out: {said.reason}",
    )
