"""W11: replies are truthful: a change that answers ok has changed something, a query never does, and no ok tells of a failure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.base import Built, Finding, Means, drop, keep, skip
from envmill.gates.rows import list_placed, list_rows, list_scalars, list_told
from envmill.gates.stops import Stop, Tour
from envmill.gates.tour import take_tour
from schemas.base import Json, is_object
from schemas.database import Table
from schemas.ledger import ReasonClass

GATE = "W11"
CODES: Mapping[str, ReasonClass] = {}

_ADMITS = re.compile(r"\b(already|no change|nothing (?:to|was|has)|unchanged|same as|not changed|still)\b", re.IGNORECASE)
"""Words by which a reply says itself that nothing happened."""
_FAILED = re.compile(r"^\s*(?:error|failed|failure|exception|denied|invalid|cannot|could not|unable to|not found)\b", re.IGNORECASE)
_FLAGS = ("success", "ok", "succeeded")
_ERRORS = ("error", "error_message", "errors", "exception", "failure")
_MINTED = re.compile(r"\d|_")


async def look(built: Built, means: Means) -> Finding:
    """Every answer of the tour against what it did."""
    tour = await take_tour(built, means)
    if not tour.stops:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    lies = _find_lies(tour, built.environment.tables)
    for finding in tour.heed((drop(GATE, reason, f"{stop.call.name} {words}", _tell(stop, tour)) for reason, stop, words in lies), means):
        return finding
    done = [stop for stop in tour.stops if stop.seen.outcome == "ok"]
    return keep(GATE, {"answers": len(done), "writes": sum(stop.moved for stop in done)})


def _tell(stop: Stop, tour: Tour) -> Json:
    changes = [change.model_dump() for change in tour.diff(stop)[:5]]
    return {
        "call": stop.call.model_dump(),
        "after": [one.model_dump() for one in stop.route],
        "answer": stop.seen.parts,
        "changes": changes,
    }


def _find_lies(tour: Tour, tables: Sequence[Table]) -> Iterator[tuple[str, Stop, str]]:
    attributes = {name for state in tour.starts for row in list_rows(state) for name in row.value}
    for stop in tour.stops:
        if stop.seen.outcome != "ok" or stop.call.name not in tour.tools:
            continue
        if failure := _find_failure(stop.seen.parts, attributes):
            yield "error_as_result", stop, f"answers ok and says {failure!r}"
        elif tour.tools[stop.call.name].effect == "query":
            if stop.moved:
                yield "query_changes", stop, "is declared a query and changes the state"
        elif not stop.moved:
            if stop.before and not _is_honest_idle(stop, tour):
                yield "silent_success", stop, "answers ok and changes nothing"
        elif stale := _find_stale(stop, tour, tables):
            yield "stale_answer", stop, f"answers with {stale} as it was before the change"
        elif lost := _find_lost(stop, tour):
            yield "not_kept", stop, f"answers with {lost!r}, which the state does not hold"


def _find_failure(parts: list[Json], attributes: set[str]) -> str:
    """What an ok answer says of a failure: at its top only, since rows may well have failed at something."""
    for part in parts:
        value = part.get("value")
        if is_object(value):
            for flag in _FLAGS:
                if value.get(flag) is False and flag not in attributes:
                    return f"{flag}: false"
            for name in _ERRORS:
                if value.get(name) and name not in attributes:
                    return f"{name}: {str(value[name])[:80]}"
        text = part.get("text", "")
        if isinstance(text, str) and _FAILED.match(text):
            return text[:80]
    return ""


def _is_honest_idle(stop: Stop, tour: Tour) -> bool:
    """Nothing changed and that is no lie: the answer says so, or what was asked for is what was there."""
    told = " ".join(value for value in list_scalars(stop.seen.parts) if isinstance(value, str))
    state = tour.states.get(stop.before)
    rows = {row.key: row.value for row in list_rows(stop.start if state is None else state)}
    if _ADMITS.search(told) or any(state is None or _is_stored(row, rows) for row in list_told(stop.seen.parts)):
        return True
    named = [rows[value] for value in stop.call.arguments.values() if isinstance(value, str) and value in rows]
    given = {name: value for name, value in stop.call.arguments.items() if not (isinstance(value, str) and value in rows)}
    return bool(named and given) and all(_holds(named, name, value) for name, value in given.items())


def _is_stored(told: Mapping[str, Json], rows: Mapping[str, Mapping[str, Json]]) -> bool:
    """A row told as it is: whoever reads the answer knows the truth. Where the state was not looked at, a row is believed."""
    stored = rows.get(told["id"], told)
    return all(told.get(name) == value for name, value in stored.items())


def _holds(rows: list[Mapping[str, Json]], name: str, value: Json) -> bool:
    """An attribute of that name with that value; an empty or absent value asks for nothing."""
    if value is None or value == [] or value == {}:
        return True
    stem = name.removeprefix("new_")
    return any(row.get(stem, row.get(name)) == value or (stem not in row and value in row.values()) for row in rows)


def _find_lost(stop: Stop, tour: Tour) -> str:
    """The id of a row the answer tells of, which neither the state nor the caller has ever named."""
    if not tour.is_looked_at(stop):
        return ""
    return next((row["id"] for row in list_told(stop.seen.parts) if _MINTED.search(row["id"]) and not _is_named(row["id"], stop, tour)), "")


def _is_named(key: str, stop: Stop, tour: Tour) -> bool:
    """Mostly as a row of the state; else somewhere in it, or by the caller."""
    if key in tour.keys(stop.after) or key in tour.words(stop.after) or key in tour.words(stop.before):
        return True
    return key in set(map(str, list_scalars(stop.call.arguments)))


def _find_stale(stop: Stop, tour: Tour, tables: Sequence[Table]) -> str:
    """An attribute the call changed and its answer tells as it was: the row of that id, under that attribute's own name."""
    sets = [change for change in tour.diff(stop) if change.op == "set" and len(change.path) == 3]
    for home, told, row in list_placed(stop.seen.parts, tables):
        for change in sets:
            collection, key, name = change.path
            here = told == key and home in ("", collection)
            if here and name in row and row[name] == change.before and row[name] != change.after:
                return f"{name} of {key}"
    return ""
