"""W11: replies are truthful. A change that answers ok has changed something, a query changes
nothing, and no ok reports a failure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, drop, gather, skip
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.memory import find_program
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.quotes import find_misquote
from envmill.gates.exploring.rows import list_placed, list_rows, list_scalars, list_told
from envmill.gates.exploring.stored_tests import SEED
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Reset
from envmill.sandbox.batches import play_plans
from schemas.base import Json, is_array, is_object
from schemas.database import Table
from schemas.ledger import ReasonClass

GATE = "W11"
CODES: Mapping[str, ReasonClass] = {
    "query_changes": "proof",
    "silent_success": "proof",
    "error_as_result": "proof",
    "stale_answer": "proof",
    "not_kept": "proof",
    # A number that is no attribute may be a limit or a threshold, and need not change anything.
    "silent_amount": "suspicion",
    # Words of a reply may speak of something else than this call.
    "failure_in_words": "suspicion",
    # Not every id of a reply is that of a row: receipts and quotes have numbers of their own.
    "unknown_id": "suspicion",
    # A value may be told in other words, or be another one of a similar name.
    "told_otherwise": "suspicion",
}
_ASKED = {
    "failure_in_words": "Does it say that the call was not carried out?",
    "silent_amount": "The records stayed as they were. Was this call bound to change one of them?",
    "told_otherwise": "Is `{name}` in the reply meant to tell this value of this record, as it is after the "
    "call?",
    "unknown_id": "Is each id in it meant to be found again later by a tool?",
}

_ADMITS = re.compile(
    r"\b(already|no (?:change|action|op)|nothing|none|unchanged|same as|(?:was|were|is|are) not|"
    r"not (?:changed|found)|still|0 \w+)\b",
    re.IGNORECASE,
)
"""Words by which a reply says itself that nothing happened."""
_FAILED = re.compile(
    r"^\s*(?:error|failed|failure|exception|denied|invalid|cannot|could not|unable to|not found)\b",
    re.IGNORECASE,
)
_FLAGS = ("success", "ok", "succeeded")
_ERRORS = ("error", "error_message", "errors", "exception", "failure")
_MINTED = re.compile(r"\d|_")


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Compares every reply of the exploration with the effect of its call."""
    exploration = await explore(built, means)
    if not exploration.calls:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    lies = [
        *_find_lies(exploration, built.environment.tables),
        *await _find_idle(exploration, built, means),
    ]
    firsts: dict[tuple[str, str], Finding] = {}
    for finding in exploration.admit((_judge(*lie, exploration) for lie in lies), means):
        firsts.setdefault((finding.reason, finding.detail.split()[0]), finding)
    done = [observed for observed in exploration.calls if observed.seen.outcome == "ok"]
    evidence: Json = {"answers": len(done), "writes": sum(observed.moved for observed in done)}
    return gather(
        GATE, sorted(firsts.values(), key=lambda one: CODES[one.reason] != "proof"), evidence
    )


def _judge(reason: str, observed: ObservedCall, words: str, exploration: ExplorationRun) -> Finding:
    told = f"{observed.call.name} {words}"
    if CODES[reason] == "proof":
        return drop(GATE, reason, told, _describe(observed, exploration))
    call = f"`{observed.call.name}` with {observed.call.arguments}"
    asked = _ASKED[reason]
    if reason == "told_otherwise" and (misquote := find_misquote(observed, exploration)):
        asked = f"{misquote.observed} {asked.format(name=misquote.name)}"
    asked = f"The reply to {call} was: {str(observed.seen.parts)[:400]} {asked}"
    return doubt(GATE, reason, told, asked, _describe(observed, exploration))


def _describe(observed: ObservedCall, exploration: ExplorationRun) -> Json:
    changes = [change.model_dump() for change in exploration.diff(observed)[:5]]
    return {
        "call": observed.call.model_dump(),
        "after": [one.model_dump() for one in observed.route],
        "answer": observed.seen.parts,
        "changes": changes,
    }


def _find_lies(
    exploration: ExplorationRun, tables: Sequence[Table]
) -> Iterator[tuple[str, ObservedCall, str]]:
    attributes = {
        name for state in exploration.starts for row in list_rows(state) for name in row.value
    }
    for observed in exploration.calls:
        if observed.seen.outcome != "ok" or observed.call.name not in exploration.tools:
            continue
        if failure := _find_failure(observed.seen.parts, attributes):
            yield "error_as_result", observed, f"answers ok and says {failure!r}"
        elif said := _find_failing_words(observed, exploration):
            yield "failure_in_words", observed, f"answers ok and says {said!r}"
        elif exploration.tools[observed.call.name].effect == "query":
            if observed.moved:
                yield "query_changes", observed, "is declared a query and changes the state"
            elif misquote := find_misquote(observed, exploration):
                yield "told_otherwise", observed, f"tells {misquote.words}"
        elif not observed.moved:
            continue
        elif stale := _find_stale(observed, exploration, tables):
            yield "stale_answer", observed, f"answers with {stale} as it was before the change"
        elif lost := _find_lost(observed, exploration):
            reason = "not_kept" if _reads_like_a_row(lost, observed, exploration) else "unknown_id"
            yield reason, observed, f"answers with {lost['id']!r}, which the state does not hold"
        elif misquote := find_misquote(observed, exploration):
            yield "told_otherwise", observed, f"tells {misquote.words}"


