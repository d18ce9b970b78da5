"""W8: every tool is seen to succeed, every declared write to change something, every query to answer; tables are touched as declared."""

from collections.abc import Mapping

from envmill.gates.base import Built, Finding, Means, drop, keep, skip
from envmill.gates.rows import list_rows
from envmill.gates.stops import Tour
from envmill.gates.touches import find_untrue
from envmill.gates.tour import take_tour
from schemas.base import Json, is_array, is_object
from schemas.environment import Tool
from schemas.ledger import ReasonClass

GATE = "W8"
CODES: Mapping[str, ReasonClass] = {}

_ENOUGH = 24
"""Distinct calls with arguments that exist, after which a tool that was never carried out counts as one that cannot be."""


async def look(built: Built, means: Means) -> Finding:
    """What was not seen is a fault where valid arguments could be built, and unknown where they could not."""
    tour = await take_tour(built, means)
    if not tour.stops:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    silent = {tool.name: fault for tool in tour.tools.values() if (fault := _find_silence(tool, tour))}
    evidence: Json = {"tools": len(tour.tools), "silent": silent, "calls": {name: len(tour.of(name)) for name in silent}}
    faults = {name: fault for name, fault in silent.items() if fault != "not_exercised"}
    for name, fault in faults.items():
        return drop(GATE, fault, f"{name}: {_WORDS[fault]} in {len(tour.of(name))} calls; {_quote(tour, name)}", evidence)
    untrue, touched = await find_untrue(built, tour, means)
    if untrue:
        return drop(GATE, untrue[0].reason, untrue[0].words, {"untrue": [one.words for one in untrue], "touched": touched})
    if silent:
        named = ", ".join(silent)
        return skip(GATE, "not_exercised", f"no valid arguments could be built for {named}: a test that succeeds would show how", evidence)
    return keep(GATE, evidence | ({"touched": touched} if touched else {}))


_WORDS = {
    "never_succeeds": "was never carried out",
    "never_changes": "was carried out and never changed anything",
    "never_answers": "never told of a row",
}


def _find_silence(tool: Tool, tour: Tour) -> str:
    stops = tour.of(tool.name)
    done = [stop for stop in stops if stop.seen.outcome == "ok"]
    if not done:
        tried = {str(stop.call.arguments) for stop in stops if stop.why in ("test", "drawn")}
        return "never_succeeds" if _could_be_valid(tool, tour) and len(tried) >= _ENOUGH else "not_exercised"
    if tool.effect == "change":
        return "" if any(stop.moved for stop in done) else "never_changes"
    return "" if any(_says_something(stop.seen.parts) for stop in done) or not _has_rows(tour) else "never_answers"


def _could_be_valid(tool: Tool, tour: Tour) -> bool:
    """Whether every id it asks for is known to name rows that exist."""
    asked = [name for name in tool.parameters.get("required", ()) if name.endswith("id")]
    return all(tour.offers.points(tool.name, name) for name in asked)


def _has_rows(tour: Tour) -> bool:
    return any(True for state in tour.starts for _ in list_rows(state))


def _says_something(parts: list[Json]) -> bool:
    return any(part.get("text", "").strip() or not _is_empty(part.get("value")) for part in parts)


def _is_empty(value: Json) -> bool:
    if is_array(value):
        return all(map(_is_empty, value))
    if is_object(value):
        return not value or all(_is_empty(one) for one in value.values())
    return value is None or value == ""


def _quote(tour: Tour, name: str) -> str:
    refused = next((stop.seen for stop in tour.of(name) if stop.seen.outcome != "ok"), None)
    return f"{refused.code}: {refused.message[:160]}" if refused else "it answered ok each time"
