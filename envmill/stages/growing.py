"""Growing the world of a scenario: tools are tried, an author adds what some of them lack, and the
old path still leads to its end.

scenario ─► tools reached by drawn calls ─► enough? ─► author ─► each patch: new rows, natural, path, words, call ─► gates once ─► grown
                                                         └── what is wrong with patches is told once ──┘
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from envmill.base.errors import BadReply
from envmill.gates.base import Finding, keep, pass_by
from envmill.gates.reading.suspicions import asks_judge
from envmill.kinds import kind_of
from envmill.kinds.start import CLOCK
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.growing import (
    WorldTries,
    add_rows,
    ask_natural,
    ask_rows,
    find_patch_fault,
    measure_complexity,
    order_outwards,
    play_calls,
    succeeds,
    try_tools,
)
from envmill.sandbox import Invoke, Look, Program, Reset
from envmill.stages.context import RunContext
from envmill.stages.keeping import KeptPath
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import ScenarioVersion, rehearse_draft
from envmill.stages.waiving import waive
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.topology import weave_environment
from schemas.base import Json
from schemas.growth_prompts import ToolPatch
from schemas.scenario import Draft

GATE = "grow"
"""Under which the ledger has how much of its environment a scenario's world reaches."""
_ROUNDS = 2
"""How often an author is asked: once, and once again about what was wrong."""


@dataclass
class _Patched:
    """What became of the patches."""

    added: dict[str, ToolPatch] = field(default_factory=dict[str, ToolPatch])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """Tool → why nothing was added for it."""
    judged: list[str] = field(default_factory=list[str])
    """Tools whose additions a model judged."""
    unnatural: dict[str, str] = field(default_factory=dict[str, str])


async def grow_world(
    posed: ScenarioVersion,
    draft: Draft,
    place: ScenarioSlot,
    context: RunContext,
    models: ModelSession,
) -> tuple[ScenarioVersion, tuple[Finding, ...]]:
    """The scenario in a world that reaches more tools, where it could be made so; and what is
    reached now. It is never lost by this."""
    config, environment = context.config, place.environment
    if not config.reach or not kind_of(environment).tabled or not context.recipe.grows:
        return replace(posed, draft=draft), ()
    used, names = (
        list(dict.fromkeys(call.name for call in draft.oracle)),
        [tool.name for tool in environment.tools],
    )
    graph = await weave_environment(environment)
    seed = f"{config.run_seed}/{environment.id}/{place.number}/{GATE}"
    states = [draft.initial_state, await _find_end(draft, context, place)]
    tries = await try_tools(
        environment, place.tests, states, order_outwards(graph, used, names), seed, context.sandbox
    )
    wanted = min(config.reach, len(names))
    path, patched = (
        KeptPath(replace(posed, draft=draft), draft, place, context, models, strict=True),
        _Patched(),
    )
    enough = len(used) + len(tries.reached) >= wanted
    why = "" if enough else await _patch(path, tries, graph, used, wanted, patched)
    grown, objection = await _recheck(path.version, draft.waived, patched, place, context, models)
    if objection:
        grown = replace(posed, draft=draft)
    reached = [*used, *tries.reached, *patched.added]
    evidence: dict[str, Json] = {
        "tools": len(names),
        "wanted": wanted,
        "reached": len(reached),
        "by_path": used,
        "by_execution": tries.reached,
        "by_rows": {
            name: sum(map(len, patch.rows.values())) for name, patch in patched.added.items()
        },
        "unreached": {name: patched.refused.get(name, "") for name in names if name not in reached},
        "complexity": round(measure_complexity(graph, reached), 3),
        "judged": patched.judged,
        "unnatural": patched.unnatural,
        "crashed": tries.crashed,
    }
    if tries.crashed:
        words = next(
            f"in this scenario's world {tool} breaks: {end}" for tool, end in tries.crashed.items()
        )
        return grown, (replace(pass_by(GATE, "crashes", words), evidence=evidence),)
    if len(reached) >= wanted:
        return grown, (keep(GATE, evidence),)
    words = (
        f"{len(reached)} of {len(names)} tools succeed in this scenario's world, and {wanted} "
        "are wanted"
    )
    return grown, (
        replace(pass_by(GATE, objection or why or "too_few_tools", words), evidence=evidence),
    )


async def _recheck(
    grown: ScenarioVersion,
    waived: Sequence[str],
    patched: _Patched,
    place: ScenarioSlot,
    context: RunContext,
    models: ModelSession,
) -> tuple[ScenarioVersion, str]:
    """The grown scenario with what the gates of the loop find of it; the reason code where they
    object, and nothing is added then."""
    if not patched.added or not context.config.rehearse:
        return grown, ""
    assert grown.draft is not None
    seen = await rehearse_draft(
        replace(grown, draft=waive(grown.draft, waived)), place, context, models
    )
    if seen.draft is not None and not seen.complaints:
        return seen, ""
    why = f"gates_{seen.complaints[0].source}_{seen.complaints[0].code}"
    patched.refused |= dict.fromkeys(
        patched.added, f"on the grown state: {seen.complaints[0].words}"
    )
    patched.added.clear()
    return grown, why


