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
    # No rule says what a reply must contain, so only words and a convention decide.
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
"""Words that give no reason."""
_ENOUGH = 4
"""Number of different arguments for which replies must not be all the same."""


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Finds replies that say nothing, say the same to every call, or describe the program's
    code."""
    exploration = await explore(built, means)
    if not exploration.calls:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    return gather(
        GATE, doubt_replies(GATE, exploration, means), {"replies": len(exploration.calls)}
    )


def doubt_replies(gate: str, exploration: ExplorationRun, means: GateContext) -> list[Finding]:
    """The first reply of each tool and reason that an agent cannot work with."""
    firsts: dict[tuple[str, str], Finding] = {}
    found = (*_find_poor(exploration), *_find_constant(exploration), *_find_unresolved(exploration))
    for finding in exploration.admit((_judge(gate, *poor) for poor in found), means):
        firsts.setdefault((finding.reason, finding.detail.split()[0]), finding)
    return list(firsts.values())


def _judge(gate: str, reason: str, observed: ObservedCall, words: str) -> Finding:
    told = f"{observed.call.name} {words}"
    evidence: Json = {
        "call": observed.call.model_dump(),
        "outcome": observed.seen.outcome,
        **_quote(observed),
    }
    said = (
        observed.seen.message[:300]
        if observed.seen.outcome == "rejection"
        else str(observed.seen.parts)[:300]
    )
    return doubt(gate, reason, told, f"{told}. The reply was: {said} {_ASKED[reason]}", evidence)


def _quote(observed: ObservedCall) -> dict[str, Json]:
    return {
        "answer": observed.seen.parts,
        "code": observed.seen.code,
        "message": observed.seen.message[:600],
    }


def _find_poor(exploration: ExplorationRun) -> Iterator[tuple[str, ObservedCall, str]]:
    for observed in exploration.calls:
        if observed.seen.outcome == "rejection":
            if _reveals_insides(observed.seen.message, observed, exploration):
                yield (
                    "internal_text",
                    observed,
                    f"is refused with the program's insides: {observed.seen.message[:120]!r}",
                )
            elif not _names_a_reason(observed):
                yield (
                    "empty_refusal",
                    observed,
                    f"is refused and not told why: {observed.seen.code!r}, {observed.seen.message[:80]!r}",
                )
        elif observed.seen.outcome == "ok":
            if poor := _find_emptiness(observed, exploration):
                yield "empty_reply", observed, f"is carried out and answers {poor}"
            elif any(
                _reveals_insides(part.get("text", ""), observed, exploration)
                for part in observed.seen.parts
            ):
                yield "internal_text", observed, "answers with the program's insides"


def _reveals_insides(text: str, observed: ObservedCall, exploration: ExplorationRun) -> bool:
    """Whether the text describes the program's code in words of neither the caller nor a record: a
    ticket may be about a KeyError."""
    found = _INTERNAL.search(text)
    if found is None:
        return False
    known = [
        str(value)
        for value in list_scalars(
            [observed.call.arguments, exploration.states.get(observed.before, observed.start)]
        )
    ]
    return not any(found[0] in value for value in known)


def _names_a_reason(observed: ObservedCall) -> bool:
    words = re.findall(r"[^\W_]+", observed.seen.message.casefold())
    return len(words) >= 2 and not set(words) <= _DUMB


def _find_emptiness(observed: ObservedCall, exploration: ExplorationRun) -> str:
    """How a reply is empty; an empty text if it is not. A query may answer with an empty list."""
    if not observed.seen.parts:
        return "nothing"
    (first, *more) = observed.seen.parts
    if more or first.get("type") == "blob":
        return ""
    if first["type"] == "text":
        return "" if first["text"].strip() else "an empty text"
    value = first["value"]
    query = exploration.tools[observed.call.name].effect == "query"
    bare = (
        value is None
        or value == {}
        or (value == [] and not query)
        or (isinstance(value, bool) and not query)
    )
    return f"{value!r} alone" if bare else ""


def _find_constant(exploration: ExplorationRun) -> Iterator[tuple[str, ObservedCall, str]]:
    """Queries that give the same reply, with content, to all arguments."""
    for tool in exploration.tools.values():
        if tool.effect != "query" or not tool.parameters.get("required"):
            continue
        done = [
            observed
            for observed in exploration.of(tool.name)
            if observed.seen.outcome == "ok"
            and observed.why in ("test", "drawn")
            and observed.start is exploration.starts[0]
        ]
        asked = {
            canonical_json(observed.call.arguments)
            for observed in done
            if not observed.moved and observed.before == done[0].before
        }
        told = {
            canonical_json(observed.seen.parts)
            for observed in done
            if observed.before == done[0].before
        }
        if len(asked) >= _ENOUGH and len(told) == 1 and _is_informative(done[0].seen.parts):
            shown = next(
                (
                    observed
                    for observed in done
                    if not exploration.is_sealed(observed.call.model_dump())
                ),
                done[0],
            )
            yield "constant_reply", shown, f"answers the same to {len(asked)} different calls"


def _find_unresolved(exploration: ExplorationRun) -> Iterator[tuple[str, ObservedCall, str]]:
    """Ids of rows that replies show, if no query takes an id of the collection and no reply
    describes one of its rows."""
    queries = [tool for tool in exploration.tools.values() if tool.effect == "query"]
    taken = {
        (name, exploration.offers.points(tool.name, name))
        for tool in queries
        for name in tool.parameters.get("properties", {})
    }
    names, homes = {name for name, _ in taken}, {home for _, home in taken}
    shown: dict[str, tuple[ObservedCall, str]] = {}
    told = set[str]()
    for observed in exploration.calls:
        if observed.seen.outcome != "ok" or observed.before not in exploration.states:
            continue
        rows = {row.key: row for row in exploration.rows(observed.before)}
        for one in list_objects(observed.seen.parts):
            texts = {value for value in one.values() if isinstance(value, str)}
            for name, value in one.items():
                row = rows.get(value) if isinstance(value, str) else None
                if row is None:
                    continue
                # The id's meaning is clear if another text of the row is next to it.
                if any(
                    isinstance(part, str) and part in texts and part != row.key
                    for part in row.value.values()
                ):
                    told.add(row.collection)
                if name.endswith("_id") and name not in names:
                    shown.setdefault(row.collection, (observed, name))
    for collection, (observed, name) in shown.items():
        if collection not in homes | told:
            yield (
                "unresolved_id",
                observed,
                f"shows the {name} of a row of {collection}, and no tool tells what stands "
                "behind such an id",
            )


def _is_informative(value: Json) -> bool:
    """Whether a reply contains anything but zeros, `false` and empty values. Without records, such
    a reply is the same for all callers."""
    if is_array(value):
        return any(map(_is_informative, value))
    if is_object(value):
        return any(_is_informative(one) for name, one in value.items() if name != "type")
    return bool(value)
