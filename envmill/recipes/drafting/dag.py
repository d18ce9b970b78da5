"""What a scenario's graph is held to beyond the validator of chains, once it was carried out.

graph, calls, replies ─┬─ derivable: each node is needed
                       ├─ reasoning: some of it works something out, and gives what its author says
                       └─ exact:     the rows that the author names carry the graph alone, and no fewer do
"""

from collections.abc import Iterator, Sequence

from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.endings import list_keys
from envmill.recipes.drafting.derivability import find_shortcuts, is_passing
from envmill.recipes.drafting.exactness import find_row_fault
from envmill.recipes.drafting.rechecking import find_keys, list_words
from envmill.sandbox import Reset, Sandbox
from envmill.toolgraph.chain_player import Enacted
from envmill.toolgraph.references import walk_nodes
from schemas.chain import Branch, Loop, Reason
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.run import DagCheck
from schemas.tool_prompts import DagReply

SOURCE, SHORTCUT, NO_REASONING, CLAIM = "graph", "node_not_needed", "no_reasoning", "claim_differs"
_NEEDED = (
    "Every node of the graph is needed: where it is deleted, with all that rests on it, what it "
    "gave stands neither in the request nor in "
    "a reply that remains. Take the value from there, and leave the node out if nothing else "
    "rests on it; or change request or records so "
    "that only this node gives the value."
)
_REASONED = (
    "Some `reason` or `if` works something out: it chooses among rows that differ, counts, adds, "
    "subtracts, composes or compares."
)
_CLAIMED = (
    "`claims` has what each `reason` gives in this state. Correct the claim, and the request or "
    "the records if they rest on it."
)
_EXACT = (
    "`needed` names the rows without which the graph cannot be carried out, those that they "
    "refer to among them, and no other row."
)


async def list_dag_complaints(
    reply: ScenarioReply,
    enacted: Enacted | None,
    checks: Sequence[DagCheck],
    environment: Environment,
    reset: Reset,
    sandbox: Sandbox,
) -> tuple[Complaint, ...]:
    """Of a reply that is a graph; none of any other."""
    if not isinstance(reply, DagReply) or enacted is None:
        return ()
    found = list[Complaint]()
    if "derivable" in checks:
        found += _list_shortcuts(reply, enacted)
    if "reasoning" in checks:
        found += _list_claims(reply, enacted)
    if "exact" in checks and reply.polarity == "achieve":
        faults = await find_row_fault(reply, enacted, environment, reset, sandbox)
        found += [Complaint(SOURCE, fault.code, fault.words, contract=_EXACT) for fault in faults]
    return tuple(found)


def _list_shortcuts(reply: DagReply, enacted: Enacted) -> Iterator[Complaint]:
    keys = find_keys((reply.initial_state, enacted.state))
    for shortcut in find_shortcuts(reply.chain, reply.filling, enacted, list_words(reply), keys):
        yield Complaint(SOURCE, SHORTCUT, shortcut.words, contract=_NEEDED)


def _list_claims(reply: DagReply, enacted: Enacted) -> Iterator[Complaint]:
    """Under other polarities the path only reads: what is worked out there stands in the facts that
    are told."""
    walked = list(walk_nodes(reply.chain.nodes))
    reasons = [one.node for one in walked if isinstance(one.node, Reason)]
    compares = any(isinstance(one.node, Branch) for one in walked)
    if (
        reply.polarity == "achieve"
        and not compares
        and all(is_passing(reason, enacted) for reason in reasons)
    ):
        yield Complaint(
            SOURCE,
            NO_REASONING,
            "nothing is worked out between the calls of the graph",
            contract=_REASONED,
        )
    loops = {one.node.id for one in walked if isinstance(one.node, Loop)}
    often = {one.node.id for one in walked if loops.intersection(one.around)}
    made = list_keys(enacted.state) - list_keys(reply.initial_state)
    for reason in reasons:
        gave = enacted.derived.get(reason.id, [])
        if reason.id in often or not gave or gave[0] in made:
            continue
        if reason.id not in reply.claims:
            yield Complaint(
                SOURCE,
                CLAIM,
                f"{reason.id} gives {gave[0]!r}, and `claims` does not say what it gives",
                contract=_CLAIMED,
            )
        elif reply.claims[reason.id] != gave[0]:
            words = (
                f"{reason.id} ({reason.rule}) gives {gave[0]!r}, and `claims` says "
                f"{reply.claims[reason.id]!r}"
            )
            yield Complaint(SOURCE, CLAIM, words, contract=_CLAIMED)
