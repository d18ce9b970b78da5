"""Scenarios of the offline author, generated and built as the line does it: clean or with one
planted fault.

author ──reply──► generate_draft ──► build_scenario ──► Posed, or why it is none
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from pydantic import ValidationError

import offline as author
from envmill.base.errors import BuildError
from envmill.gates.base import ScenarioCase
from envmill.sandbox import Sandbox
from envmill.stages.build import build_scenario
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.verifiers.court import sort_checks
from offline.faults import KINDS, PlantedFault, leaving
from offline.witness import find_witness
from schemas.environment import Effect, Environment
from schemas.origin import Origin
from schemas.prompts import ChecksReply, ScenarioReply
from schemas.run import RunConfig
from schemas.scenario import Check, Draft, Polarity, Scenario, Verifier
from schemas.seed import Brief
from tests.offline.questions import (
    SEED,
    THEMES,
    ask_blueprint,
    ask_program,
    pose,
    pose_checks,
    read_tools,
)

ORIGIN = Origin(
    recipe="envscaler",
    seed="seed_x",
    provider="offline",
    model="m",
    prompt="scenario",
    prompt_hash="h",
)
NEGATIVE: tuple[Polarity, ...] = ("answer", "refuse", "escalate", "clarify")
ANYTHING: tuple[Polarity, ...] = ("achieve", *NEGATIVE)
SIBLINGS = 3


@dataclass(frozen=True)
class Spot:
    """Which scenario: the variation of a theme, the place in it, and what success means there."""

    theme: str
    number: int
    place: int
    polarity: Polarity = "achieve"

    def ask(self) -> dict[str, Any]:
        return pose("scenario", self.theme, self.number, number=self.place, polarity=self.polarity)


@dataclass(frozen=True)
class Script:
    """A recipe that answers what it is told to, and who is asked."""

    operators = ()
    samplers = ()
    poses = True
    reply: ScenarioReply
    provider: str = "offline"
    model: str = "m"
    last_asked: None = None

    def name_model(self, _: str) -> str:
        return self.model

    def name_provider(self, _: str) -> str:
        return self.provider

    async def pose(self, *_: Any) -> ScenarioReply:
        return self.reply

    def afresh(self, number: int, warning: str = "") -> "Script":
        """Asked again it says the same."""
        return self


@cache
def make_environment(theme: str, number: int) -> Environment:
    """The clean environment."""
    blueprint, program = ask_blueprint(theme, number), ask_program(theme, number)
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in blueprint.tools}
    assert effects
    return Environment(
        kind="stateful",
        files={"program.py": program.source},
        entry=f"program:{program.class_name}",
        tools=read_tools(theme, number, program),
        rules=blueprint.rules,
        policy_document=blueprint.policy,
        name=blueprint.name,
        summary=blueprint.summary,
        brief=Brief(theme=theme, text=THEMES[theme], number=number),
        blueprint="bp_x",
        licence="Apache-2.0",
        origin=ORIGIN,
    )


async def build(
    spot: Spot, reply: ScenarioReply, sandbox: Sandbox, **settings: Any
) -> Scenario | str:
    """The scenario, or `reason: words` of the step that stopped it."""
    environment, script = make_environment(spot.theme, spot.number), cast(Any, Script(reply))
    context = RunContext(
        "r",
        RunConfig.model_validate({"seed": SEED} | settings),
        cast(Any, None),
        script,
        cast(Any, None),
        sandbox,
    )
    generated = await generate_draft(
        Subject("x", "y", spot.theme, ScenarioSlot(environment, spot.place)), context, script
    )
    draft = next((one for one in generated.records if isinstance(one, Draft)), None)
    if draft is None:
        return _tell(generated)
    built = await build_scenario(
        Subject("x", "y", spot.theme, PlacedScenario(draft, environment)), context, script
    )
    scenario = next((one for one in built.records if isinstance(one, Scenario)), None)
    return scenario or _tell(built)


def _tell(result: Result) -> str:
    finding = result.findings[0]
    return f"{finding.reason}: {finding.detail}"


async def find_clean(spot: Spot, sandbox: Sandbox) -> Scenario | str | None:
    """The scenario without a fault; None where the domain gives no occasion for the polarity."""
    if len(_CLEAN) > _REMEMBERED:
        _CLEAN.clear()
    if spot not in _CLEAN:
        reply = ScenarioReply.model_validate_json(
            author.answer("scenario", spot.ask(), SEED, 0, 0.0)
        )
        _CLEAN[spot] = (
            await build(spot, reply, sandbox) if reply.polarity == spot.polarity else None
        )
    return _CLEAN[spot]


_CLEAN: dict[Spot, Scenario | str | None] = {}
_REMEMBERED = 400
"""Scenarios: a state and all that hangs on it weigh a quarter of a megabyte."""


async def plant(spot: Spot, kind: str, sandbox: Sandbox) -> Scenario | str | None:
    """The scenario with a fault; None where it has no place, or shows nowhere."""
    fault = author.plant("scenario", kind, spot.ask(), SEED, 0)
    if fault is None or not await counts(fault, sandbox):
        return None
    try:
        reply = ScenarioReply.model_validate_json(fault.text)
    except ValidationError as error:
        return f"bad_reply: {error}"
    return await build(spot, reply, sandbox)


async def plant_checks(spot: Spot, kind: str, sandbox: Sandbox) -> Scenario | str | None:
    """The scenario judged by written checks alone, one of them spoilt; a kind of `` leaves them
    right."""
    clean = await find_clean(spot, sandbox)
    if not isinstance(clean, Scenario):
        return None
    return await judge_by_checks(
        clean, pose_checks(spot.theme, spot.number, spot.place), kind, sandbox
    )


async def judge_by_checks(
    clean: Scenario, asked: dict[str, Any], kind: str, sandbox: Sandbox
) -> Scenario | str | None:
    """The scenario, judged by what is written when this is asked."""
    fault = author.plant("checks", kind, asked, SEED, 0) if kind else None
    if kind and (fault is None or not await counts(fault, sandbox)):
        return None
    try:
        reply = ChecksReply.model_validate_json(
            fault.text if fault else author.answer("checks", asked, SEED, 0, 0.0)
        )
    except ValidationError as error:
        return f"bad_reply: {error}"
    written = [
        Check(name=check.name, op="generated", path=[], source=check.source)
        for check in reply.checks
    ]
    try:
        goals, guards = await sort_checks(sandbox, written, clean.initial_state, clean.clock)
    except BuildError as error:
        return f"check_silent: {error.message}"
    if not goals:
        return "no_goal: every check holds at the start"
    verifier = Verifier(goals=goals, guards=guards, frame=[[name] for name in clean.initial_state])
    return clean.model_copy(update={"verifier": verifier})


async def counts(fault: PlantedFault, sandbox: Sandbox) -> bool:
    """Whether a fault is one: where a run can show it, a run has to."""
    return bool(fault.words) or await find_witness(fault.pairs, sandbox) is not None


async def list_siblings(spot: Spot, sandbox: Sandbox) -> Sequence[Scenario]:
    """Clean scenarios of the same environment, of several polarities."""
    others = [
        Spot(spot.theme, spot.number, place, ANYTHING[(place + spot.place) % len(ANYTHING)])
        for place in range(SIBLINGS + 1)
        if place != spot.place
    ]
    built = [await find_clean(other, sandbox) for other in others[:SIBLINGS]]
    return [one for one in built if isinstance(one, Scenario)]


async def pose_at(spot: Spot, kind: str, sandbox: Sandbox) -> ScenarioCase | str | None:
    """What the gates are shown; text says why it came to no scenario."""
    if kind in KINDS["checks"] or kind == "checks":
        made = await plant_checks(
            spot, kind.removeprefix("checks") if kind == "checks" else kind, sandbox
        )
    else:
        made = await (plant(spot, kind, sandbox) if kind else find_clean(spot, sandbox))
    if not isinstance(made, Scenario):
        return made
    return ScenarioCase(
        made, make_environment(spot.theme, spot.number), tuple(await list_siblings(spot, sandbox))
    )


def choose_polarities(kind: str) -> tuple[Polarity, ...]:
    """Where a kind of fault has its place."""
    planted = KINDS["scenario"].get(kind)
    return NEGATIVE if planted and planted.__module__ == leaving.__name__ else ("achieve",)
