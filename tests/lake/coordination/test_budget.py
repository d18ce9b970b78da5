"""One budget over the processes of several machines, and one rate: wherever their sums lie."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from envmill.base.errors import BudgetReached
from envmill.base.settings import ROOT, Settings
from envmill.lake.coordination import Coordinator
from envmill.models.budget import Allowance, Amount, Budget, Hold
from envmill.models.limiter import Limiter, ModelLimits, Shares
from envmill.pipeline.coordinating import open_coordinator
from tests.lake.coordination.conftest import Open, StandingClock, silence, space_looks
from tests.models.spender import COST
from tests.postgres import Postgres
from tests.soak import count


def open_budget(coordinator: Coordinator, tokens: int) -> Budget:
    return Budget(coordinator, "r1", Allowance(tokens=tokens), Amount())


async def spend(budget: Budget) -> int:
    """Calls made until the budget is reached."""
    made = 0
    while True:
        try:
            hold = await budget.hold(COST)
        except BudgetReached:
            return made
        made += 1
        await asyncio.sleep(0.01)
        hold.settle(COST)


@pytest.mark.long(cases=1)
async def test_two_machines_on_one_budget_spend_it_once(open_one: Open) -> None:
    budgets = [open_budget(open_one(home), 30 * COST.tokens) for home in ("one", "two")]
    made = await asyncio.gather(*(spend(budgets[number % 2]) for number in range(12)))
    assert sum(made) == 30
    budgets[0].close()
    assert budgets[1].spent().tokens == 30 * COST.tokens
    budgets[1].close()


@pytest.mark.long(cases=1)
async def test_what_a_machine_that_is_gone_had_set_aside_counts_as_spent(open_one: Open) -> None:
    first, second = open_one("one"), open_one("two")
    space_looks(second, StandingClock())
    lost, budget = open_budget(first, 5 * COST.tokens), open_budget(second, 5 * COST.tokens)
    for _ in range(2):
        await lost.hold(COST)
    silence(first)
    async with asyncio.timeout(300):
        assert await spend(budget) == 3
    assert budget.spent().tokens == 5 * COST.tokens


async def test_a_call_that_was_given_up_while_it_waited_holds_nothing(open_one: Open) -> None:
    budget = open_budget(open_one(), 2 * COST.tokens)
    waiting = [asyncio.create_task(budget.hold(COST)) for _ in range(2)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    for ended in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(ended, Hold):  # a folder answers at once
            ended.settle(Amount())
    async with asyncio.timeout(30):
        assert await spend(budget) == 2


@pytest.mark.long(cases=1)
async def test_a_complaint_that_one_machine_heard_slows_the_other(open_one: Open) -> None:
    shares = [Shares(open_one(home)) for home in ("one", "two")]
    one, two = (Limiter("m", ModelLimits(16), shares=share) for share in shares)
    async with asyncio.timeout(60):
        first, second = await one.enter(1, 10.0), await two.enter(1, 10.0)
        while one.window.bound != 8 or two.window.bound != 8:
            one._poll()
            two._poll()
            await asyncio.sleep(0.05)
        assert two.window.size == 16
        one.throttled(first, retry_after=5.0)
        while two.window.size == 16:
            two._poll()
            await asyncio.sleep(0.05)
    assert two.pause > 1.0
    one.leave(first)
    two.leave(second)
    for share in shares:
        share.close()


def start(folder: Path, home: str, *words: object, **more: str) -> subprocess.Popen[str]:
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "ENVMILL_HOME": str(folder / home),
        **more,
    }
    environ |= {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    command = [sys.executable, "-m", "tests.lake.coordination.worker", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("place", ["folder", "postgres", "s3"])
@pytest.mark.soak(area="models")
def test_what_a_killed_process_of_a_machine_held_counts_and_nothing_more(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Its successor on the machine sees at once that it is dead."""
    where = {"ENVMILL_LAKE": str(tmp_path / "lake")}
    if place == "postgres":
        cluster: Postgres = request.getfixturevalue("postgres")
        where["ENVMILL_DATABASE"] = cluster.url
        cluster.ask("drop table if exists envmill_coordination")
    elif place == "s3":
        where["ENVMILL_LAKE"] = f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
    for number in range(count(1, 20)):
        process = start(tmp_path, f"home{number}", 4000, 1000, 8, **where)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.02 * number)
        process.kill()
        sent = 1 + process.stdout.read().count("sent")
        process.wait()
        process.stdout.close()
        settings = Settings.read(where | {"ENVMILL_HOME": str(tmp_path / f"home{number}")})
        with closing(open_coordinator(settings)) as coordinator:
            budget = open_budget(coordinator, 4000)
            spent = budget.spent().tokens // COST.tokens
            assert 0 <= spent - sent <= 16, (
                sent,
                spent,
            )  # held by up to eight, and as many whose end was not told yet
            budget.close()
            if place != "folder":
                coordinator.change("budgets/r1", lambda document: document.clear())
