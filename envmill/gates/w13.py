"""W13: unusual but valid calls give replies that an agent can work with."""

import re
from collections.abc import Iterator, Mapping

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, gather, skip
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.rows import list_objects, list_scalars
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.ledger import ReasonClass

GATE = "W13"
CODES: Mapping[str, ReasonClass] = dict.fromkeys(
    # What an agent can work with is judged by words and by a convention: no rule says what a reply
    # has to hold.
    ("empty_reply", "empty_refusal", "internal_text", "constant_reply", "unresolved_id"),
    "suspicion",
)
_ASKED = {
    "empty_reply": "Does the caller need to be told something of what the call did?",
    "empty_refusal": "Does the message leave the caller without any reason for the refusal?",
    "internal_text": "Does the text speak of the code of the program, instead of the caller's call or records?",
    "unresolved_id": "Does somebody who works with these tools need to know whom or what the id means?",
    "constant_reply": "Should some of these calls be answered otherwise than the others?",
}

_INTERNAL = re.compile(
    r'Traceback \(most recent call last\)|File "[^"]+", line \d+|<[\w.]+ object at 0x|\b(?:Key|'
    r"Attribute|Type|Index|Value)Error\b|NoneType"
)
_DUMB = frozenset(
    """a an bad call denied error errors exception failed failure invalid no not occurred ok operation rejected request the unknown
    wrong""".split()  # noqa: SIM905
)
"""Words that name nothing."""
_ENOUGH = 4
"""Different arguments to which a reply must not be the same."""


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Replies that say nothing, say the same to everything, or speak of the program's insides."""
    tour = await explore(built, means)
    if not tour.stops:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    return gather(GATE, doubt_replies(GATE, tour, means), {"replies": len(tour.stops)})


def doubt_replies(gate: str, tour: ExplorationRun, means: GateContext) -> list[Finding]:
    """The first reply of each tool and reason that an agent cannot work with."""
    firsts: dict[tuple[str, str], Finding] = {}
    found = (*_find_poor(tour), *_find_constant(tour), *_find_unresolved(tour))
    for finding in tour.heed((_judge(gate, *poor) for poor in found), means):
        firsts.setdefault((finding.reason, finding.detail.split()[0]), finding)
    return list(firsts.values())


def _judge(gate: str, reason: str, stop: ObservedCall, words: str) -> Finding:
    told = f"{stop.call.name} {words}"
    evidence: Json = {"call": stop.call.model_dump(), "outcome": stop.seen.outcome, **_quote(stop)}
    said = (
        stop.seen.message[:300] if stop.seen.outcome == "rejection" else str(stop.seen.parts)[:300]
    )
    return doubt(gate, reason, told, f"{told}. The reply was: {said} {_ASKED[reason]}", evidence)


def _quote(stop: ObservedCall) -> dict[str, Json]:
    return {"answer": stop.seen.parts, "code": stop.seen.code, "message": stop.seen.message[:600]}


def _find_poor(tour: ExplorationRun) -> Iterator[tuple[str, ObservedCall, str]]:
    for stop in tour.stops:
        if stop.seen.outcome == "rejection":
            if _reveals_insides(stop.seen.message, stop, tour):
                yield (
                    "internal_text",
                    stop,
                    f"is refused with the program's insides: {stop.seen.message[:120]!r}",
                )
            elif not _names_a_reason(stop):
                yield (
                    "empty_refusal",
                    stop,
                    f"is refused and not told why: {stop.seen.code!r}, {stop.seen.message[:80]!r}",
                )
        elif stop.seen.outcome == "ok":
            if poor := _find_emptiness(stop, tour):
                yield "empty_reply", stop, f"is carried out and answers {poor}"
            elif any(
                _reveals_insides(part.get("text", ""), stop, tour) for part in stop.seen.parts
            ):
                yield "internal_text", stop, "answers with the program's insides"


