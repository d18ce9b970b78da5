"""A process to be killed: goes on with a run's questions, and says which replies it was given.

`python -m tests.models.asker FOLDER VENDOR ROOT FIRST LAST [MONEY]` prints `ready`, then the number of each question it has the reply to.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from envmill.base.errors import BudgetReached
from envmill.lake.arrow import Stamp
from envmill.lake.coordination import FolderCoordinator
from envmill.lake.journal import read_calls, seal
from envmill.lake.lake import Lake
from envmill.models.budget import Allowance, Amount, Budget
from envmill.models.gateway import Known
from envmill.models.limiter import Shares
from schemas.ledger import ModelCall
from tests.models.calling import PROMPT, Answer, Question, open_door

RUN, IN_FLIGHT = "r1", 16


def name_question(number: int) -> str:
    """A word that no other question's text holds."""
    return f"<{number}>"


def read_known(folder: Path, sealing: bool = True) -> Known:
    """What is known of the run, as the opening of a run reads it."""
    lake, journals = Lake(folder / "lake"), folder / "journal"
    if sealing:
        seal(journals, lake, Stamp(RUN, "", "", 0, 1, "", datetime.now(UTC).isoformat()))
    journalled = list(read_calls(journals))
    return {
        (call.request, call.sample): call
        for call in (*lake.read(ModelCall, RUN), *journalled)
        if call.answers
    }


async def go_on(folder: Path, vendor: str, root: str, numbers: range, tokens: int | None) -> bool:
    """Whether every question was answered; not when the budget is reached first."""
    known = read_known(folder)
    spent = Amount(tokens=sum(call.tokens_in + call.tokens_out for call in known.values()))
    coordinator = FolderCoordinator(folder / "coordination")
    budget = Budget(coordinator, RUN, Allowance(tokens=tokens), spent) if tokens else None
    left, reached, shares = iter(numbers), False, Shares(coordinator)
    async with open_door(
        vendor,
        root,
        folder / "journal",
        known=known,
        in_flight=IN_FLIGHT,
        budget=budget,
        shares=shares,
    ) as door:
        _say("ready")

        async def work() -> None:
            nonlocal reached
            for number in left:
                word = name_question(number)
                try:
                    await door.open_session("s", word).ask(PROMPT, Question(word=word), Answer)
                except BudgetReached:
                    reached = True
                    return
                _say(str(number))

        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    if budget is not None:
        budget.close()
    coordinator.close()
    return not reached


def _say(line: str) -> None:
    """Past every buffer: what was said stays said when we are killed."""
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    import openai  # noqa: F401  a second, spent before `ready`: kills are to fall among the questions

    _folder, _vendor, _root, _first, _last = sys.argv[1:6]
    _tokens = int(sys.argv[6]) if len(sys.argv) > 6 else None
    sys.exit(
        0
        if asyncio.run(
            go_on(Path(_folder), _vendor, _root, range(int(_first), int(_last)), _tokens)
        )
        else 3
    )
