"""What is planted in real machines and their scenarios is caught by some gate, and the same machine
without it by none.

Reduced, one system and two faults; `make soak AREA=terminal` plants every fault in every system.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.kinds.terminal import compose_checks, compose_state, write_step
from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.proving import prove
from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.kinds.terminal.gates import LOOKS
from envmill.kinds.terminal.lending import lend_container
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import CHECK
from schemas.environment import Environment
from schemas.scenario import Check, Scenario
from schemas.system import BrokenSystem
from tests.kinds.conftest import terminals
from tests.kinds.terminals import call, make_environment, make_scenario
from tests.soak import count

__all__ = ["terminals"]

SYSTEMS = ["share"] if count(1, 2) == 1 else list_systems()
START = "root/usr/local/sbin/services"
Case = tuple[Environment, Scenario]


class Plant(NamedTuple):
    """A fault of a maker's."""

    make: Callable[[Environment, Scenario], Case]
    gates: tuple[str, ...]
    """Those of which one has to see it."""


def _change(scenario: Scenario, **fields: object) -> Scenario:
    """Another scenario: a copy would keep the name of what it was made of, and gates know what they
    played by it."""
    return Scenario.model_validate({**dict(scenario), **fields, "id": ""})


def _edit(environment: Environment, **files: str) -> Environment:
    return Environment.model_validate(
        {**dict(environment), "id": "", "files": {**environment.files, **files}}
    )


def _contradict(environment: Environment, scenario: Scenario) -> Case:
    """What is to be well must be ill as well."""
    goal = scenario.verifier.goals[0]
    other = Check(name="and it is ill", op="equals", path=goal.path, value="ill")
    return environment, _change(
        scenario, verifier=scenario.verifier.model_copy(update={"goals": [goal, other]})
    )


def _ask_nothing(environment: Environment, scenario: Scenario) -> Case:
    """What breaks it breaks nothing, and the verifier is content."""
    initial = compose_state(environment.files, ["true"], scenario.initial_state["places"], set())
    verifier = compose_checks(initial)
    content = verifier.model_copy(
        update={"goals": verifier.guards[:1], "guards": verifier.guards[1:]}
    )
    return environment, _change(scenario, initial_state=initial, verifier=content)


def _need_network(environment: Environment, scenario: Scenario) -> Case:
    probe = (
        "\n\n@probe\ndef afar(v: Values) -> None:\n    run('/usr/bin/curl', '-sf', "
        "'http://deb.debian.org/')[0] == 0 or want(False, 'x')\n"
    )
    check = environment.files[CHECK].replace("\n\nreport()", f"{probe}\n\nreport()")
    assert check != environment.files[CHECK]
    machine = environment.files["machine.json"].replace(
        '"complaints": {', '"complaints": {"afar": "nothing answers",'
    )
    return _edit(environment, **{CHECK: check, "machine.json": machine}), scenario


def _fetch(environment: Environment, scenario: Scenario) -> Case:
    first, *rest = scenario.oracle
    fetched = call(f"curl -sf http://deb.debian.org/ && {first.arguments['command']}")
    return environment, _change(scenario, oracle=[fetched, *rest])


def _miss_a_step(environment: Environment, scenario: Scenario) -> Case:
    return environment, _change(scenario, oracle=[call("true"), *scenario.oracle[1:]])


def _be_flaky(environment: Environment, scenario: Scenario) -> Case:
    """Every other restart leaves something behind that nobody asked for."""
    lines = environment.files[START].splitlines()
    lines.insert(1, '[ "$1" = start ] || [ $RANDOM -lt 16384 ] || echo late >>/etc/motd')
    return _edit(environment, **{START: "\n".join(lines) + "\n"}), scenario


def _tell(environment: Environment, scenario: Scenario) -> Case:
    """The request says how."""
    step = max(scenario.oracle[0].arguments["command"].splitlines(), key=len)
    return environment, _change(scenario, request=f"{scenario.request} Try {step}")


def _leave_the_check(environment: Environment, scenario: Scenario) -> Case:
    return _edit(environment, **{"root/usr/share/doc/hint": environment.files[CHECK]}), scenario


PLANTS: dict[str, Plant] = {
    "contradicts itself": Plant(_contradict, ("S1",)),
    "passes untouched": Plant(_ask_nothing, ("S12", "S2")),
    "checks what needs the network": Plant(_need_network, ("W2",)),
    "mends over the network": Plant(_fetch, ("S1",)),
    "misses a step": Plant(_miss_a_step, ("S1",)),
    "is flaky": Plant(_be_flaky, ("S1", "S11")),
    "tells how": Plant(_tell, ("S9",)),
    "leaves its check": Plant(_leave_the_check, ("S9",)),
}
QUICK = ("misses a step", "tells how")


async def pose(system: str, sandbox: Sandbox) -> Case:
    """A system broken in the first way that is proved."""
    healthy, environment = load_system(system), make_environment(system)
    for fault in list_faults(healthy, random.Random(0)):
        broken = BrokenSystem(system=system, variation=0, faults=[fault])
        proof = await prove(healthy, broken, lambda: lend_container(sandbox), 1)
        if not proof.reason:
            posed = make_scenario(environment, broken, set(proof.symptoms))
            steps = [
                call(write_step(f"{each.mend_script}\nservices restart || true"))
                for each in broken.faults
            ]
            return environment, _change(posed, oracle=steps)
    raise AssertionError(f"{system} cannot be broken")


async def ask(
    names: tuple[str, ...], environment: Environment, scenario: Scenario, means: GateContext
) -> list[Finding]:
    return [
        await GATES[name].check(
            EnvironmentCase(environment) if name[0] == "W" else ScenarioCase(scenario, environment),
            means,
        )
        for name in names
    ]


@pytest.mark.long
@pytest.mark.soak(area="terminal")
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_planted_in_machines_is_caught(terminals: Sandbox) -> None:
    """95 in 100."""
    means, missed, planted = GateContext(terminals), list[str](), 0
    for system in SYSTEMS:
        environment, scenario = await pose(system, terminals)
        for name in QUICK if count(1, 2) == 1 else PLANTS:
            findings = await ask(
                PLANTS[name].gates, *PLANTS[name].make(environment, scenario), means
            )
            assert [each.detail for each in findings if each.outcome == "error"] == [], (
                system,
                name,
            )
            planted += 1
            missed += (
                [] if any(each.outcome == "dropped" for each in findings) else [f"{system} {name}"]
            )
    assert len(missed) <= 0.05 * planted, missed


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(count(0, 1) == 0, reason="every gate on every system: make soak AREA=terminal")
@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_found_where_nothing_was_planted(terminals: Sandbox) -> None:
    for system in SYSTEMS:
        environment, scenario = await pose(system, terminals)
        findings = await ask(tuple(LOOKS), environment, scenario, GateContext(terminals))
        assert [
            each for each in findings if each.outcome not in ("kept", "not_applicable")
        ] == [], system
