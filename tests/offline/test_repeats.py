"""Scenarios of the embedded author in one world: two about the same records are one errand, however
they are worded; its own never are."""

from collections import Counter
from itertools import pairwise

import pytest

from envmill.base.errors import BuildError
from envmill.gates.f4 import find_repeats
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Sandbox
from offline.scenario import write_scenario
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import Scenario
from tests.offline.questions import THEMES, compose
from tests.offline.worlds import make_draft, make_world
from tests.soak import count

WORLDS, HONEST, TWINS = count(2, 30), 8, 2


@pytest.mark.soak(area="mechanisms")
async def test_an_errand_that_comes_again_is_dropped_and_no_other_one(jail: Sandbox) -> None:
    """Of ten scenarios of a world two are others once more: in other words, among other records
    besides."""
    found = Counter[str]()
    for place, theme in enumerate(sorted(THEMES)[:WORLDS]):
        domain = compose(theme, place)
        world = make_world(domain)
        replies = [write_scenario(domain, f"repeats/{place}/{number}") for number in range(HONEST)]
        honest = [
            await make_scenario(world, reply, number, jail) for number, reply in enumerate(replies)
        ]
        twins = list[Scenario]()
        for number, (reply, other) in enumerate(pairwise(replies), HONEST):
            if len(twins) < TWINS and (twin := await try_again(world, reply, other, number, jail)):
                twins.append(twin)
        decided = find_repeats([*honest, *twins], planned=True)
        alone = find_repeats(honest, planned=True)
        found["honest"] += len(honest)
        found["refused"] += sum(one.outcome != "kept" for one in alone.values())
        found["twins"] += len(twins)
        found["caught"] += sum(one.reason == "same_errand" for one in decided.values())
    assert (found["honest"], found["refused"]) == (WORLDS * HONEST, 0), found
    assert found["twins"] >= WORLDS * TWINS * 9 // 10, found
    assert found["caught"] >= found["twins"] - found["twins"] // 20, found


async def make_scenario(
    world: Environment, reply: ScenarioReply, number: int, sandbox: Sandbox
) -> Scenario:
    draft = (await make_draft(world, reply, sandbox)).model_copy(update={"number": number})
    return await finish(await prepare(draft, world, sandbox), "binary", sandbox)


async def try_again(
    world: Environment, reply: ScenarioReply, other: ScenarioReply, number: int, sandbox: Sandbox
) -> Scenario | None:
    """The errand in words that no other has, with another one's records beside its own; None where
    a rule forbids it there."""
    state = {
        name: {**other.initial_state.get(name, {}), **rows}
        for name, rows in reply.initial_state.items()
    }
    twin = reply.model_copy(
        update={"request": " ".join(reversed(other.request.split())), "initial_state": state}
    )
    try:
        return await make_scenario(world, twin, number, sandbox)
    except (AssertionError, BuildError):
        return None