def _find_failure(parts: list[Json], attributes: set[str]) -> str:
    """The failure that an ok reply reports at its top level. Rows inside a reply may well have
    failed at something."""
    for part in parts:
        value = part.get("value")
        if is_object(value):
            for flag in _FLAGS:
                if value.get(flag) is False and flag not in attributes:
                    return f"{flag}: false"
            for name in _ERRORS:
                if value.get(name) and name not in attributes and not is_array(value[name]):
                    return f"{name}: {str(value[name])[:80]}"
    return ""


def _find_failing_words(observed: ObservedCall, exploration: ExplorationRun) -> str:
    """A text that begins like a refusal, or a list of errors. A list may report a call that did the
    rest. A text that a query reads from the state does not count."""
    values = [part.get("value") for part in observed.seen.parts if is_object(part.get("value"))]
    reports = [
        f"errors: {value['errors']}"
        for value in values
        if is_array(value.get("errors")) and value["errors"]
    ]
    texts = [part.get("text", "") for part in observed.seen.parts]
    held = () if observed.before not in exploration.states else exploration.words(observed.before)
    return next(iter(reports), "")[:80] or next(
        (
            text[:80]
            for text in texts
            if isinstance(text, str) and _FAILED.match(text) and text not in held
        ),
        "",
    )


async def _find_idle(
    exploration: ExplorationRun, built: EnvironmentCase, means: GateContext
) -> list[tuple[str, ObservedCall, str]]:
    """Changes that answered ok and left the state as it was, although the call gave a value that no
    row holds. An update to the present value asks for nothing, and most services answer it with
    ok."""
    idle = [
        observed
        for observed in exploration.calls
        if observed.seen.outcome == "ok"
        and observed.before
        and not observed.moved
        and _is_change(observed, exploration)
    ]
    idle = [
        observed
        for observed in idle
        if observed.call.arguments
        and not _admits(observed)
        and not _find_failing_words(observed, exploration)
    ]
    unseen = [observed for observed in idle if observed.before not in exploration.states]
    plans = [
        [Reset(observed.start, CLOCK, SEED), *map(Invoke, observed.route), Look()]
        for observed in unseen
    ]
    for observed, seen in zip(
        unseen,
        await play_plans(find_program(built.environment), plans, means.sandbox, in_place=True),
        strict=True,
    ):
        if seen[-1].state is not None and seen[-1].state_hash == observed.before:
            exploration.states.setdefault(observed.before, seen[-1].state)
    looked = [observed for observed in idle if observed.before in exploration.states]
    silent = [
        observed
        for observed in looked
        if not (
            _matches_row(observed, exploration)
            or _asks_for_what_stands(observed, exploration)
            or _denies(observed, exploration)
        )
    ]
    return [lie for observed in silent for lie in _find_unheld(observed, exploration)]


def _is_change(observed: ObservedCall, exploration: ExplorationRun) -> bool:
    return observed.call.name in exploration.tools and not exploration.is_query(observed.call.name)


def _admits(observed: ObservedCall) -> bool:
    """Whether the reply itself says that nothing changed."""
    return bool(
        _ADMITS.search(
            " ".join(value for value in list_scalars(observed.seen.parts) if isinstance(value, str))
        )
    )


def _asks_for_what_stands(observed: ObservedCall, exploration: ExplorationRun) -> bool:
    """Whether a row holds every argument that is named like one of its attributes, at least two.
    Then the state already was as the call asks."""
    for row in exploration.rows(observed.before):
        shared = [
            name
            for name, value in observed.call.arguments.items()
            if name in row.value and not is_array(value)
        ]
        if len(shared) > 1 and all(
            _render(row.value[name]) == _render(observed.call.arguments[name]) for name in shared
        ):
            return True
    return False


def _denies(observed: ObservedCall, exploration: ExplorationRun) -> bool:
    """The answer has a `false` of its own, such as `deleted`: no attribute of a record, so it says
    that nothing was done."""
    attributes = {name for row in exploration.rows(observed.before) for name in row.value}
    told = [part.get("value") for part in observed.seen.parts]
    return any(
        value is False and name not in attributes
        for row in told
        if is_object(row)
        for name, value in row.items()
    )


def _matches_row(observed: ObservedCall, exploration: ExplorationRun) -> bool:
    """Whether the reply shows a row as it is in the state. A reader of the reply then knows the
    truth."""
    rows = {row.key: row.value for row in exploration.rows(observed.before)}
    return any(_is_stored(row, rows) for row in list_told(observed.seen.parts))


