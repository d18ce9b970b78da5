"""The gate on expansions: a longer chain is kept only when the old reference path stays right and
the new one needs what was added.

old chain, its calls ─┬─ is it there, node for node?            no: rewritten
new chain, new rows  ─┼─ do the old calls answer and end alike?  no: broken, changed
                      ├─ can the new one be carried out?         no: why not
                      ├─ does each added change leave a mark?    no: idle
                      └─ is anything added that counts?          no: nothing_added   ─► None: kept

A look-up is never judged by the end state, which it does not change. It counts where a later
argument or a told fact comes from its reply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.base.errors import BuildError
from envmill.language.mentions import is_told
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.toolgraph.chain_player import Enacted, enact, read_reply
from envmill.toolgraph.overlap import list_flows
from envmill.toolgraph.validity import WRITTEN
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.chain import Branch, Chain, ChainStep, Filling, Loop, Node
from schemas.environment import Call
from schemas.scenario import Fact


@dataclass(frozen=True)
class PlottedChain:
    """A chain that can be carried out: with its values, on a state."""

    chain: Chain
    filling: Filling
    reset: Reset


@dataclass(frozen=True)
class ExpandedChain:
    """What became of one."""

    enacted: Enacted | None
    """The new reference path, where it is kept."""
    reason: str = ""
    detail: str = ""


async def judge_expansion(
    old: PlottedChain,
    was: Enacted,
    new: PlottedChain,
    program: Program,
    sandbox: Sandbox,
    told: Sequence[Fact] = (),
    most: int = WRITTEN.most,
) -> ExpandedChain:
    """`was` is what the old one came to on its own state; `told` are the facts that the user must
    be told at the new end."""
    effects = {tool.name: tool.effect for tool in program.tools}
    if fault := _compare(old.chain, new.chain):
        return ExpandedChain(None, *fault)
    seen = await sandbox.play(program, [new.reset, *map(Invoke, was.calls), Look()])
    if fault := _find_break(old, was, new, seen):
        return ExpandedChain(None, *fault)
    try:
        enacted = await enact(new.chain, new.filling, program, new.reset, sandbox, most)
    except BuildError as error:
        return ExpandedChain(
            None, f"expansion_{error.facts.get('reason', 'failed')}", error.message
        )
    if not _holds_in_order(was.calls, enacted.calls):
        return ExpandedChain(
            None, "old_changed", "the old calls do not come in the new path as they were"
        )
    added = _list_added(old.chain, new.chain)
    changes = [step for step in added if effects.get(step.tool) != "query"]
    for step in changes:
        without = [
            call for call, by in zip(enacted.calls, enacted.steps, strict=True) if by != step.id
        ]
        if await _ends_alike(without, enacted.state, new.reset, program, sandbox):
            return ExpandedChain(
                None, "idle", f"without {step.id} ({step.tool}) everything ends the same"
            )
    if not changes and not _find_used(added, new.chain, enacted, told):
        return ExpandedChain(
            None,
            "nothing_added",
            "only look-ups were added, and no later argument and no told fact comes from them",
        )
    return ExpandedChain(enacted)


def _find_used(
    added: Sequence[ChainStep], chain: Chain, enacted: Enacted, told: Sequence[Fact]
) -> list[str]:
    """Added look-ups from whose replies a later argument, or a fact that must be told, comes."""
    ids = {step.id for step in added}
    used = {giver for flow in list_flows(chain) for giver in flow.givers if giver in ids}
    for step, reply in zip(enacted.steps, enacted.replies, strict=True):
        if step in ids and any(is_told(fact.value, canonical_json(reply)) for fact in told):
            used.add(step)
    return sorted(used)


def _compare(old: Chain, new: Chain) -> tuple[str, str] | None:
    nodes = {one.id: one for one in new.nodes}
    if changed := [one.id for one in old.nodes if nodes.get(one.id) != one]:
        return "old_rewritten", f"{changed[0]} is not in the new chain as it was"
    used = {node.tool for node in _walk(old.nodes) if isinstance(node, ChainStep)}
    if not any(step.tool not in used for step in _list_added(old, new)):
        return "no_new_tool", "the new chain uses no tool that the old one did not"
    return None


def _list_added(old: Chain, new: Chain) -> list[ChainStep]:
    known = {node.id for node in _walk(old.nodes)}
    return [
        node for node in _walk(new.nodes) if isinstance(node, ChainStep) and node.id not in known
    ]


def _walk(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Branch):
            yield from _walk([*node.then, *node.otherwise])
        elif isinstance(node, Loop):
            yield from _walk(node.body)


def _find_break(
    old: PlottedChain, was: Enacted, new: PlottedChain, seen: Sequence[Observation]
) -> tuple[str, str] | None:
    """Whether the old calls still do on the new rows what they did on the old ones."""
    begun, *replies, end = seen
    if begun.outcome != "ok":
        return "no_start", f"no session starts on the new rows: {begun.message}"
    for call, now in zip(was.calls, replies, strict=True):
        if now.outcome != "ok":
            return (
                "old_broken",
                f"on the new rows {call.name} ended in {now.outcome} ({now.code}: {now.message})",
            )
    for call, before, now in zip(was.calls, was.replies, replies, strict=True):
        if not _still_answers(before, read_reply(now)):
            return (
                "old_changed",
                f"on the new rows {call.name} does not answer what it answered before",
            )
    if diff_states(old.reset.state, was.state) != diff_states(new.reset.state, end.state):
        return "old_changed", "on the new rows the old calls change something else"
    return None


def _still_answers(before: Json, now: Json) -> bool:
    """Lists may have grown by rows that were added; what was in them is still there."""
    if is_array(before) and is_array(now):
        return all(one in now for one in before)
    if is_object(before) and is_object(now):
        return before.keys() == now.keys() and all(
            _still_answers(before[name], now[name]) for name in before
        )
    return before == now


def _holds_in_order(old: Sequence[Call], new: Sequence[Call]) -> bool:
    ahead = iter(new)
    return all(call in ahead for call in old)


async def _ends_alike(
    calls: Sequence[Call], state: dict[str, Json], reset: Reset, program: Program, sandbox: Sandbox
) -> bool:
    """A call that another one needs is not idle, whatever the end."""
    seen = await sandbox.play(program, [reset, *map(Invoke, calls), Look()])
    return all(one.outcome == "ok" for one in seen) and seen[-1].state == state
