"""What all attempts at a scenario stand on, made once: the program, its start, and the start's
bytes to compare ends with."""

from dataclasses import dataclass, replace

from envmill.kinds.start import start
from envmill.sandbox import Program, Reset
from envmill.verifiers.diff import SerialisedState, render_state
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario


@dataclass(frozen=True)
class RolloutSetup:
    """One scenario under one weather."""

    scenario: Scenario
    environment: Environment
    program: Program
    reset: Reset
    serialised: SerialisedState

    @classmethod
    def of(
        cls, scenario: Scenario, environment: Environment, weather: Json = None
    ) -> "RolloutSetup":
        reset = replace(start(scenario), weather=weather)
        return cls(
            scenario,
            environment,
            Program.shown(environment),
            reset,
            render_state(scenario.initial_state),
        )