def _find_unheld(
    observed: ObservedCall, exploration: ExplorationRun
) -> Iterator[tuple[str, ObservedCall, str]]:
    """The first argument whose value the rows named by the call do not hold. An argument named like
    an attribute should have been stored. Any other number may have been meant to be stored."""
    called = {
        str(value)
        for value in list_scalars(list(observed.call.arguments.values()))
        if isinstance(value, str | int)
    }
    rows, keys = exploration.rows(observed.before), exploration.keys(observed.before)
    named = [row.value for row in rows if row.key in called] or [
        row.value for row in rows if called & {*map(str, row.value.values())}
    ]
    attributes = {name for row in rows for name in row.value}
    asked = [
        pair
        for name, value in observed.call.arguments.items()
        for pair in _list_asked(name.removeprefix("new_"), value)
    ]
    unheld = [
        (name, value)
        for name, value in asked
        if str(value) not in keys and not _is_held(named, name, value)
    ]
    for name, value in unheld:
        if name in attributes:
            yield (
                "silent_success",
                observed,
                f"answers ok to {name}={value!r} and changes nothing, and no row it names holds "
                "that",
            )
            return
    for name, value in unheld:
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and observed.why in ("test", "drawn")
        ):
            yield "silent_amount", observed, f"answers ok to {name}={value!r} and changes nothing"
            return


def _list_asked(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Names and values of the leaves of an argument. An empty value asks for nothing."""
    if is_object(value):
        for part, one in value.items():
            yield from _list_asked(part, one)
    elif is_array(value):
        for one in value:
            yield from _list_asked(name, one)
    elif value is not None and str(value).strip():
        yield name, value


def _is_held(rows: Sequence[Mapping[str, Json]], name: str, value: Json) -> bool:
    """A row has it: under that name where there is an attribute of that name, else anywhere; and of
    an amount, nought is nothing."""
    same = [row[name] for row in rows if name in row]
    held = list_scalars(same or [dict(row) for row in rows])
    return any(_render(one) == _render(value) for one in held) or (
        not same and not value and not isinstance(value, bool)
    )


def _render(value: Json) -> Json:
    """The form in which a value may be stored: texts are trimmed, in one case; amounts are rounded
    to the cent."""
    if isinstance(value, str):
        return value.strip().casefold()
    return value if isinstance(value, bool) or not isinstance(value, float) else round(value, 2)


def _is_stored(told: Mapping[str, Json], rows: Mapping[str, Mapping[str, Json]]) -> bool:
    """Whether a reply shows a row as it is stored. A reader of the reply then knows the truth. If
    the state is not known, the row is believed."""
    stored = rows.get(told["id"], told)
    return all(told.get(name) == value for name, value in stored.items())


def _find_lost(observed: ObservedCall, exploration: ExplorationRun) -> Mapping[str, Json] | None:
    """A row in the reply with an id that neither the state nor the caller has ever named."""
    if not exploration.is_looked_at(observed):
        return None
    return next(
        (
            row
            for row in list_told(observed.seen.parts)
            if _MINTED.search(row["id"]) and not _is_named(row["id"], observed, exploration)
        ),
        None,
    )


def _reads_like_a_row(
    told: Mapping[str, Json], observed: ObservedCall, exploration: ExplorationRun
) -> bool:
    """Whether an object has the attributes of a collection but the values of none of its rows. A
    row with a two-part key is shown under another id."""
    rows = [
        row for row in exploration.rows(observed.after) if told.keys() - {"id"} <= row.value.keys()
    ]
    return (
        len(told) > 2
        and bool(rows)
        and not any(
            all(row.value[name] == told[name] for name in told if name != "id") for row in rows
        )
    )


def _is_named(key: str, observed: ObservedCall, exploration: ExplorationRun) -> bool:
    """Mostly as a row of the state; else somewhere in it, or by the caller."""
    if (
        key in exploration.keys(observed.after)
        or key in exploration.words(observed.after)
        or key in exploration.words(observed.before)
    ):
        return True
    return key in set(map(str, list_scalars(observed.call.arguments)))


def _find_stale(
    observed: ObservedCall, exploration: ExplorationRun, tables: Sequence[Table]
) -> str:
    """An attribute that the call changed and that the reply shows with the old value, in the row of
    that id and under the attribute's own name."""
    sets = [
        change
        for change in exploration.diff(observed)
        if change.op == "set" and len(change.path) == 3
    ]
    placed = list(list_placed(observed.seen.parts, tables))
    # A reader who sees both values, before and after, knows the truth.
    sets = [
        one
        for one in sets
        if not any(
            told == one.path[1] and row.get(one.path[2]) == one.after for _, told, row in placed
        )
    ]
    for home, told, row in placed:
        for change in sets:
            collection, key, name = change.path
            here = told == key and home in ("", collection)
            if here and name in row and row[name] == change.before and row[name] != change.after:
                return f"{name} of {key}"
    return ""
