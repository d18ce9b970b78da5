"""Mistakes in a scenario whose path uses results. Other mistakes of a scenario play its calls as
they are written."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from envmill.runtime.results import is_reference
from offline.faults.asking import ScenarioCase, leak_tool, leave_empty
from offline.faults.base import FaultCase, Spoilt
from schemas.prompts import ScenarioReply


def uses_results(case: FaultCase[Any]) -> bool:
    """Whether these mistakes are the only ones that a reply can hold."""
    return isinstance(case.reply, ScenarioReply) and bool(find_uses(case.reply))


def find_uses(reply: ScenarioReply) -> list[tuple[int, str]]:
    """Places of calls and names of arguments that are results of earlier calls."""
    return [
        (place, name)
        for place, call in enumerate(reply.oracle)
        for name, value in call.arguments.items()
        if is_reference(value)
    ]


def invent_result(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The reference path writes down an id that no session has given yet."""
    if not (uses := find_uses(case.reply)):
        return None
    place, name = dice.choice(uses)
    operation = case.domain.operations[case.reply.oracle[place].name]
    collection = next(each.row for each in operation.takes if each.name == name)
    invented = f"{case.domain.collections[collection].prefixes[0]}_{dice.randrange(16**8):08x}"
    oracle = list(case.reply.oracle)
    oracle[place] = oracle[place].model_copy(
        update={"arguments": oracle[place].arguments | {name: invented}}
    )
    reply = case.reply.model_copy(update={"oracle": oracle})
    return Spoilt(
        reply.model_dump(mode="json"),
        words=f"{name} is {invented!r}, an id that no call of this path has given.",
    )


ON_RESULTS: Mapping[str, Callable[[ScenarioCase, random.Random], Spoilt | None]] = {
    "invented_result": invent_result,
    "leaked_tool": leak_tool,
    "missing_collection": leave_empty,
}
