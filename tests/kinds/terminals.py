"""A terminal to test with: one system, broken in a known way, as an environment and a scenario."""

import random

from envmill.kinds.start import CLOCK
from envmill.kinds.terminal import SHELL, compose_checks, compose_state, write_step
from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.proving import list_places
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.machines.files import write_machine
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.origin import Origin
from schemas.scenario import Scenario, UserContract
from schemas.seed import Brief
from schemas.system import BrokenSystem

ORIGIN = Origin(recipe="perturb", seed="", provider="none", model="", prompt="", prompt_hash="")


def make_environment(system: str = "share") -> Environment:
    healthy = load_system(system)
    return Environment(
        kind="terminal",
        files=write_machine(healthy, "envmill/base:1"),
        entry="machine:Terminal",
        tools=[SHELL],
        rules=[],
        policy_document="",
        name=healthy.system.about,
        summary=healthy.system.about,
        brief=Brief(theme=system, text=healthy.system.about, number=0),
        blueprint="",
        licence=healthy.system.licence,
        origin=ORIGIN,
    )


def break_system(system: str = "share", operator: str = "not_executable") -> BrokenSystem:
    healthy = load_system(system)
    fault = next(
        each for each in list_faults(healthy, random.Random(0)) if each.operator == operator
    )
    return BrokenSystem(system=system, variation=0, faults=[fault])


def make_scenario(environment: Environment, broken: BrokenSystem, ill: set[str]) -> Scenario:
    initial = compose_state(
        environment.files, [each.break_script for each in broken.faults], list_places(broken), ill
    )
    request = "Posting a notice fails. What it should be like is in /srv/survey/README."
    return Scenario(
        environment=environment.id,
        number=0,
        draft="",
        initial_state=initial,
        request=request,
        user=UserContract(opening=request),
        oracle=[call(write_step(each.mend_script)) for each in broken.faults[::-1]],
        polarity="achieve",
        clock=CLOCK,
        seed=0,
        verifier=compose_checks(initial),
        features={},
        split="train",
        oracle_reward=1.0,
        do_nothing_reward=0.0,
        origin=ORIGIN,
    )


def call(command: str, **more: Json) -> Call:
    return Call(name="shell", arguments={"command": command, **more})
