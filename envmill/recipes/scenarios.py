"""Scenarios and their checks: what their author is told, and the prompts that ask for them."""

from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.shortening import strip_docstrings
from schemas.base import Json
from schemas.environment import Environment
from schemas.errand_plan import ErrandsInput, ErrandsReply
from schemas.prompts import ChecksInput, ChecksReply, ScenarioInput, ScenarioReply
from schemas.scenario import Draft


def load_scenario() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "scenario.md", ScenarioInput, ScenarioReply)


def load_errands() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "errands.md", ErrandsInput, ErrandsReply)


def load_checks() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "checks.md", ChecksInput, ChecksReply)


def read_source(environment: Environment) -> str:
    """All its files as one text, without the docstrings that describe its tools."""
    return "\n".join(
        strip_docstrings(text) if path.endswith(".py") else text
        for path, text in environment.files.items()
    )


def describe_place(brief: ScenarioBrief) -> ScenarioInput:
    """What the author of a scenario is told."""
    environment = brief.environment
    return ScenarioInput(
        brief=environment.brief,
        name=environment.name,
        summary=environment.summary,
        rules=environment.rules,
        tools=environment.tools,
        source=read_source(environment),
        policy=environment.policy_document,
        number=brief.number,
        polarity=brief.polarity,
        results=brief.results,
        errand=brief.errand.line,
        taken=list(brief.errand.neighbours),
    )


def describe_offer(brief: ScenarioBrief) -> dict[str, Json]:
    """The same, with the chain that the author is offered."""
    told, offered = describe_place(brief).model_dump(), brief.offered
    return told | (
        {"sampled": offered.chain, "binding": offered.binding, "carried_out": list(offered.calls)}
        if offered
        else {}
    )


async def ask_scenario(
    prompt: Prompt, brief: ScenarioBrief, repair: Repair, models: ModelSession
) -> ScenarioReply:
    """A state, a request and the calls that fulfil it."""
    return await models.ask(prompt, describe_place(brief), ScenarioReply, complaint=repair.render())


async def ask_checks(
    prompt: Prompt, environment: Environment, draft: Draft, repair: Repair, models: ModelSession
) -> ChecksReply:
    """A checklist over what the draft's reference path changed."""
    known = {"number", "clock", "request", "initial_state", "changes"}
    inputs = ChecksInput(
        brief=environment.brief,
        name=environment.name,
        summary=environment.summary,
        rules=environment.rules,
        tools=environment.tools,
        **{name: getattr(draft, name) for name in known},
    )
    return await models.ask(prompt, inputs, ChecksReply, complaint=repair.render())
