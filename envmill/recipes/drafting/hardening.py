"""Harder scenarios: beside one that a policy nearly always passes, the line of another that needs
what the first does not.

easy scenarios of an environment ─► harder.md ─► a line for each, with the levers that make it harder ─► the author of the scenario
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.drafting.errands import (
    BlockPlan,
    ErrandBlock,
    TakenLine,
    ask_for_lines,
    find_line_fault,
)
from envmill.toolgraph.hardness import LEVERS
from envmill.verifiers.demands import render_demands
from schemas.choice import PolicyRate
from schemas.environment import Environment, ToolPlan
from schemas.errand_plan import (
    EasyCall,
    EasyScenario,
    ErrandLine,
    ErrandPlace,
    HarderErrand,
    HarderInput,
    HarderLine,
    HarderPlace,
    HarderReply,
)
from schemas.scenario import Scenario

PROMPT = Prompt.load(
    Path(__file__).parents[1] / "prompts" / "shared" / "harder.md", HarderInput, HarderReply
)
_MOST = 3
"""Levers of one line: more are a list of everything, and no plan."""


async def plan_harder(block: ErrandBlock, models: ModelSession) -> BlockPlan:
    """A line for each place, harder than its parent. It names tools and records as every line
    does."""
    environment = block.environment
    inputs = HarderInput(
        brief=environment.brief,
        name=environment.name,
        summary=environment.summary,
        rules=environment.rules,
        policy=environment.policy_document,
        tools=[
            ToolPlan(name=tool.name, description=tool.description, effect=tool.effect)
            for tool in environment.tools
        ],
        places=[place for place in block.places if isinstance(place, HarderPlace)],
        taken=[one.render() for one in block.taken],
        results=block.results,
    )

    async def ask(complaint: str) -> Sequence[ErrandLine]:
        return (await models.ask(PROMPT, inputs, HarderReply, complaint=complaint)).errands

    return await ask_for_lines(block, ask, find_harder_fault)


def find_harder_fault(
    line: ErrandLine, place: ErrandPlace, environment: Environment, others: Sequence[TakenLine]
) -> tuple[str, str] | None:
    """What is wrong with the line of a harder scenario: with its levers, or as with any line."""
    levers = line.levers if isinstance(line, HarderLine) else []
    if unknown := [name for name in levers if name not in LEVERS]:
        return (
            "line_unknown_lever",
            f"there is no lever {', '.join(unknown)}; the levers are {', '.join(LEVERS)}",
        )
    if not 0 < len(set(levers)) <= _MOST:
        return (
            "line_levers",
            f"`levers` names {len(set(levers))} levers, and one to {_MOST} are wanted",
        )
    return find_line_fault(line, place, environment, others)


def describe_easy(scenario: Scenario, rates: Sequence[PolicyRate]) -> EasyScenario:
    """An easy scenario as planner and author see it."""
    return EasyScenario(
        request=scenario.request,
        path=[EasyCall(name=call.name, arguments=call.arguments) for call in scenario.oracle],
        demands=list(render_demands(scenario)),
        solved=[_describe_rate(rate) for rate in rates],
    )


def _describe_rate(rate: PolicyRate) -> str:
    calls = f", with {rate.calls:.0f} calls on average" if rate.calls is not None else ""
    return f"{rate.policy or 'a policy'} passes {rate.passes} of {rate.attempts} attempts{calls}"


def describe_errand(line: ErrandLine, parent: EasyScenario) -> HarderErrand:
    """The line as the scenario's author sees it: each lever with what it means."""
    levers: Mapping[str, str] = {
        name: LEVERS[name] for name in (line.levers if isinstance(line, HarderLine) else [])
    }
    return HarderErrand(**line.model_dump(exclude={"levers"}), levers=dict(levers), parent=parent)
