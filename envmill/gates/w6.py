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
    exploration = await explore(built, means)
    if not exploration.calls:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    found = exploration.admit(_list_failures(exploration), means)[:1] + _keep_first(
        [*_find_limits(exploration), *_find_strangers(exploration)], exploration, means
    )
    evidence: Json = {
        "odd": sum(observed.why == "odd" for observed in exploration.calls),
        "limits": sum(observed.why == "limit" for observed in exploration.calls),
    }
    return gather(GATE, sorted(found, key=lambda one: CODES[one.reason] != "proof"), evidence)


def _keep_first(
    found: Sequence[tuple[str, str, Finding]], exploration: ExplorationRun, means: GateContext
) -> list[Finding]:
    """One finding for each parameter and reason: the first from an open probe, or else the first of
    all."""
    told = [
        (tool, name, admitted)
        for tool, name, finding in found
        for admitted in exploration.admit([finding], means)
    ]
    firsts: dict[tuple[str, str, str], Finding] = {}
    for tool, name, finding in sorted(told, key=lambda one: one[2].sealed):
        firsts.setdefault((tool, name, finding.reason), finding)
    return list(firsts.values())


def _list_failures(exploration: ExplorationRun) -> list[Finding]:
    """The worst failure of the open probes and the worst of the sealed ones."""
    failed = [observed for observed in exploration.calls if observed.seen.outcome == "failure"]
    # A call that had no time left is not blamed together with the call that took the time.
    failed = [observed for observed in failed if observed.seen.code != PLAN_OVER] or failed
    sorts = [
        [observed for observed in failed if exploration.is_sealed(_describe(observed)) is sealed]
        for sealed in (False, True)
    ]
    return [_name_worst(calls) for calls in sorts if calls]


def _name_worst(failures: Sequence[ObservedCall]) -> Finding:
    worst = next((observed for observed in failures if observed.seen.code in _HANGS), failures[0])
    reason = "hangs" if worst.seen.code in _HANGS else "crashes"
    quoted = (worst.seen.message.strip().splitlines() or [""])[-1][:200]
    tools = ", ".join(dict.fromkeys(observed.call.name for observed in failures))
    words = f"{worst.call.name} ends in {worst.seen.code}: {quoted} (failing: {tools})"
    return drop(GATE, reason, words, [_describe(observed) for observed in failures[:_SHOWN]])


def _describe(observed: ObservedCall) -> Json:
    return {
        "call": observed.call.model_dump(),
        "after": [call.model_dump() for call in observed.route],
        "outcome": observed.seen.outcome,
        "code": observed.seen.code,
        "message": observed.seen.message[-600:],
    }


def _find_limits(exploration: ExplorationRun) -> Iterator[tuple[str, str, Finding]]:
    """No value beyond a stated limit may pass. At the limit, no value may be refused in the
    parameter's own name while its neighbours pass."""
    told = {name: exploration.offers.limits(tool) for name, tool in exploration.tools.items()}
    for observed in exploration.calls:
        for name, limit in told.get(observed.call.name, {}).items():
            value = observed.call.arguments.get(name)
            if not isinstance(value, int | float) or isinstance(value, bool):
                continue
            # A default beyond the limits stands for none given.
            if (
                exploration.tools[observed.call.name].parameters["properties"][name].get("default")
                == value
            ):
                continue
            if observed.seen.outcome == "ok" and not limit.low <= value <= limit.high:
                yield (
                    observed.call.name,
                    name,
                    _judge_limit(
                        "limit_ignored", observed, f"takes {name}={value}", name, limit, exploration
                    ),
                )
            refused = (
                observed.seen.outcome == "rejection"
                and name in observed.seen.code
                and "range" in observed.seen.code
            )
            if refused and limit.low <= value <= limit.high:
                yield (
                    observed.call.name,
                    name,
                    _judge_limit(
                        "limit_missed",
                        observed,
                        f"refuses {name}={value}",
                        name,
                        limit,
                        exploration,
                    ),
                )


def _judge_limit(
    reason: str,
    observed: ObservedCall,
    did: str,
    name: str,
    limit: Limit,
    exploration: ExplorationRun,
) -> Finding:
    """A proof where the description says the limits in a sentence of their own."""
    said = exploration.tools[observed.call.name].parameters["properties"][name]["description"]
    words = f"{observed.call.name} {did}; its description says: {said!r}"
    if limit.plain:
        return drop(GATE, reason, words, _describe(observed))
    values = f"exactly the values from {limit.low:g} to {limit.high:g}"
    asked = (
        f"Does {said!r}, said of the parameter `{name}` of `{observed.call.name}`, allow {values}?"
    )
    return doubt(GATE, "limit_doubted", words, asked, _describe(observed))


def _find_strangers(exploration: ExplorationRun) -> Iterator[tuple[str, str, Finding]]:
    """A change that accepts an unknown id as the id of a row. An empty id does not count: a tool
    with several actions may get one."""
    for observed in exploration.calls:
        tool = exploration.tools.get(observed.call.name)
        if (
            observed.why != "odd"
            or tool is None
            or tool.effect != "change"
            or observed.seen.outcome != "ok"
            or not observed.moved
        ):
            continue
        for name, value in observed.call.arguments.items():
            if not name.endswith("id") or not isinstance(value, str | int) or value == "":
                continue
            pointed = exploration.offers.points(tool.name, name)
            if pointed and not _is_known(str(value), pointed, observed, exploration):
                words = f"{tool.name} takes {name}={value!r}, and {pointed} has no such row"
                asked = (
                    f"Must `{name}` of `{tool.name}` be the id of a row that is in {pointed} "
                    "before the call?"
                )
                yield (
                    tool.name,
                    name,
                    doubt(GATE, "stranger_taken", words, asked, _describe(observed)),
                )


def _is_known(
    value: str, collection: str, observed: ObservedCall, exploration: ExplorationRun
) -> bool:
    return observed.before not in exploration.states or value in list_keys(
        exploration.states[observed.before]
    ).get(collection, ())
