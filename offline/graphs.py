"""A chain as a graph without twins: a look-up that was made before, with the same arguments, is made once, and all takers take from it."""

from collections.abc import Mapping, Sequence

from offline.domain import Domain
from schemas.base import canonical_json
from schemas.chain import ChainStep, FromNode, Node, Reason, Source
from schemas.tool_prompts import ChainReply


def merge_twins(reply: ChainReply, domain: Domain) -> ChainReply:
    """The reply without its twins. What stands between two of them changes nothing that they show, or they would not be twins."""
    kept, known, now = list[Node](), dict[str, str](), dict[str, str]()
    filling = reply.filling
    for node in reply.chain.nodes:
        if isinstance(node, ChainStep):
            node = node.model_copy(update={"arguments": {name: _follow(one, now) for name, one in node.arguments.items()}})
            said = {name.partition(".")[2]: value for name, value in filling.said.items() if name.startswith(f"{node.id}.")}
            is_query = domain.operations[node.tool].effect == "query"
            twin = canonical_json([node.tool, node.model_dump()["arguments"], said]) if is_query else ""
        elif isinstance(node, Reason):
            node = node.model_copy(update={"takes": [_follow(one, now) for one in node.takes]})
            pick = filling.picks.get(node.id)
            twin = canonical_json([node.rule, node.model_dump()["takes"], pick.model_dump() if pick else None])
        else:
            twin = ""
        if twin and twin in known:
            now[node.id] = known[twin]
            continue
        known[twin] = node.id
        kept.append(node)
    gone = now.keys()
    told = {name: value for name, value in filling.said.items() if name.partition(".")[0] not in gone}
    picks = {name: pick for name, pick in filling.picks.items() if name not in gone}
    chain = reply.chain.model_copy(update={"nodes": kept})
    return reply.model_copy(update={"chain": chain, "filling": filling.model_copy(update={"said": told, "picks": picks})})


def follows(reply: ChainReply, tools: Sequence[str]) -> bool:
    """Whether its calls hold these, in this order."""
    made = iter([node.tool for node in reply.chain.nodes if isinstance(node, ChainStep)])
    return all(tool in made for tool in tools)


def _follow(source: Source, now: Mapping[str, str]) -> Source:
    return source.model_copy(update={"node": now.get(source.node, source.node)}) if isinstance(source, FromNode) else source
