"""Scenarios of the embedded author that use a record they make: they pass under every seed, and an
id written down is refused."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import pytest

from envmill.base.errors import BuildError
from envmill.kinds.endings import play_twice
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.runtime.results import is_reference
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.sandbox.results import settle
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from offline.domain import Domain
from offline.scenario import write_linked, write_scenario
from offline.world import play_oracle
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import Scenario
from tests.offline.questions import THEMES, compose
from tests.offline.worlds import make_draft, make_world
from tests.soak import count

WANTED = count(15, 300)
SEEDS = (1, 5, 9)


async def rule(scenario: Scenario, world: Environment, seed: int, sandbox: Sandbox) -> str:
    seen = await sandbox.play(
        Program.of(world),
        [Reset(scenario.initial_state, CLOCK, seed), *map(Invoke, scenario.oracle), Look()],
    )
    deeds = [
        CompletedCall.of(call, step)
        for call, step in zip(settle(scenario.oracle, seen[1:-1]), seen[1:-1], strict=True)
    ]
    return judge(scenario.verifier, Ending(scenario.initial_state, seen[-1].state, deeds)).outcome


@pytest.mark.soak(area="mechanisms")
async def test_what_uses_a_result_passes_under_every_seed_and_what_writes_it_down_is_refused(
    jail: Sandbox,
) -> None:
    """Every fifth writes the id down in the place of the reference."""
    tried = skipped = caught = refused = 0
    for domain, reply in list_linked(WANTED):
        tried += 1
        world = make_world(domain)
        made = await make_draft(world, reply, jail)
        try:
            scenario = await finish(await prepare(made, world, jail), "binary", jail)
        except BuildError:
            refused += 1
            continue
        assert [await rule(scenario, world, seed, jail) for seed in SEEDS] == ["pass"] * len(
            SEEDS
        ), domain.theme
        # The domain's own model comes to the same number of changes, with ids of its own.
        assert len(
            diff_states(
                reply.initial_state, play_oracle(domain, reply.initial_state, made.oracle, 0, "own")
            )
        ) == len(made.changes)
        if tried % 5:
            continue
        skipped += 1
        literal = made.model_copy(
            update={"oracle": [call.model_copy(update={"uses": []}) for call in made.oracle]}
        )
        told = await play_twice(literal, world, jail)
        try:
            await prepare(literal, world, jail)
        except BuildError as error:
            caught += (
                isinstance(told, str)
                and "Write the reference" in told
                and error.facts["reason"] == "oracle_unstable"
            )
    assert (tried, refused) == (WANTED, 0)
    assert skipped == WANTED // 5
    assert caught >= skipped - skipped // 20, f"{caught} of {skipped}"


def list_linked(wanted: int) -> Iterator[tuple[Domain, ScenarioReply]]:
    """Scenarios that use a record they make, of one theme after the other."""
    places = (
        (place, theme)
        for again in range(wanted)
        for place, theme in enumerate(sorted(THEMES), again * len(THEMES))
    )
    found = (
        (domain, write_linked(domain, f"property/{place}"))
        for place, theme in places
        for domain in [compose(theme, place)]
    )
    return islice(((domain, reply) for domain, reply in found if reply is not None), wanted)


def test_a_share_of_scenarios_uses_results_only_where_they_may_be_used() -> None:
    found = {True: 0, False: 0}
    for place, theme in enumerate(sorted(THEMES)):
        for results in found:
            reply = write_scenario(compose(theme, place), f"share/{place}", results=results)
            used = [
                value
                for call in reply.oracle
                for value in cast(dict[str, Any], call.arguments).values()
                if is_reference(value)
            ]
            found[results] += bool(used)
    assert found[False] == 0
    assert found[True] >= 5
