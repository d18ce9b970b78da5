"""W6: odd arguments are rejected without a crash, and the limits that the interface states are the
ones that hold."""

from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, drop, gather, skip
from envmill.gates.exploring.arguments import Limit
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.rows import list_keys
from envmill.sandbox.batches import PLAN_OVER
from schemas.base import Json
from schemas.ledger import ReasonClass

GATE = "W6"
CODES: Mapping[str, ReasonClass] = {
    "crashes": "proof",
    "hangs": "proof",
    # A plain sentence such as "From 1 to 100." says where the parameter goes; numbers within a
    # longer one may mean something else.
    "limit_ignored": "proof",
    "limit_missed": "proof",
    "limit_doubted": "suspicion",
    # It is only our convention that every id names a row. A parameter may hold an id of another
    # system, or the id of a row to be created.
    "stranger_taken": "suspicion",
}

_SHOWN = 10
_HANGS = ("timeout", "killed", "session_lost")


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Checks failures first: a crash under valid arguments is a failure, too."""
    tour = await explore(built, means)
    if not tour.stops:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    found = tour.heed(_list_failures(tour), means)[:1] + _keep_first(
        [*_find_limits(tour), *_find_strangers(tour)], tour, means
    )
    evidence: Json = {
        "odd": sum(stop.why == "odd" for stop in tour.stops),
        "limits": sum(stop.why == "limit" for stop in tour.stops),
    }
    return gather(GATE, sorted(found, key=lambda one: CODES[one.reason] != "proof"), evidence)


def _keep_first(
    found: Sequence[tuple[str, str, Finding]], tour: ExplorationRun, means: GateContext
) -> list[Finding]:
    """One finding for each parameter and reason: the first from an open probe, or else the first of
    all."""
    told = [
        (tool, name, heeded)
        for tool, name, finding in found
        for heeded in tour.heed([finding], means)
    ]
    firsts: dict[tuple[str, str, str], Finding] = {}
    for tool, name, finding in sorted(told, key=lambda one: one[2].sealed):
        firsts.setdefault((tool, name, finding.reason), finding)
    return list(firsts.values())


def _list_failures(tour: ExplorationRun) -> list[Finding]:
    """The worst failure of the open probes and the worst of the sealed ones."""
    failed = [stop for stop in tour.stops if stop.seen.outcome == "failure"]
    # A call that had no time left is not blamed together with the call that took the time.
    failed = [stop for stop in failed if stop.seen.code != PLAN_OVER] or failed
    sorts = [
        [stop for stop in failed if tour.is_sealed(_describe(stop)) is sealed]
        for sealed in (False, True)
    ]
    return [_name_worst(stops) for stops in sorts if stops]


def _name_worst(failures: Sequence[ObservedCall]) -> Finding:
    worst = next((stop for stop in failures if stop.seen.code in _HANGS), failures[0])
    reason = "hangs" if worst.seen.code in _HANGS else "crashes"
    quoted = (worst.seen.message.strip().splitlines() or [""])[-1][:200]
    tools = ", ".join(dict.fromkeys(stop.call.name for stop in failures))
    words = f"{worst.call.name} ends in {worst.seen.code}: {quoted} (failing: {tools})"
    return drop(GATE, reason, words, [_describe(stop) for stop in failures[:_SHOWN]])


def _describe(stop: ObservedCall) -> Json:
    return {
        "call": stop.call.model_dump(),
        "after": [call.model_dump() for call in stop.route],
        "outcome": stop.seen.outcome,
        "code": stop.seen.code,
        "message": stop.seen.message[-600:],
    }


def _find_limits(tour: ExplorationRun) -> Iterator[tuple[str, str, Finding]]:
    """No value beyond a stated limit may pass. At the limit, no value may be refused in the
    parameter's own name while its neighbours pass."""
    told = {name: tour.offers.limits(tool) for name, tool in tour.tools.items()}
    for stop in tour.stops:
        for name, limit in told.get(stop.call.name, {}).items():
            value = stop.call.arguments.get(name)
            if not isinstance(value, int | float) or isinstance(value, bool):
                continue
            # A default beyond the limits stands for none given.
            if tour.tools[stop.call.name].parameters["properties"][name].get("default") == value:
                continue
            if stop.seen.outcome == "ok" and not limit.low <= value <= limit.high:
                yield (
                    stop.call.name,
                    name,
                    _judge_limit("limit_ignored", stop, f"takes {name}={value}", name, limit, tour),
                )
            refused = (
                stop.seen.outcome == "rejection"
                and name in stop.seen.code
                and "range" in stop.seen.code
            )
            if refused and limit.low <= value <= limit.high:
                yield (
                    stop.call.name,
                    name,
                    _judge_limit(
                        "limit_missed", stop, f"refuses {name}={value}", name, limit, tour
                    ),
                )


def _judge_limit(
    reason: str, stop: ObservedCall, did: str, name: str, limit: Limit, tour: ExplorationRun
) -> Finding:
    """A proof where the description says the limits in a sentence of their own."""
    said = tour.tools[stop.call.name].parameters["properties"][name]["description"]
    words = f"{stop.call.name} {did}; its description says: {said!r}"
    if limit.plain:
        return drop(GATE, reason, words, _describe(stop))
    values = f"exactly the values from {limit.low:g} to {limit.high:g}"
    asked = f"Does {said!r}, said of the parameter `{name}` of `{stop.call.name}`, allow {values}?"
    return doubt(GATE, "limit_doubted", words, asked, _describe(stop))


def _find_strangers(tour: ExplorationRun) -> Iterator[tuple[str, str, Finding]]:
    """A change that accepts an unknown id as the id of a row. An empty id does not count: a tool
    with several actions may get one."""
    for stop in tour.stops:
        tool = tour.tools.get(stop.call.name)
        if (
            stop.why != "odd"
            or tool is None
            or tool.effect != "change"
            or stop.seen.outcome != "ok"
            or not stop.moved
        ):
            continue
        for name, value in stop.call.arguments.items():
            if not name.endswith("id") or not isinstance(value, str | int) or value == "":
                continue
            pointed = tour.offers.points(tool.name, name)
            if pointed and not _is_known(str(value), pointed, stop, tour):
                words = f"{tool.name} takes {name}={value!r}, and {pointed} has no such row"
                asked = (
                    f"Must `{name}` of `{tool.name}` be the id of a row that is in {pointed} "
                    "before the call?"
                )
                yield tool.name, name, doubt(GATE, "stranger_taken", words, asked, _describe(stop))


def _is_known(value: str, collection: str, stop: ObservedCall, tour: ExplorationRun) -> bool:
    return stop.before not in tour.states or value in list_keys(tour.states[stop.before]).get(
        collection, ()
    )
