"""Scenarios of the embedded author that use a record they make: they pass under every seed, and an id written down is refused."""

from typing import Any, cast

import pytest

from envmill.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.endings import play_twice
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.runtime.results import is_reference
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.sandbox.results import link, record, settle
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from offline.domain import Domain
from offline.program import name_class, write_program
from offline.scenario import write_linked, write_scenario
from offline.world import play_oracle
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, Scenario, UserContract
from tests.offline.questions import THEMES, compose
from tests.soak import count
from tests.specimens import ORIGIN, make_environment

WANTED = count(12, 60)
SEEDS = (1, 5, 9)


def make_world(domain: Domain) -> Environment:
    source = write_program(domain)
    effects: Any = {name: each.effect for name, each in domain.operations.items()}
    tools = KINDS["stateful"].derive_tools(source, name_class(domain), effects)
    return make_environment(files={"office.py": source}, entry=f"office:{name_class(domain)}", tools=tools, rules=[], name=domain.names[0])


async def draft(world: Environment, reply: ScenarioReply, sandbox: Sandbox) -> Draft:
    linked, bad = link(reply.oracle, world.tools)
    assert not bad
    seen = await sandbox.play(Program.of(world), [Reset(reply.initial_state, CLOCK, 1), *map(Invoke, linked), Look()])
    assert all(step.outcome == "ok" for step in seen), [(step.code, step.message) for step in seen]
    return Draft.model_validate({
        "environment": world.id, "number": 0, "initial_state": reply.initial_state, "request": reply.request,
        "user": UserContract(opening=reply.request), "oracle": record(linked, seen[1:-1]), "polarity": "achieve", "clock": CLOCK, "seed": 1,
        "changes": diff_states(reply.initial_state, seen[-1].state), "gold_hash": seen[-1].state_hash, "origin": ORIGIN,
    })  # fmt: skip


async def rule(scenario: Scenario, world: Environment, seed: int, sandbox: Sandbox) -> str:
    seen = await sandbox.play(Program.of(world), [Reset(scenario.initial_state, CLOCK, seed), *map(Invoke, scenario.oracle), Look()])
    deeds = [CompletedCall.of(call, step) for call, step in zip(settle(scenario.oracle, seen[1:-1]), seen[1:-1], strict=True)]
    return judge(scenario.verifier, Ending(scenario.initial_state, seen[-1].state, deeds)).outcome


async def test_what_uses_a_result_passes_under_every_seed_and_what_writes_it_down_is_refused(jail: Sandbox) -> None:
    tried = 0
    for place, theme in enumerate(sorted(THEMES) * 2):
        domain = compose(theme, place)
        reply = write_linked(domain, f"property/{place}")
        if reply is None or tried == WANTED:
            continue
        tried += 1
        world = make_world(domain)
        made = await draft(world, reply, jail)
        scenario = await finish(await prepare(made, world, jail), "binary", jail)
        assert [await rule(scenario, world, seed, jail) for seed in SEEDS] == ["pass"] * len(SEEDS), theme
        # The domain's own model comes to the same number of changes, with ids of its own.
        assert len(diff_states(reply.initial_state, play_oracle(domain, reply.initial_state, made.oracle, 0, "own"))) == len(made.changes)
        literal = [call.model_copy(update={"uses": []}) for call in made.oracle]
        told = await play_twice(made.model_copy(update={"oracle": literal}), world, jail)
        assert isinstance(told, str), theme
        assert "Write the reference" in told
        with pytest.raises(BuildError) as refused:
            await prepare(made.model_copy(update={"oracle": literal}), world, jail)
        assert refused.value.facts["reason"] == "oracle_unstable"
    assert tried == WANTED


def test_a_share_of_scenarios_uses_results_only_where_they_may_be_used() -> None:
    found = {True: 0, False: 0}
    for place, theme in enumerate(sorted(THEMES)):
        for results in found:
            reply = write_scenario(compose(theme, place), f"share/{place}", results=results)
            used = [value for call in reply.oracle for value in cast(dict[str, Any], call.arguments).values() if is_reference(value)]
            found[results] += bool(used)
    assert found[False] == 0
    assert found[True] >= 5
