"""Errands are judged by what stands there: another honest road is paid, a short cut is not, and
what nobody asked for has to stay."""

from collections.abc import Sequence
from itertools import combinations

import pytest

from envmill.kinds.terminal.errands.images import read_image
from envmill.kinds.terminal.errands.trying import ErrandTrial, try_solution
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import FINAL, INITIAL
from offline.errands.base import load_deeds, render
from offline.errands.compose import Job, compose_deeds, list_asked
from offline.errands.worlds import WORLDS
from tests.kinds.conftest import terminals
from tests.recipes.roads import ROADS, Road
from tests.recipes.test_endless_terminals import SEED, of
from tests.soak import count

__all__ = ["terminals"]

ALWAYS = ("the mail is lost on the way",)


def test_what_is_not_wanted_is_asked_to_stay() -> None:
    told = [
        (category, each, other)
        for category in WORLDS
        for each in load_deeds(category)
        for other in each.unless
    ]
    assert len(told) >= 10
    for category, each, other in told:
        both = [deed for deed in load_deeds(category) if deed.name in (each.name, other)]
        assert len(both) == 2, f"{category}: {each.name} speaks of {other}, which is no deed"
        assert each.unless[other] in list_asked([each])
        assert each.unless[other] not in list_asked(both)


def test_no_two_tests_of_an_errand_have_one_name() -> None:
    for category in WORLDS:
        for deeds in combinations(load_deeds(category), 2):
            asked = dict.fromkeys(
                part.strip("\n") for test in list_asked(deeds) for part in test.split("\n\n\n")
            )
            names = [each.partition("(")[0] for each in asked]
            assert len(names) == len(set(names)), (category, names)


@pytest.mark.long
@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", ALWAYS if count(1, 2) == 1 else ROADS)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_road_is_paid_when_it_leads_there(terminals: Sandbox, name: str) -> None:
    trial = await walk(ROADS[name], terminals)
    assert trial.goals, "nothing is asked of the machine nobody touched"
    assert (trial.reason == "") is ROADS[name].holds, trial


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(
    count(0, 1) == 0, reason="every deed of every category: make soak AREA=terminal"
)
@pytest.mark.parametrize("category", sorted(WORLDS))
@pytest.mark.asyncio(loop_scope="module")
async def test_every_deed_holds_alone_and_with_all_others(
    terminals: Sandbox, category: str
) -> None:
    deeds = load_deeds(category)
    for chosen in (*((each,) for each in deeds), deeds):
        job = compose_deeds(of(category).brief, SEED, chosen)
        trial = await try_commands(job, job.commands, terminals)
        assert (trial.reason, bool(trial.goals)) == ("", True), (
            [each.name for each in chosen],
            trial,
        )


async def walk(road: Road, sandbox: Sandbox) -> ErrandTrial:
    job = compose_deeds(
        of(road.category).brief,
        SEED,
        [each for each in load_deeds(road.category) if each.name in road.deeds],
    )
    return await try_commands(job, [render(road.command, job.world.values)], sandbox)


async def try_commands(job: Job, commands: Sequence[str], sandbox: Sandbox) -> ErrandTrial:
    healthy = read_image(job.image, "errand", "about", "Apache-2.0")
    healthy = healthy._replace(exams={INITIAL: job.initial_test, FINAL: job.final_test})
    return await try_solution(healthy, job.errand, commands, sandbox, doubted=False)
