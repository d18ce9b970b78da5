"""Recipe `envfactory`: sketches of tools → types → tables → program → chains sampled from the types
→ scenarios → other words.

sketch.md, or documents ─► state.md ─► rows ─► metadata.md: types, tables touched ─► program and tests, replies held to the types
graph of the tools ─► backward sampler ─► the validator ─► topology.md: state, words, chain ─► the validator ─► carried out ─► reworded
"""

from dataclasses import replace
from functools import partial

from envmill.base.errors import BuildError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.documents import (
    ask_metadata,
    list_sketched,
    load_metadata,
    load_requirements,
    load_schema,
    part_domains,
    pick_source,
    seed_domain,
)
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import plan_block
from envmill.recipes.drafting.offered import OfferedChain
from envmill.recipes.drafting.rewording import REWORD
from envmill.recipes.drafting.servers import choose_servers, list_used
from envmill.recipes.scenarios import ask_checks, describe_offer, load_checks, load_errands
from envmill.recipes.tables import (
    AddPart,
    TablePlan,
    add_schema,
    ask_code,
    ask_requirements,
    ask_rows,
    ask_schema,
    ask_trials,
    describe_typed,
    load_code,
    load_rows,
    load_trials,
    plan_tables,
)
from envmill.recipes.themes import find_theme, load_theme, pick_themes
from envmill.toolgraph.evidence.label import PROMPT as LABEL
from envmill.toolgraph.topology import find_chain_fault, sample_for, weave_environment
from envmill.toolgraph.validity import limit_written
from schemas.chain import Chain
from schemas.choice import NO_PAST, Past
from schemas.environment import Blueprint, Environment
from schemas.prompts import ScenarioReply
from schemas.run import RecipeName, RunConfig
from schemas.seed import Seed
from schemas.table_prompts import SchemaReply
from schemas.typed_prompts import (
    SketchInput,
    SketchReply,
    StateInput,
    TopologyInput,
    TopologyReply,
)

NAME: RecipeName = "envfactory"
USER_SIDE = 4
"""One environment in so many has a tool of the user's own."""
_FOLDER = PROMPTS / NAME


