"""A process with a hand on a run's budget: `python -m tests.models.spender FOLDER TOKENS CALLS
AT_ONCE` prints how many calls it made."""

import asyncio
import sys
from pathlib import Path

from envmill.base.errors import BudgetReached
from envmill.lake.coordination import FolderCoordinator
from envmill.models.budget import Allowance, Amount, Budget

COST = Amount(0.01, 10)


def say(text: str) -> None:
    """At once: whoever kills us counts what was said."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def spend(budget: Budget, calls: int) -> int:
    """One call after the other, until there are enough or the budget is reached."""
    for number in range(calls):
        try:
            hold = await budget.hold(COST)
        except BudgetReached:
            return number
        say("sent")
        await asyncio.sleep(0.002)
        hold.settle(COST)
    return calls


async def main(folder: str, tokens: int, calls: int, at_once: int) -> None:
    budget = Budget(FolderCoordinator(Path(folder)), "r1", Allowance(tokens=tokens), Amount())
    made = await asyncio.gather(*(spend(budget, calls) for _ in range(at_once)))
    budget.close()
    say(f"made {sum(made)}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
