"""Worlds of the embedded author as environments with programs, and scenarios of them with calls
that were made."""

from typing import Any

from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.sandbox.results import link, record
from envmill.verifiers.diff import diff_states
from offline.domain import Domain
from offline.program import name_class, write_program
from offline.tests import write_tests
from schemas.environment import Environment, Test
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, UserContract
from schemas.seed import Brief
from tests.offline.questions import SEED, THEMES
from tests.specimens import ORIGIN, make_environment


def make_world(domain: Domain) -> Environment:
    source = write_program(domain)
    effects: Any = {name: each.effect for name, each in domain.operations.items()}
    tools = KINDS["stateful"].derive_tools(source, name_class(domain), effects)
    return make_environment(
        files={"office.py": source},
        entry=f"office:{name_class(domain)}",
        tools=tools,
        rules=[],
        name=domain.names[0],
    )


def make_tests(theme: str, number: int, world: Environment) -> list[Test]:
    """What its author tests, as stored."""
    plan = write_tests(Brief(theme=theme, text=THEMES[theme], number=number), SEED)
    told = {"environment": world.id, "initial_state": plan.initial_state, "origin": ORIGIN}
    return [
        Test.model_validate(
            told
            | {"name": test.name, "setup": test.setup, "call": test.call, "expect": test.expect}
        )
        for test in plan.tests
    ]


async def make_draft(world: Environment, reply: ScenarioReply, sandbox: Sandbox) -> Draft:
    """Its path made once; every call goes through."""
    linked, bad = link(reply.oracle, world.tools)
    assert not bad
    seen = await sandbox.play(
        Program.of(world), [Reset(reply.initial_state, CLOCK, 1), *map(Invoke, linked), Look()]
    )
    assert all(step.outcome == "ok" for step in seen), [(step.code, step.message) for step in seen]
    return Draft.model_validate({
        "environment": world.id, "number": 0, "initial_state": reply.initial_state, "request": reply.request,
        "user": UserContract(opening=reply.request), "oracle": record(linked, seen[1:-1]), "polarity": "achieve", "clock": CLOCK, "seed": 1,
        "changes": diff_states(reply.initial_state, seen[-1].state), "gold_hash": seen[-1].state_hash, "origin": ORIGIN,
    })  # fmt: skip