def _reveals_insides(text: str, stop: ObservedCall, tour: ExplorationRun) -> bool:
    """Words of a program's insides that neither the caller nor a record has said: a ticket may well
    be about a KeyError."""
    found = _INTERNAL.search(text)
    if found is None:
        return False
    known = [
        str(value)
        for value in list_scalars([stop.call.arguments, tour.states.get(stop.before, stop.start)])
    ]
    return not any(found[0] in value for value in known)


def _names_a_reason(stop: ObservedCall) -> bool:
    words = re.findall(r"[^\W_]+", stop.seen.message.casefold())
    return len(words) >= 2 and not set(words) <= _DUMB


def _find_emptiness(stop: ObservedCall, tour: ExplorationRun) -> str:
    """How a reply is empty; an empty text if it says something. An empty list is an answer to a
    query."""
    if not stop.seen.parts:
        return "nothing"
    (first, *more) = stop.seen.parts
    if more or first.get("type") == "blob":
        return ""
    if first["type"] == "text":
        return "" if first["text"].strip() else "an empty text"
    value = first["value"]
    query = tour.tools[stop.call.name].effect == "query"
    bare = (
        value is None
        or value == {}
        or (value == [] and not query)
        or (isinstance(value, bool) and not query)
    )
    return f"{value!r} alone" if bare else ""


def _find_constant(tour: ExplorationRun) -> Iterator[tuple[str, ObservedCall, str]]:
    """Queries that answer the same, and not nothing, whatever they are asked."""
    for tool in tour.tools.values():
        if tool.effect != "query" or not tool.parameters.get("required"):
            continue
        done = [
            stop
            for stop in tour.of(tool.name)
            if stop.seen.outcome == "ok"
            and stop.why in ("test", "drawn")
            and stop.start is tour.starts[0]
        ]
        asked = {
            canonical_json(stop.call.arguments)
            for stop in done
            if not stop.moved and stop.before == done[0].before
        }
        told = {canonical_json(stop.seen.parts) for stop in done if stop.before == done[0].before}
        if len(asked) >= _ENOUGH and len(told) == 1 and _is_informative(done[0].seen.parts):
            shown = next(
                (stop for stop in done if not tour.is_sealed(stop.call.model_dump())), done[0]
            )
            yield "constant_reply", shown, f"answers the same to {len(asked)} different calls"


def _find_unresolved(tour: ExplorationRun) -> Iterator[tuple[str, ObservedCall, str]]:
    """Ids of rows that replies show, if no query takes an id of the collection and no reply
    describes one of its rows."""
    queries = [tool for tool in tour.tools.values() if tool.effect == "query"]
    taken = {
        (name, tour.offers.points(tool.name, name))
        for tool in queries
        for name in tool.parameters.get("properties", {})
    }
    names, homes = {name for name, _ in taken}, {home for _, home in taken}
    shown: dict[str, tuple[ObservedCall, str]] = {}
    told = set[str]()
    for stop in tour.stops:
        if stop.seen.outcome != "ok" or stop.before not in tour.states:
            continue
        rows = {row.key: row for row in tour.rows(stop.before)}
        for one in list_objects(stop.seen.parts):
            texts = {value for value in one.values() if isinstance(value, str)}
            for name, value in one.items():
                row = rows.get(value) if isinstance(value, str) else None
                if row is None:
                    continue
                # Another text of the row, next to the id, says what the id means.
                if any(
                    isinstance(part, str) and part in texts and part != row.key
                    for part in row.value.values()
                ):
                    told.add(row.collection)
                if name.endswith("_id") and name not in names:
                    shown.setdefault(row.collection, (stop, name))
    for collection, (stop, name) in shown.items():
        if collection not in homes | told:
            yield (
                "unresolved_id",
                stop,
                f"shows the {name} of a row of {collection}, and no tool tells what stands "
                "behind such an id",
            )


def _is_informative(value: Json) -> bool:
    """Whether a reply contains anything but zeros, `false` and empty values. Without anything else,
    the reply is the same for all callers without records."""
    if is_array(value):
        return any(map(_is_informative, value))
    if is_object(value):
        return any(_is_informative(one) for name, one in value.items() if name != "type")
    return bool(value)
