"""Recipe `awm`: names → what people ask for there → tables → rows → tools → program and tests →
scenarios. The database comes first.

requirements ─► schema ─► rows ─► tools ─► (jail: opened, filled, read back) ─► program over the tables ─► tests over the rows
      ▲            ▲        ▲       ▲                  │
      └────────────┴────────┴───────┴── the part at fault is written anew, the parts after it as well
"""

import random
from functools import partial

from envmill.gates.w4 import CHECKER, TESTER
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.drafting.errands import take_requirements
from envmill.recipes.drafting.errors import load_errors, sum_errors
from envmill.recipes.scenarios import ask_checks, ask_scenario, load_checks, load_scenario
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
from envmill.recipes.themes import find_theme, load_theme, pick_themes, seed_theme
from envmill.runtime.program import SCHEMA
from schemas.choice import NO_PAST, Past
from schemas.environment import Blueprint, ToolPlan
from schemas.prompts import ThemeReply
from schemas.run import RecipeName, RunConfig
from schemas.table_prompts import (
    InterfaceInput,
    InterfaceReply,
    NamesChain,
    NamesInput,
    NamesReply,
    RequirementsInput,
    RequirementsReply,
    SchemaInput,
    SchemaReply,
)

NAME: RecipeName = "awm"
_NAMES, _FOLLOWING, _CHAINS = 5, 4, 8
"""Places that one call names (more than a handful at once, and the last repeat the first), calls
that follow each other in small runs, and most chains of calls that go on side by side: a call knows
what the calls before it in its chain named."""
_SURPLUS = 3
"""Places named per environment wanted: two of three are like another one, crowd a field, or are not
worth building."""
_EXAMPLES, _FOCUS, _FOCUSED = 8, 2, 0.7
"""Known places that a call is shown, those of them whose neighbourhood is wanted most, and how
often any is."""
_POOL = 1_000
"""Names in the pool, and names that one run asks for, at most."""
_TAKEN = 200
"""Names of places that earlier runs used, at most."""
_FOLDER = PROMPTS / NAME


def make(themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe over the themes it may use. Programs are written in one reply."""
    theme, rows, code, trials = load_theme(), load_rows(), load_code(), load_trials()
    scenario, checks, errors = load_scenario(), load_checks(), load_errors()
    names = Prompt.load(_FOLDER / "names.md", NamesInput, NamesReply)
    requirements = Prompt.load(_FOLDER / "requirements.md", RequirementsInput, RequirementsReply)
    schema = Prompt.load(_FOLDER / "schema.md", SchemaInput, SchemaReply)
    interface = Prompt.load(_FOLDER / "interface.md", InterfaceInput, InterfaceReply)
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
            "environments-mine": (theme, names),
            "environments-generate": (requirements, schema, rows, interface),
            "environments-build": (code, trials, errors),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (scenario,),
            "scenarios-build": (checks,),
        },
        pick_seeds=partial(pick_themes, NAME, themes),
        find_theme=partial(find_theme, theme),
        pick_texts=partial(_pick_calls, themes),
        grow=partial(_ask_names, names),
        make_seed=partial(seed_theme, NAME),
        think_up=partial(plan_tables, plan),
        write_program=partial(ask_code, code, describe_typed),
        write_tests=partial(ask_trials, trials),
        sum_errors=partial(sum_errors, errors),
        plan_errands=take_requirements,
        pose=partial(ask_scenario, scenario),
        write_checks=partial(ask_checks, checks),
    )


def _pick_calls(themes: Themes, config: RunConfig, past: Past = NO_PAST) -> list[str]:
    """One for each chain of calls: a few places out of the pool as examples, now and then with a
    word on what is wanted most.

    The pool holds the known places, and what earlier runs named.
    """
    calls = max(2 * 2, -(-min(config.environments * _SURPLUS, _POOL) // _NAMES))
    chains = min(_CHAINS, max(2, -(-calls // _FOLLOWING)))
    start = config.first + len(past.named)
    texts = list[str]()
    for number in range(start, start + chains):
        inputs = _sample_examples(themes, past, config.run_seed, number)
        texts.append(NamesChain(inputs=inputs, calls=-(-calls // chains)).model_dump_json())
    return texts


def _sample_examples(themes: Themes, past: Past, seed: int, number: int) -> NamesInput:
    dice = random.Random(f"{NAME}/names/{seed}/{number}")
    named = sorted(past.named.items())[: _POOL - len(themes)]
    known = dict(dice.sample(named, min(_EXAMPLES // 2, len(named))))
    known |= dict(dice.sample(themes, min(_EXAMPLES - len(known), len(themes))))
    focus = dice.sample(sorted(known), min(_FOCUS, len(known))) if dice.random() < _FOCUSED else []
    taken = sorted(theme for theme in past.turns if theme not in known)
    taken = sorted(dice.sample(taken, min(_TAKEN, len(taken))))
    return NamesInput(known=known, taken=taken, focus=focus, wanted=_NAMES, round=number)


async def _ask_names(prompt: Prompt, text: str, models: ModelSession) -> list[ThemeReply]:
    """Calls that follow each other: what was named before is among the examples of the next one."""
    chain, grown = NamesChain.model_validate_json(text), list[ThemeReply]()
    for _ in range(chain.calls):
        known = chain.inputs.known | {one.theme: one.description for one in grown}
        reply = await models.ask(
            prompt, chain.inputs.model_copy(update={"known": known}), NamesReply
        )
        grown += reply.names
    return grown


async def _ask_interface(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """Tools, each with the tables it touches."""
    known = plan.model_dump(include={"summary", "requirements", "rules"})
    inputs = InterfaceInput(brief=plan.brief, **known, ddl=plan.files[SCHEMA])
    reply = await models.ask(prompt, inputs, InterfaceReply, complaint=complaint)
    tools = [
        ToolPlan(name=tool.name, description=tool.description, effect=tool.effect)
        for tool in reply.tools
    ]
    return plan.model_copy(
        update={"tools": tools, "touches": {tool.name: tool.touch for tool in reply.tools}}
    )
