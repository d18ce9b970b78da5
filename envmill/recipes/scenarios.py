"""Scenarios and their checks: what their author is told, and the prompts that ask for them."""

from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from envmill.recipes.drafting.errands import UNPLANNED, ErrandBrief
from envmill.recipes.drafting.offered import OfferedChain
from schemas.base import Json
from schemas.environment import Environment
from schemas.errand_plan import ErrandsInput, ErrandsReply
from schemas.prompts import ChecksInput, ChecksReply, ScenarioInput, ScenarioReply
from schemas.scenario import Draft, Polarity


def load_scenario() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "scenario.md", ScenarioInput, ScenarioReply)


def load_errands() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "errands.md", ErrandsInput, ErrandsReply)


def load_checks() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "checks.md", ChecksInput, ChecksReply)


def read_source(environment: Environment) -> str:
    """All its files as one text."""
    return "\n".join(environment.files.values())


def describe_place(
    environment: Environment, number: int, polarity: Polarity, brief: ErrandBrief = UNPLANNED, *, results: bool = True
) -> ScenarioInput:
    """What the author of a scenario is told."""
    return ScenarioInput(
        brief=environment.brief,
        name=environment.name,
        rules=environment.rules,
        tools=environment.tools,
        source=read_source(environment),
        policy=environment.policy_document,
        number=number,
        polarity=polarity,
        results=results,
        errand=brief.line,
        taken=list(brief.neighbours),
    )


def describe_offer(
    environment: Environment, number: int, polarity: Polarity, brief: ErrandBrief, offered: OfferedChain | None, *, results: bool = True
) -> dict[str, Json]:
    """The same, with the chain that the author is offered."""
    told = describe_place(environment, number, polarity, brief, results=results).model_dump()
    return told | ({"sampled": offered.chain, "binding": offered.binding, "carried_out": list(offered.calls)} if offered else {})


async def ask_scenario(
    prompt: Prompt,
    results: bool,
    environment: Environment,
    number: int,
    polarity: Polarity,
    repair: Repair,
    models: ModelSession,
    brief: ErrandBrief = UNPLANNED,
    _offered: OfferedChain | None = None,
) -> ScenarioReply:
    """A state, a request and the calls that fulfil it."""
    return await models.ask(
        prompt, describe_place(environment, number, polarity, brief, results=results), ScenarioReply, complaint=repair.render()
    )


async def ask_checks(prompt: Prompt, environment: Environment, draft: Draft, repair: Repair, models: ModelSession) -> ChecksReply:
    """A checklist over what the draft's reference path changed."""
    known = {"number", "request", "initial_state", "changes"}
    inputs = ChecksInput(
        brief=environment.brief,
        name=environment.name,
        rules=environment.rules,
        tools=environment.tools,
        **{name: getattr(draft, name) for name in known},
    )
    return await models.ask(prompt, inputs, ChecksReply, complaint=repair.render())