async def _find_end(draft: Draft, context: RunContext, place: ScenarioSlot) -> dict[str, Json]:
    """The state that the reference path leads to: what it makes is there for other tools."""
    reset = Reset(draft.initial_state, CLOCK, draft.seed)
    *_, end = await context.sandbox.play(
        Program.of(place.environment), [reset, *map(Invoke, draft.oracle), Look()]
    )
    return end.state if end.state is not None else draft.initial_state


async def _patch(
    path: KeptPath,
    tries: WorldTries,
    graph: ToolGraph,
    used: Sequence[str],
    wanted: int,
    patched: _Patched,
) -> str:
    """Ask for what the tools lack and add what holds; the reason code where nothing was asked."""
    if path.draft.polarity != "achieve":
        # More records may well change an answer, or whom a request can mean.
        return "left_alone"
    reached, lacking, complaint = [*used, *tries.reached], tries, ""
    for _ in range(_ROUNDS):
        try:
            reply = await ask_rows(
                path.place.environment, path.place.number, path.draft.request, path.draft.initial_state, path.draft.oracle, lacking,
                path.models, complaint,
            )  # fmt: skip
        except BadReply:
            return "no_patch"
        asked = [
            one
            for one in reply.patches
            if one.tool in lacking.unreached and one.tool not in patched.added
        ]
        patched.refused |= {
            one.tool: f"left: {one.left}" for one in asked if one.call is None and one.left
        }
        offered = [one for one in asked if not (one.call is None and one.left)]
        await _judge(path, graph, [*reached, *patched.added], offered, patched)
        for patch in offered:
            if patch.tool not in patched.unnatural:
                await _add(path, patch, patched)
        faults = {
            name: why
            for name, why in patched.refused.items()
            if name not in patched.added and not why.startswith("left: ")
        }
        silent = [
            name
            for name in lacking.unreached
            if name not in patched.added and name not in patched.refused
        ]
        patched.refused |= dict.fromkeys(silent, "there is no patch for it")
        faults |= dict.fromkeys(silent, "there is no patch for it")
        if len(reached) + len(patched.added) >= wanted or not faults:
            break
        complaint = _complain(faults)
    return ""


async def _judge(
    path: KeptPath,
    graph: ToolGraph,
    reached: Sequence[str],
    offered: Sequence[ToolPatch],
    patched: _Patched,
) -> None:
    """Which additions do not belong there, of those that chance picks: the more complex the world
    is by then, the more of them."""
    config, environment = path.context.config, path.place.environment
    if not config.natural or not asks_judge(config.suspicions, path.models):
        return
    dice = random.Random(f"{config.run_seed}/{environment.id}/{path.place.number}/natural")
    held, drawn = list(reached), list[ToolPatch]()
    for patch in offered:
        if (
            patch.rows
            and patch.call is not None
            and dice.random() < measure_complexity(graph, held)
        ):
            drawn.append(patch)
        held.append(patch.tool)
    if not drawn:
        return
    patched.judged += [patch.tool for patch in drawn]
    try:
        said = await ask_natural(environment, path.draft.request, drawn, path.models)
    except BadReply:
        return
    names = {patch.tool for patch in drawn}
    patched.unnatural |= {tool: why for tool, why in said.items() if tool in names}
    patched.refused |= {tool: f"unnatural: {why}" for tool, why in patched.unnatural.items()}


async def _add(path: KeptPath, patch: ToolPatch, patched: _Patched) -> None:
    """Admit a patch, or say what is wrong with it."""
    environment, state = path.place.environment, path.draft.initial_state
    fault = find_patch_fault(patch, environment, state)
    if not fault and patch.call is not None:
        grown = add_rows(state, patch)
        tool = next(tool for tool in environment.tools if tool.name == patch.tool)
        call = patch.call.model_copy(update={"actor": tool.actors[0]})
        ((_, seen),) = await play_calls(environment, [(grown, call)], path.context.sandbox)
        if not succeeds(tool, seen):
            end = seen[-1] if seen[0].outcome == "ok" else seen[0]
            fault = (
                f"with these records the call ended in {end.outcome} ({end.code}: {end.message})"
            )
            fault = (
                "with these records the call found or changed nothing"
                if end.outcome == "ok"
                else fault
            )
        elif refused := await path.admit(grown):
            fault = f"{refused[0]}: {refused[1]}"
    if fault:
        patched.refused[patch.tool] = fault
    else:
        patched.refused.pop(patch.tool, None)
        patched.added[patch.tool] = patch


def _complain(faults: dict[str, str]) -> str:
    told = "\n".join(
        f"{number}. {tool}: {why}" for number, (tool, why) in enumerate(faults.items(), 1)
    )
    return (
        f"Some entries cannot be used:\n\n{told}\n\nWrite new entries for these tools alone. The "
        "records of all other entries were added "
        "to the state; do not repeat them. Reply in the same form."
    )
