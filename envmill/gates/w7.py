"""W7: a rejected call changes nothing."""

from collections.abc import Mapping

from envmill.gates.base import EnvironmentCase, Finding, GateContext, drop, keep, mark, skip
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ObservedCall
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.ledger import ReasonClass

GATE = "W7"
CODES: Mapping[str, ReasonClass] = {"change_before_check": "proof"}

_SHOWN = 5


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Compares hashes before and after every rejection of the exploration. A rejection that changed
    the hash is played again, and both states are compared."""
    exploration = await explore(built, means)
    rejected = [observed for observed in exploration.calls if observed.seen.outcome == "rejection"]
    if not rejected:
        return skip(
            GATE,
            "nothing_rejected",
            "no call that was tried was rejected: tests that expect a rejection would show how one "
            "ends",
        )
    moved = [observed for observed in rejected if observed.moved]
    sorts = [
        [observed for observed in moved if exploration.is_sealed(_quote(observed)) is sealed]
        for sealed in (False, True)
        if means.admits(sealed)
    ]
    marked = {
        observed.call.name: observed
        for observed in reversed(next(filter(None, sorts), list[ObservedCall]()))
    }
    if not marked:
        return keep(
            GATE,
            {
                "rejections": len(rejected),
                "tools": len({observed.call.name for observed in rejected}),
            },
        )
    shown = [await _describe(observed, built, means) for observed in list(marked.values())[:_SHOWN]]
    first = next(iter(marked.values()))
    paths: list[str] = [".".join(change["path"]) for change in shown[0]["changes"]]
    words = (
        f"{first.call.name} is rejected ({first.seen.code}), and has changed "
        f"{', '.join(paths) or 'the state'}"
    )
    return mark(
        drop(GATE, "change_before_check", words, shown), exploration.is_sealed(_quote(first))
    )


def _quote(observed: ObservedCall) -> list[dict[str, Json]]:
    return [call.model_dump() for call in (observed.call, *observed.route)]


async def _describe(
    observed: ObservedCall, built: EnvironmentCase, means: GateContext
) -> dict[str, Json]:
    plan = [
        Reset(observed.start, CLOCK, 0),
        *map(Invoke, observed.route),
        Look(),
        Invoke(observed.call),
        Look(),
    ]
    *_, before, call, after = await means.sandbox.play(Program.of(built.environment), plan)
    changes = (
        diff_states(before.state, after.state)
        if before.state is not None and after.state is not None
        else []
    )
    return {
        "call": observed.call.model_dump(),
        "after": [one.model_dump() for one in observed.route],
        "code": call.code,
        "message": call.message,
        "changes": [change.model_dump() for change in changes[:_SHOWN]],
    }
