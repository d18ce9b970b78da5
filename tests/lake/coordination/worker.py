"""A process that shares a budget: `python -m tests.lake.coordination.worker TOKENS CALLS AT_ONCE`. ENVMILL_HOME, ENVMILL_LAKE and
ENVMILL_DATABASE say with whom. It prints `sent` for each call."""

import asyncio
import sys

from envmill.models.budget import Allowance, Amount, Budget
from envmill.pipeline.coordinating import open_coordinator
from flows.surroundings import read_settings
from tests.models.spender import say, spend


async def main(tokens: int, calls: int, at_once: int) -> None:
    coordinator = open_coordinator(read_settings())
    budget = Budget(coordinator, "r1", Allowance(tokens=tokens), Amount())
    made = await asyncio.gather(*(spend(budget, calls) for _ in range(at_once)))
    budget.close()
    coordinator.close()
    say(f"made {sum(made)}")


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
