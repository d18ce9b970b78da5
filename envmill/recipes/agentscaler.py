"""Recipe `agentscaler`: documents of tools → graph → domains → tables → tools' code over them →
walks → scenarios.

documents ─► sketches ─► graph, parted into domains ─► outlines: tools, tables, walks, licence      (one seed each)
outline ─► rules ─► schema ─► rows ─► tools, and what is left out with its reason ─► program and tests over the tables
walk ─► state, request, reference path along it ─► EXECUTED on a private copy, replayed on a clean one
"""

from dataclasses import replace
from functools import partial

from envmill.gates.funnel import sift
from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.documents import (
    leave_out,
    load_requirements,
    load_schema,
    part_domains,
    pick_source,
    refuse_corpus,
    seed_domain,
)
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import plan_block
from envmill.recipes.drafting.offered import OfferedChain
from envmill.recipes.scenarios import ask_checks, describe_offer, load_checks, load_errands
from envmill.recipes.tables import (
    TablePlan,
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
from envmill.recipes.themes import pick_themes
from envmill.runtime.program import SCHEMA
from envmill.toolgraph.evidence.label import PROMPT as LABEL
from schemas.chain import Chain, ChainStep, Node
from schemas.document_prompts import SelectedReply, WalkInput, WalkReply
from schemas.environment import Blueprint, Environment, ToolPlan
from schemas.prompts import ScenarioReply
from schemas.run import RecipeName
from schemas.table_prompts import InterfaceInput

NAME: RecipeName = "agentscaler"
_FOLDER = PROMPTS / NAME


def make(themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe; known themes only stand for those of documents where an estimate is made."""
    requirements, schema, rows, code, trials = (
        load_requirements(),
        load_schema(),
        load_rows(),
        load_code(),
        load_trials(),
    )
    interface = Prompt.load(_FOLDER / "interface.md", InterfaceInput, SelectedReply)
    walk = Prompt.load(_FOLDER / "walk.md", WalkInput, WalkReply)
    errands, checks = load_errands(), load_checks()
    plan = TablePlan(
        require=partial(ask_requirements, requirements),
        design=partial(ask_schema, schema),
        fill=partial(ask_rows, rows),
        offer=partial(_ask_interface, interface),
        decides=requirements,
    )
    return Recipe(
        name=NAME,
        tabled=True,
        prompts={
            "environments-mine": (LABEL,),
            "environments-generate": (requirements, schema, rows, interface),
            "environments-build": (code, trials),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (errands, walk),
            "scenarios-build": (checks,),
        },
        pick_seeds=partial(pick_themes, NAME, themes),
        find_theme=partial(refuse_corpus, NAME),
        pick_texts=pick_source,
        grow=part_domains,
        make_seed=partial(seed_domain, NAME),
        think_up=partial(plan_tables, plan),
        write_program=partial(ask_code, code, describe_typed),
        write_tests=partial(ask_trials, trials),
        plan_errands=partial(plan_block, errands, _sample_chain),
        pose=partial(_ask_walk, walk),
        samplers=("walk", "weighted", "linked"),
        write_checks=partial(ask_checks, checks),
        sift=sift,
    )


async def _ask_interface(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """What is not written of the documents is kept with its reason beside what the partition left
    out."""
    known = plan.model_dump(include={"summary", "requirements", "rules"})
    inputs = InterfaceInput(brief=plan.brief, **known, ddl=plan.files[SCHEMA])
    reply = await models.ask(prompt, inputs, SelectedReply, complaint=complaint)
    tools = [
        ToolPlan(name=tool.name, description=tool.description, effect=tool.effect)
        for tool in reply.tools
    ]
    touches = {tool.name: tool.touch for tool in reply.tools}
    return plan.model_copy(
        update={"tools": tools, "touches": touches, "brief": leave_out(plan, reply.left_out)}
    )


async def _ask_walk(
    prompt: Prompt, brief: ScenarioBrief, repair: Repair, models: ModelSession
) -> ScenarioReply:
    """Ask for a scenario along the offered chain, or along a walk of the outline that was not
    carried out."""
    suggested = brief.offered or _suggest_walk(brief.environment, brief.number)
    inputs = WalkInput.model_validate(describe_offer(replace(brief, offered=suggested)))
    return await models.ask(prompt, inputs, WalkReply, complaint=repair.render())


def _suggest_walk(environment: Environment, number: int) -> OfferedChain | None:
    """Walks in turn, so that each is the seed of some scenario before any comes again; without the
    tools that were left out."""
    outline, known = environment.brief.outline, {tool.name for tool in environment.tools}
    walks = outline.walks if outline else []
    names = [name for name in walks[number % len(walks)] if name in known] if walks else []
    steps: list[Node] = [
        ChainStep(id=f"s{place}", tool=name) for place, name in enumerate(names, 1)
    ]
    return OfferedChain(Chain(sampler="walk", nodes=steps)) if steps else None


async def _sample_chain(environment: Environment, number: int) -> Chain | None:
    suggested = _suggest_walk(environment, number)
    return suggested.chain if suggested else None