def make(themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe; what documents describe is parted into domains, other fields of work have their
    tools sketched."""
    theme, rows, code, trials, checks = (
        load_theme(),
        load_rows(),
        load_code(),
        load_trials(),
        load_checks(),
    )
    requirements, schema, metadata, errands = (
        load_requirements(),
        load_schema(),
        load_metadata(),
        load_errands(),
    )
    sketch = Prompt.load(_FOLDER / "sketch.md", SketchInput, SketchReply)
    state = Prompt.load(_FOLDER / "state.md", StateInput, SchemaReply)
    topology = Prompt.load(_FOLDER / "topology.md", TopologyInput, TopologyReply)
    plan = TablePlan(
        require=_choose(partial(ask_requirements, requirements), partial(_ask_sketch, sketch)),
        design=_choose(partial(ask_schema, schema), partial(_ask_state, state)),
        fill=partial(ask_rows, rows),
        offer=partial(ask_metadata, metadata),
        decides=requirements,
    )
    return Recipe(
        name=NAME,
        tabled=True,
        operators=(
            "goal_expansion",
            "compression",
            "implicit_reference",
            "ambiguity",
            "minimal_information",
        ),
        prompts={
            "environments-mine": (theme, LABEL),
            "environments-generate": (sketch, requirements, state, schema, rows, metadata),
            "environments-build": (code, trials),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (errands, topology, REWORD),
            "scenarios-build": (checks,),
        },
        pick_seeds=partial(_pick_seeds, themes),
        find_theme=partial(find_theme, theme),
        pick_texts=_pick_texts,
        grow=part_domains,
        make_seed=partial(seed_domain, NAME),
        think_up=partial(plan_tables, plan),
        write_program=partial(ask_code, code, describe_typed),
        write_tests=partial(ask_trials, trials),
        plan_errands=partial(plan_block, errands, _sample_chain),
        pose=partial(_ask_topology, topology),
        samplers=("walk", "backward", "linked"),
        write_checks=partial(ask_checks, checks),
    )


def _pick_seeds(themes: Themes, config: RunConfig, past: Past = NO_PAST) -> list[Seed]:
    """Of known places, every fourth has a tool that is the user's alone; which ones, the run's seed
    says. A place of several servers has
    none."""
    picked = [
        _give_servers(seed, config.servers - place % config.servers)
        for place, seed in enumerate(pick_themes(NAME, themes, config, past))
    ]
    return [
        _give_user_a_tool(seed)
        if (place + config.run_seed) % USER_SIDE == 0 and not seed.brief.servers
        else seed
        for place, seed in enumerate(picked)
    ]


def _give_user_a_tool(seed: Seed) -> Seed:
    brief = seed.brief.model_copy(update={"user_side": True})
    return Seed.model_validate(seed.model_dump() | {"id": "", "brief": brief})


def _give_servers(seed: Seed, servers: int) -> Seed:
    if servers == 1:
        return seed
    brief = seed.brief.model_copy(update={"servers": servers})
    return Seed.model_validate(seed.model_dump() | {"id": "", "brief": brief})


def _pick_texts(config: RunConfig, past: Past = NO_PAST) -> list[str]:
    """Documents, where any are named; without them the tools of known places are sketched."""
    return pick_source(config, past) if config.documents else []


def _choose(documented: AddPart, sketched: AddPart) -> AddPart:
    """A part of a plan, asked for in one way where documents describe the tools, and in another
    where they are sketched."""

    async def add(plan: Blueprint, complaint: str, models: ModelSession) -> Blueprint:
        return await (sketched if plan.brief.outline is None else documented)(
            plan, complaint, models
        )

    return add


async def _ask_sketch(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """Requirements and rules, with tools that say types on both sides."""
    reply = await models.ask(
        prompt, SketchInput(brief=plan.brief), SketchReply, complaint=complaint
    )
    told = reply.model_dump(include={"name", "summary", "requirements", "rules"}) | {
        "policy_document": reply.policy,
        "shared": reply.shared,
    }
    tools = {
        "tools": [tool.plan for tool in reply.tools],
        "signatures": {tool.name: tool.signature for tool in reply.tools},
    }
    return plan.model_copy(update=told | tools)


async def _ask_state(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """Tables that hold what sketched tools take and give."""
    known = plan.model_dump(include={"name", "summary", "requirements", "rules"})
    inputs = StateInput(brief=plan.brief, **known, tools=list_sketched(plan), shared=plan.shared)
    return add_schema(plan, await models.ask(prompt, inputs, SchemaReply, complaint=complaint))


async def _ask_topology(
    prompt: Prompt, brief: ScenarioBrief, repair: Repair, models: ModelSession
) -> ScenarioReply:
    """Along a chain that the validator passed; the one that comes back has to pass it as well."""
    graph = await weave_environment(brief.environment)
    if brief.offered is None and (drawn := sample_for(brief.environment, graph, brief.number)):
        brief = replace(brief, offered=OfferedChain(drawn))
    servers = choose_servers(brief.environment, brief.number, brief.polarity)
    several = {"requests": brief.requests, "servers": servers, "shared": brief.environment.shared}
    inputs = TopologyInput.model_validate(describe_offer(brief) | several)
    reply = await models.ask(prompt, inputs, TopologyReply, complaint=repair.render())
    if reply.infeasible is None and (len(reply.requests) or 1) != brief.requests:
        words = (
            f"{brief.requests} requests are asked for, and `requests` holds {len(reply.requests)}"
        )
        raise BuildError(words, reason="other_requests")
    if (
        reply.infeasible is None
        and servers > 1
        and len(used := list_used(reply.chain, brief.environment)) < servers
    ):
        raise BuildError(
            f"the path needs {servers} servers, and calls {', '.join(used) or 'none'}",
            reason="too_few_servers",
        )
    if reply.infeasible is None and (
        fault := find_chain_fault(graph, reply.chain, limit_written(brief.environment.brief))
    ):
        raise BuildError(fault.words, reason=fault.code)
    return reply


async def _sample_chain(environment: Environment, number: int) -> Chain | None:
    """The one that the scenario is written along."""
    return sample_for(environment, await weave_environment(environment), number)
