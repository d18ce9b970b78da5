"""Perturbing a machine: a healthy system as an environment, and scenarios that break it in known
places, proved before they are posed.

system, variation ─► blueprint ─► environment ─┬─ n faults, composed ─► proof on machines of their own ─► request, start, reference path
                                               └─ refused, with a reason
"""

import random
from functools import partial

from envmill.base.errors import SettingsError
from envmill.kinds.base import Composition
from envmill.kinds.terminal import SHELL, compose_state, write_step
from envmill.kinds.terminal.breaking.composing import (
    compose,
    find_leaks,
    find_underivable,
    write_request,
)
from envmill.kinds.terminal.breaking.proving import list_places, prove
from envmill.kinds.terminal.breaking.systems import count_variations, list_systems, load_system
from envmill.kinds.terminal.lending import find_ground, lend_container
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import read_machine, write_machine
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from schemas.environment import Blueprint, Call, Environment, ToolPlan
from schemas.origin import Origin
from schemas.prompts import ScenarioReply
from schemas.seed import Seed
from schemas.system import BrokenSystem, Proof

BASE = "envmill/base:1"
"""What an image recipe stands on; `envmill base` makes it."""
MOST_FAULTS = 3
"""Up to so many the proof reaches every strict subset of the mends."""
_NOTHING = ScenarioReply(initial_state={}, request="", oracle=[])


def list_machines() -> list[tuple[str, int]]:
    """Every system once, then every system's next variation."""
    most = max(map(count_variations, list_systems()))
    return [
        (name, turn)
        for turn in range(most)
        for name in list_systems()
        if turn < count_variations(name)
    ]


def plan_machine(seed: Seed) -> Blueprint:
    """The system that the seed names, as files. Nobody is asked."""
    healthy = load_system(seed.brief.theme, seed.brief.number)
    return Blueprint(
        kind="terminal",
        brief=seed.brief,
        name=healthy.system.about,
        summary=healthy.system.about,
        collections={},
        rules=[],
        tools=[ToolPlan(name=SHELL.name, description=SHELL.description, effect=SHELL.effect)],
        policy_document="",
        files=write_machine(healthy, BASE),
        licence=healthy.system.licence,
        origin=Origin(
            recipe=seed.recipe,
            seed=seed.id,
            provider="offline",
            model="systems",
            prompt="",
            prompt_hash="",
        ),
    )


def plan_system(seed: Seed, origin: Origin) -> Blueprint:
    """A system that is still to be written: the brief alone."""
    return Blueprint(
        kind="terminal",
        brief=seed.brief,
        name=seed.brief.theme.replace("_", " "),
        summary=seed.brief.text,
        collections={},
        rules=[],
        tools=[ToolPlan(name=SHELL.name, description=SHELL.description, effect=SHELL.effect)],
        policy_document="",
        licence=seed.licence,
        origin=origin,
    )


def assemble_machine(blueprint: Blueprint) -> Environment:
    """The blueprint's files are the machine."""
    told = blueprint.model_dump(
        include={"kind", "files", "rules", "policy_document", "name", "summary", "licence"}
    )
    return Environment(
        entry="machine:Terminal",
        tools=[SHELL],
        brief=blueprint.brief,
        blueprint=blueprint.id,
        origin=blueprint.origin,
        **told,
    )


async def perturb(
    environment: Environment, number: int, seed: int, turn: int, sandbox: Sandbox
) -> Composition:
    """The n-th scenario of a machine: more faults with its number, other ones with another seed or
    turn."""
    healthy = read_machine(environment.files)
    dice = random.Random(f"{environment.id}/{number}/{seed}/{turn}")
    try:
        broken = compose(healthy, 1 + number % MOST_FAULTS, dice)
    except SettingsError as error:
        return Composition(_NOTHING, "too_few_places", error.message)
    if lacking := find_underivable(healthy, broken):
        return Composition(_NOTHING, "underivable", "; ".join(lacking))
    containers, ground = partial(lend_container, sandbox), partial(find_ground, sandbox, healthy)
    # The gates repeat both ends of the mending; here every order is walked once.
    proof = await prove(healthy, broken, containers, repeats=1, find_ground=ground)
    if proof.reason:
        return Composition(_NOTHING, proof.reason, proof.detail)
    return _pose(environment, healthy, broken, proof, dice)


def _pose(
    environment: Environment,
    healthy: Healthy,
    broken: BrokenSystem,
    proof: Proof,
    dice: random.Random,
) -> Composition:
    request = write_request(healthy, proof, dice)
    if leaks := find_leaks(request, healthy, broken):
        return Composition(_NOTHING, "request_leaks", ", ".join(leaks))
    breaks = [fault.break_script for fault in broken.faults]
    steps = [
        write_step(f"{fault.mend_script}\n{SERVICES} restart || true")
        for fault in broken.faults[::-1]
    ]
    return Composition(
        ScenarioReply(
            initial_state=compose_state(
                environment.files, breaks, list_places(broken), set(proof.symptoms)
            ),
            request=request,
            oracle=[Call(name=SHELL.name, arguments={"command": each}) for each in steps],
        )
    )
