"""The budget: filled and never exceeded, whoever spends, dies or forgets; what cannot be known is
not spent twice."""

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envmill.base.errors import BudgetReached
from envmill.base.settings import ROOT
from envmill.lake.coordination import FolderCoordinator
from envmill.models.budget import Allowance, Amount, Budget
from tests.models.spender import COST, spend
from tests.soak import count

ONE = Amount(1.0, 100)


def open_budget(
    folder: Path,
    money: float | None = None,
    tokens: int | None = None,
    in_ledger: Amount | None = None,
) -> Budget:
    return Budget(FolderCoordinator(folder), "r1", Allowance(money, tokens), in_ledger or Amount())


async def test_the_last_call_that_fits_is_made_and_the_next_is_not(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, tokens=300)
    for _ in range(3):
        (await budget.hold(ONE)).settle(ONE)
    with pytest.raises(
        BudgetReached,
        match=r"300 tokens is reached.*3 in money and 300 tokens are "
        r"spent.*--resume.*--budget-tokens",
    ) as reached:
        await budget.hold(ONE)
    assert reached.value.facts == {"spent_money": 3.0, "spent_tokens": 300}
    assert not reached.value.retryable


@pytest.mark.parametrize("bound", [{"money": 1.05}, {"tokens": 100}])
async def test_both_bounds_hold(tmp_path: Path, bound: dict[str, float]) -> None:
    budget = Budget(FolderCoordinator(tmp_path), "r1", Allowance(**bound), Amount())  # type: ignore[arg-type]
    (await budget.hold(ONE)).settle(ONE)
    with pytest.raises(BudgetReached):
        await budget.hold(Amount(0.1, 1))


async def test_tenths_add_up(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, money=1.0)
    for _ in range(10):
        (await budget.hold(Amount(0.1, 1))).settle(Amount(0.1, 1))
    with pytest.raises(BudgetReached):
        await budget.hold(Amount(0.1, 1))


async def test_who_is_only_in_the_way_of_calls_in_flight_waits_for_them(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, tokens=100)
    first = await budget.hold(ONE)
    second = asyncio.create_task(budget.hold(ONE))
    await asyncio.sleep(0.15)
    assert not second.done()
    first.settle(Amount())  # it was an outage, and cost nothing
    (await asyncio.wait_for(second, 5)).settle(ONE)
    with pytest.raises(BudgetReached):
        await budget.hold(Amount(0, 1))


async def test_a_guess_larger_than_the_budget_goes_alone(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, tokens=50)
    first = await budget.hold(ONE, guessed=True)
    second = asyncio.create_task(budget.hold(ONE, guessed=True))
    await asyncio.sleep(0.15)
    assert not second.done()
    first.settle(Amount(0, 50))
    with pytest.raises(BudgetReached):
        await second
    with pytest.raises(BudgetReached):
        await budget.hold(ONE)


async def test_among_sixty_four_in_flight_nothing_goes_beyond(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, money=1.0)
    made = await asyncio.gather(*(spend(budget, 10) for _ in range(64)))
    assert sum(made) == 100
    assert budget.spent().tokens == 1000


async def test_the_ledger_knows_what_a_lost_file_has_forgotten(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, tokens=300, in_ledger=Amount(2.0, 200))
    (await budget.hold(ONE)).settle(ONE)
    budget.close()
    again = open_budget(tmp_path, tokens=300, in_ledger=Amount(3.0, 300))
    assert again.spent() == Amount(3.0, 300)
    again.close()
    (tmp_path / "budgets/r1.json").write_bytes(b'{"": [[1')
    torn = open_budget(tmp_path, tokens=300, in_ledger=Amount(3.0, 300))
    with pytest.raises(BudgetReached):
        await torn.hold(Amount(0, 1))


async def test_sums_torn_while_they_are_held_are_mended_as_far_as_we_know(tmp_path: Path) -> None:
    budget = open_budget(tmp_path, tokens=300)
    hold = await budget.hold(ONE)
    (tmp_path / "budgets/r1.json").write_bytes(b"")
    hold.settle(ONE)
    assert budget.spent().tokens == 100
    (await budget.hold(Amount(0, 200))).settle(Amount(0, 200))
    with pytest.raises(BudgetReached):
        await budget.hold(Amount(0, 1))
    budget.close()


async def test_a_larger_budget_goes_on_where_the_smaller_stopped(tmp_path: Path) -> None:
    small = open_budget(tmp_path, tokens=100)
    (await small.hold(ONE)).settle(ONE)
    small.close()
    larger = open_budget(tmp_path, tokens=200, in_ledger=ONE)
    (await larger.hold(ONE)).settle(ONE)
    with pytest.raises(BudgetReached):
        await larger.hold(ONE)


def start(folder: Path, tokens: int, calls: int, at_once: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.models.spender",
        str(folder),
        *map(str, (tokens, calls, at_once)),
    ]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)


def test_processes_on_one_budget_share_it(tmp_path: Path) -> None:
    started = [start(tmp_path, 2000, 1000, 16) for _ in range(3)]
    made = [int(process.communicate(timeout=60)[0].split()[-1]) for process in started]
    assert sum(made) == 2000 // COST.tokens


@pytest.mark.soak(area="models")
def test_what_a_killed_process_held_counts_as_spent_and_nothing_more(tmp_path: Path) -> None:
    """Whatever it had sent may have been served; what it had not is left to the others."""
    dice = random.Random(os.environ.get("ENVMILL_SEED", "0"))
    for number in range(count(3, 100)):
        folder = tmp_path / str(number)
        process = start(folder, 4000, 1000, 8)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.uniform(0, 0.1))
        process.kill()
        sent = 1 + process.stdout.read().count("sent")
        process.wait()
        process.stdout.close()
        budget = open_budget(folder, tokens=4000)
        spent = budget.spent().tokens // COST.tokens
        assert 0 <= spent - sent <= 8, (sent, spent)  # held by up to eight, told of or not
        assert asyncio.run(spend(budget, 1000)) == 400 - spent
        budget.close()
        assert list(folder.glob("*.alive")) == []
