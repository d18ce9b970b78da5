"""Recipe `autoforge`: documents of tools → typed graph → graphs of calls, two chains merged where
they meet → a state and words that fit.

documents ─► outlines ─► rules ─► schema ─► rows ─► metadata.md: types on both sides ─► program and tests, replies held to the types
graph of the tools ─► sampler `merge` ─► carried out ─► dag.md: state, words, graph ─► EXECUTED, every node needed ─► draft
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
    load_metadata,
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
from envmill.toolgraph.evidence.label import PROMPT as LABEL
from envmill.toolgraph.topology import find_chain_fault, sample_for, weave_environment
from envmill.toolgraph.validity import limit_written
from schemas.chain import Chain
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.run import RecipeName
from schemas.tool_prompts import DagInput, DagReply

NAME: RecipeName = "autoforge"
SAMPLER = "merge"
_FOLDER = PROMPTS / NAME


def make(themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe; known themes only stand for those of documents where an estimate is made."""
    requirements, schema, metadata, rows = (
        load_requirements(),
        load_schema(),
        load_metadata(),
        load_rows(),
    )
    code, trials, errands, checks = load_code(), load_trials(), load_errands(), load_checks()
    dag = Prompt.load(_FOLDER / "dag.md", DagInput, DagReply)
    plan = TablePlan(
        require=partial(ask_requirements, requirements),
        design=partial(ask_schema, schema),
        fill=partial(ask_rows, rows),
        offer=partial(ask_metadata, metadata),
        decides=requirements,
    )
    return Recipe(
        name=NAME,
        tabled=True,
        prompts={
            "environments-mine": (LABEL,),
            "environments-generate": (requirements, schema, rows, metadata),
            "environments-build": (code, trials),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (errands, dag),
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
        pose=partial(_ask_dag, dag),
        samplers=(SAMPLER,),
        write_checks=partial(ask_checks, checks),
    )


async def _ask_dag(
    prompt: Prompt, brief: ScenarioBrief, repair: Repair, models: ModelSession
) -> ScenarioReply:
    """Along the offered chain, or along one that is only suggested; what comes back is judged over
    the types of the tools."""
    graph = await weave_environment(brief.environment)
    if brief.offered is None and (
        drawn := sample_for(brief.environment, graph, brief.number, SAMPLER)
    ):
        brief = replace(brief, offered=OfferedChain(drawn))
    reply = await models.ask(
        prompt, DagInput.model_validate(describe_offer(brief)), DagReply, complaint=repair.render()
    )
    if reply.infeasible is None and (
        fault := find_chain_fault(graph, reply.chain, limit_written(brief.environment.brief))
    ):
        raise BuildError(fault.words, reason=fault.code)
    return reply


async def _sample_chain(environment: Environment, number: int) -> Chain | None:
    """The one that is suggested where none is offered."""
    return sample_for(environment, await weave_environment(environment), number, SAMPLER)
