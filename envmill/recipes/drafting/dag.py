"""What a scenario's graph is held to beyond the validator of chains, once it was carried out.

graph, calls, replies ─► derivable: each node is needed
"""

from collections.abc import Iterator, Sequence

from envmill.kinds.authoring.complaint import Complaint
from envmill.recipes.drafting.derivability import find_shortcuts
from envmill.recipes.drafting.rechecking import find_keys, list_words
from envmill.toolgraph.chain_player import Enacted
from schemas.prompts import ScenarioReply
from schemas.run import DagCheck
from schemas.tool_prompts import DagReply

SOURCE, SHORTCUT = "graph", "node_not_needed"
_NEEDED = (
    "Every node of the graph is needed: where it is deleted, with all that rests on it, what it gave stands neither in the request nor in "
    "a reply that remains. Leave the node out, or change request or records so that only this node gives the value."
)


def list_dag_complaints(reply: ScenarioReply, enacted: Enacted | None, checks: Sequence[DagCheck]) -> tuple[Complaint, ...]:
    """Of a reply that is a graph; none of any other."""
    if not isinstance(reply, DagReply) or enacted is None:
        return ()
    return tuple(_list_shortcuts(reply, enacted)) if "derivable" in checks else ()


def _list_shortcuts(reply: DagReply, enacted: Enacted) -> Iterator[Complaint]:
    keys = find_keys((reply.initial_state, enacted.state))
    for shortcut in find_shortcuts(reply.chain, reply.filling, enacted, list_words(reply), keys):
        yield Complaint(SOURCE, SHORTCUT, shortcut.words, contract=_NEEDED)
