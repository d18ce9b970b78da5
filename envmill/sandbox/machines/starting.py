"""How a machine begins and how what was found of it is serialised: two sides of the state that
scenarios and verifiers speak of."""

from collections.abc import Mapping

from pydantic import ValidationError

from envmill.base.errors import BuildError
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import Examination
from envmill.sandbox.machines.exams import list_tests
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.machine import must_run, run
from schemas.base import Json
from schemas.system import Condition, MachineState


def read_state(state: Json) -> MachineState:
    """A state to begin with, or BuildError."""
    try:
        return MachineState.model_validate(state)
    except ValidationError as error:
        raise BuildError(
            f"This is no state of a terminal: {error}. Take one that an earlier look gave."
        ) from error


async def break_down(container: Container, begun: MachineState) -> None:
    """All breaks, and services as far as they still start."""
    if begun.breaks:
        await make_breaks(container, begun)
        # What was broken may well keep a service from starting.
        await run(container, f"{SERVICES} start")


async def make_breaks(container: Container, begun: MachineState) -> None:
    """All breaks while nothing runs, for a service that ends tidily would take some of them away
    again."""
    await must_run(container, f"{SERVICES} stop", "stop the services")
    for script in begun.breaks:
        ran = await run(container, f"set -e\numask 022\n{script}")
        if ran.code:
            raise BuildError(
                f"A break script ends with {ran.code}: {ran.text[-300:]}. Mend the script, or the "
                "state it was written for."
            )


def list_probes(healthy: Healthy, exam: str = "") -> list[str]:
    """Each has a complaint, or is a test of the file that is asked."""
    if exam and exam not in healthy.exams:
        raise BuildError(
            f"There is no test file {exam!r} here: ask one of {', '.join(healthy.exams) or 'none'}."
        )
    return sorted(list_tests(healthy.exams[exam]) if exam else healthy.system.complaints)


def render_state(healthy: Healthy, begun: MachineState, found: Examination) -> dict[str, Json]:
    """What was found, as a state. Where the check itself could not be asked, nothing is well."""
    probes = list_probes(healthy, begun.exam)
    left = found.left if "check" not in found.left else dict.fromkeys(probes, found.left["check"])
    state = MachineState(
        exam=begun.exam,
        breaks=begun.breaks,
        places=begun.places,
        room=found.room,
        replaced=dict.fromkeys(found.replaced, True),
        inside=dict.fromkeys(found.inside, True),
        outside=dict.fromkeys(found.outside, True),
        health={probe: _describe(left, probe) for probe in probes},
        lasting={probe: _describe(found.lasting, probe) for probe in probes},
    )
    return state.model_dump()


def _describe(said: Mapping[str, str], probe: str) -> Condition:
    return "unasked" if probe not in said else "ill" if said[probe] else "well"
