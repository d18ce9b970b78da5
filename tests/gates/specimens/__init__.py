"""The ground that specimens vary: one small studio, right in every part, its tests, and a scenario
with an oracle and a derived verifier.

Its program runs only in the jail.
"""

from collections.abc import Sequence
from typing import Any

from envmill.gates.base import EnvironmentCase, ScenarioCase
from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.verifiers.derive import derive_verifier
from envmill.verifiers.diff import diff_states
from schemas.environment import Call, Effect, Environment, Test
from schemas.origin import Origin
from schemas.scenario import Scenario, UserContract
from schemas.seed import Brief
from tests.gates.specimens.studio import EFFECTS, ORACLE, PLANNED, PROGRAM, RULES, STATE, end

ORIGIN = Origin(
    recipe="envscaler",
    seed="seed_x",
    provider="offline",
    model="m",
    prompt="program",
    prompt_hash="h",
)

REQUEST = "Please put 25 on Ada Kern's account and book her one seat in the Tuesday wheel class."


def ground(
    program: str = PROGRAM,
    effects: dict[str, Effect] = EFFECTS,
    tests: Sequence[Test] | None = None,
    **changes: Any,
) -> EnvironmentCase:
    """The studio with its tests; another program brings its own interface."""
    environment = make_studio(program, effects, **changes)
    return EnvironmentCase(environment, tuple(make_tests(environment) if tests is None else tests))


def vary(*changes: tuple[str, str], **more: Any) -> EnvironmentCase:
    """The studio with pieces of its program replaced; each piece must be there."""
    program = PROGRAM
    for old, new in changes:
        assert old in program, f"the studio has no {old!r}"
        program = program.replace(old, new)
    return ground(program, **more)


def make_studio(
    program: str = PROGRAM, effects: dict[str, Effect] = EFFECTS, **changes: Any
) -> Environment:
    """The environment alone."""
    fields: dict[str, Any] = {
        "kind": "stateful",
        "files": {"program.py": program},
        "entry": "program:Studio",
        "rules": RULES,
        "policy_document": "",
        "name": "Studio",
        "summary": "A pottery studio.",
        "brief": Brief(theme="pottery_studio", text="A pottery studio.", number=0),
        "blueprint": "bp_x",
        "licence": "Apache-2.0",
        "origin": ORIGIN,
    }
    if "tools" not in changes:
        fields["tools"] = KINDS["stateful"].derive_tools(program, "Studio", effects)
    return Environment.model_validate(fields | changes)


def make_tests(environment: Environment) -> list[Test]:
    """The studio's tests, for an environment that varies it."""
    return [
        make_test(
            environment,
            name,
            arguments,
            expect,
            setup=[Call(name=first, arguments=given) for first, given in setup],
        )
        for name, arguments, expect, setup in PLANNED
    ]


def make_test(
    environment: Environment, tool: str, arguments: dict[str, Any], expect: str, **changes: Any
) -> Test:
    """One test."""
    fields = {
        "environment": environment.id,
        "name": f"{tool} {arguments}",
        "initial_state": STATE,
        "setup": [],
        "call": Call(name=tool, arguments=arguments),
        "expect": expect,
        "origin": ORIGIN,
    }
    return Test.model_validate(fields | changes)


def pose(
    *, built: EnvironmentCase | None = None, siblings: Sequence[Scenario] = (), **changes: Any
) -> ScenarioCase:
    """A scenario of the studio: four calls, two of them writes; any of its fields may be
    another."""
    environment = (built or ground()).environment
    fields: dict[str, Any] = {
        "environment": environment.id,
        "number": 0,
        "draft": "dft_x",
        "initial_state": STATE,
        "request": REQUEST,
        "user": UserContract(opening=REQUEST),
        "oracle": ORACLE,
        "polarity": "achieve",
        "clock": CLOCK,
        "seed": 7,
        "features": {},
        "split": "train",
        "oracle_reward": 1.0,
        "do_nothing_reward": 0.0,
        "origin": ORIGIN,
    }
    if "verifier" not in changes:
        here, elsewhere = (
            diff_states(STATE, end(*chance))
            for chance in (("booking_x", "2026-03-02"), ("booking_y", "2027-07-09"))
        )
        fields["verifier"] = derive_verifier(STATE, here, elsewhere)
    return ScenarioCase(Scenario.model_validate(fields | changes), environment, tuple(siblings))
