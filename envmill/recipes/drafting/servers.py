"""Scenarios over several servers: identities that agree, values that go from one server to another,
and no server that is not needed.

state  ─► claimed identities: each stands in every server that claims it, with equal fields
chain, carried out ─► servers of its steps ─┬─ tied by values that the user does not say
                                            └─ without all calls of one: does the end change, or is a value underivable?
"""

from collections.abc import Iterator, Mapping, Sequence

from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.sql.servers import find_unlike, hold_identities
from envmill.recipes.drafting.derivability import PlayedGraph
from envmill.recipes.drafting.rechecking import find_keys, list_words, mentions
from envmill.toolgraph.chain_player import Enacted
from envmill.toolgraph.references import list_references, walk_nodes
from envmill.verifiers.diff import diff_states
from schemas.base import canonical_json
from schemas.chain import Chain, ChainStep
from schemas.database import Table
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import Polarity
from schemas.servers import find_server, list_servers
from schemas.typed_prompts import TopologyReply

SOURCE = "servers"
_CLAIMED = (
    "`identities` says which servers know each shared identity. A claimed identity has a row in "
    "the table of each server that claims it, "
    "under the same key and with equal shared fields. At least one is claimed by two servers that "
    "the path uses; one server alone may "
    "know others."
)
_TIED = (
    "Each server of the path takes a value from a reply of another one, or gives one to it, and "
    "the user does not say that value: the "
    "person is named by what one server knows of them, and the other server is asked with what "
    "the first one replied."
)
_NEEDED = (
    "Every server of the path is needed: without all of its calls something that was asked for is "
    "not done, or a value that a call of "
    "another server takes stands neither in the request nor in another reply."
)


def choose_servers(environment: Environment, number: int, polarity: Polarity) -> int:
    """How many servers the path of a scenario needs: two up to all of them in turn; one otherwise,
    and where nothing is achieved."""
    most = len(list_servers(environment.shared))
    return 2 + number % (most - 1) if most > 1 and polarity == "achieve" else 1


def list_used(chain: Chain, environment: Environment) -> list[str]:
    """Servers whose tools a chain calls."""
    servers = list_servers(environment.shared)
    steps = [one.node for one in walk_nodes(chain.nodes) if isinstance(one.node, ChainStep)]
    return sorted({find_server(step.tool, servers) for step in steps} - {""})


def list_server_complaints(
    reply: ScenarioReply, enacted: Enacted | None, environment: Environment
) -> tuple[Complaint, ...]:
    """Of a scenario that something is achieved in, over an environment of several servers; none of
    any other."""
    if (
        not isinstance(reply, TopologyReply)
        or not environment.shared
        or enacted is None
        or reply.polarity != "achieve"
    ):
        return ()
    used = list_used(reply.chain, environment)
    found = list(_list_identity_faults(reply, used, environment))
    if len(used) > 1:
        graph = PlayedGraph(
            reply.chain,
            reply.filling,
            enacted,
            list_words(reply),
            find_keys((reply.initial_state, enacted.state)),
        )
        found += [
            *_list_apart(graph, reply.chain, used, environment),
            *_list_needless(graph, reply, enacted, used, environment),
        ]
    return tuple(found)


def _list_identity_faults(
    reply: TopologyReply, used: Sequence[str], environment: Environment
) -> Iterator[Complaint]:
    held = hold_identities(environment.shared, reply.initial_state)
    tables = {one.name: one.tables for one in environment.shared}
    for claim in reply.identities:
        for server in claim.servers:
            if server not in held.get((claim.identity, claim.key), {}):
                table = tables.get(claim.identity, {}).get(server, "any table")
                yield _complain(
                    "identity_missing",
                    f"{claim.identity} {claim.key!r} is claimed by {server}, and {table} has no "
                    "such row",
                    _CLAIMED,
                )
    for words in find_unlike(environment.shared, reply.initial_state):
        yield _complain("identity_differs", words, _CLAIMED)
    if len(used) > 1 and not any(len({*claim.servers} & {*used}) > 1 for claim in reply.identities):
        yield _complain(
            "identity_unshared", f"no identity is claimed by two of {', '.join(used)}", _CLAIMED
        )


def _list_apart(
    graph: PlayedGraph, chain: Chain, used: Sequence[str], environment: Environment
) -> Iterator[Complaint]:
    """Servers that no value ties to the others."""
    origins = _find_origins(chain, list_servers(environment.shared))
    ties = [
        (giver, taker)
        for node, step, _ in graph.list_flows()
        for giver in origins[node]
        for taker in origins[step]
        if giver != taker
    ]
    tied, rest = {used[0]}, {*used[1:]}
    while met := {one for one in rest for tie in ties if one in tie and tied & {*tie}}:
        tied, rest = tied | met, rest - met
    if rest:
        words = (
            f"no value that the user does not say goes between {', '.join(sorted(tied))} and "
            f"{', '.join(sorted(rest))}"
        )
        yield _complain("servers_apart", words, _TIED)


def _list_needless(
    graph: PlayedGraph,
    reply: TopologyReply,
    enacted: Enacted,
    used: Sequence[str],
    environment: Environment,
) -> Iterator[Complaint]:
    """Servers all of whose calls can be left out."""
    servers = list_servers(environment.shared)
    origins = _find_origins(reply.chain, servers)
    asked = {
        find_server(table, servers) for table in _list_changed(reply, enacted, environment.tables)
    }
    for server in used:
        group = {node for node, of in origins.items() if of == {server}}
        if (
            server not in asked
            and not graph.find_sole(group)
            and not _is_told(reply, enacted, group)
        ):
            yield _complain(
                "server_not_needed",
                f"without all calls of {server} the end is reached all the same",
                _NEEDED,
            )


def _list_changed(reply: TopologyReply, enacted: Enacted, tables: Sequence[Table]) -> Iterator[str]:
    """Tables in which the path changes something that an end state has to agree on."""
    loose = {
        (table.name, column.name)
        for table in tables
        for column in table.columns
        if column.policy == "exempt"
    }
    for change in diff_states(reply.initial_state, enacted.state):
        if len(change.path) < 3 or (str(change.path[0]), str(change.path[-1])) not in loose:
            yield str(change.path[0])


def _is_told(reply: TopologyReply, enacted: Enacted, group: set[str]) -> bool:
    """Whether a fact that must be told stands in replies of this group, and in no other one."""
    told = [
        (step in group, canonical_json(answer))
        for step, answer in zip(enacted.steps, enacted.replies, strict=True)
    ]
    return any(
        {own for own, answer in told if mentions(answer, fact.value)} == {True}
        for fact in reply.tell
    )


def _find_origins(chain: Chain, servers: list[str]) -> Mapping[str, set[str]]:
    """Node → servers that its value comes from."""
    found: dict[str, set[str]] = {}
    for one in walk_nodes(chain.nodes):
        node = one.node
        if isinstance(node, ChainStep):
            found[node.id] = {find_server(node.tool, servers)} - {""}
        else:
            found[node.id] = {
                server for name in list_references(node) for server in found.get(name, ())
            }
    return found


def _complain(code: str, words: str, contract: str) -> Complaint:
    return Complaint(SOURCE, code, words, contract=contract)
