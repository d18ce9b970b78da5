"""W8: every tool succeeds at least once, every declared write changes something, and every query
answers. Tables are used as declared."""

from collections.abc import Mapping
from dataclasses import replace

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, drop, gather, skip
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun
from envmill.gates.exploring.rows import list_rows
from envmill.gates.exploring.table_touches import TouchMismatch, find_untrue
from envmill.kinds.sql.servers import list_foreign
from schemas.base import Json, is_array, is_object
from schemas.environment import Tool
from schemas.ledger import ReasonClass

GATE = "W8"
CODES: Mapping[str, ReasonClass] = {
    # A stored test shows a use of the tool. The call succeeded and changed nothing.
    "never_changes": "proof",
    "undeclared_write": "proof",
    # A call read or wrote the table, so the servers' states are not separate.
    "foreign_table": "proof",
    # A condition that no stored test reaches may be the reason.
    "never_succeeds": "suspicion",
    "never_answers": "suspicion",
    "change_not_seen": "suspicion",
    "write_not_seen": "suspicion",
    # The program's behaviour decides which tables are read, so the observed tables replace the
    # declared ones.
    "undeclared_read": "bookkeeping",
}

_ENOUGH = 24
"""Number of distinct calls with existing arguments after which a tool that never succeeded counts
as one that cannot succeed."""


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """A tool that never succeeded is a fault if valid arguments could be built, and unknown if they
    could not."""
    exploration = await explore(built, means)
    if not exploration.calls:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    silent = {
        tool.name: fault
        for tool in exploration.tools.values()
        if (fault := _find_silence(tool, exploration))
    }
    evidence: Json = {
        "tools": len(exploration.tools),
        "silent": silent,
        "calls": {name: len(exploration.of(name)) for name in silent},
    }
    faults = {name: fault for name, fault in silent.items() if fault != "not_exercised"}
    found = [
        _describe_silence(name, fault, exploration, evidence) for name, fault in faults.items()
    ]
    untrue, touched = await find_untrue(built, exploration, means)
    shared = built.environment.shared
    found += [
        _judge_touch(_name_foreign(one, list_foreign(one.tool, one.tables, shared)), touched)
        for one in untrue
    ]
    if any(one.outcome == "dropped" for one in found):
        return gather(GATE, sorted(found, key=lambda one: _ORDER.index(CODES[one.reason])))
    if silent:
        named = ", ".join(silent)
        words = (
            f"no valid arguments could be built for {named}: a test that succeeds would show how"
        )
        found = [skip(GATE, "not_exercised", words, evidence), *found]
    return gather(GATE, found, evidence | ({"touched": touched} if touched else {}))


_ORDER: tuple[ReasonClass, ...] = ("proof", "suspicion", "bookkeeping")


def _describe_silence(
    name: str, fault: str, exploration: ExplorationRun, evidence: Json
) -> Finding:
    words = (
        f"{name}: {_WORDS[fault]} in {len(exploration.of(name))} calls; {_quote(exploration, name)}"
    )
    if CODES[fault] == "proof":
        return drop(GATE, fault, words, evidence)
    return doubt(
        GATE,
        fault,
        words,
        _ASKED[fault].format(name=name, quote=_quote(exploration, name)),
        evidence | {"fault": "test", "tool": name},
    )


def _name_foreign(one: TouchMismatch, foreign: list[str]) -> TouchMismatch:
    """Tables of another server never belong to the tool, declared or not."""
    if one.reason == "write_not_seen" or not foreign:
        return one
    words = f"{one.tool} touches {', '.join(foreign)}, of another server"
    return replace(one, reason="foreign_table", tables=foreign, words=words)


def _judge_touch(one: TouchMismatch, touched: Json) -> Finding:
    """An undeclared write is a proof. A declared write that was not seen is a matter for the tests.
    A wrong declaration of reads is corrected."""
    evidence: Json = {"tool": one.tool, "tables": one.tables, "touched": touched}
    if one.reason == "write_not_seen":
        asked = (
            f"Do the rules and the description of `{one.tool}` leave no case in which it changes "
            f"{' or '.join(one.tables)}?"
        )
        tried = f"{one.words}: a stored test in which it does would show it"
        return doubt(
            GATE, one.reason, tried, asked, evidence | {"fault": "test", "tried": one.tried}
        )
    found = drop(GATE, one.reason, one.words, evidence)
    return replace(found, outcome="corrected") if CODES[one.reason] == "bookkeeping" else found


_ASKED = {
    "never_succeeds": "Do the rules allow some call of `{name}` on these rows? Each that was tried was "
    "refused, for example with {quote}",
    "never_answers": "Do these rows hold something that `{name}` should tell of? Each call that was tried "
    "told of nothing.",
    "change_not_seen": "Should `{name}` have changed something in some call that these rows allow? Each call "
    "that was carried out may have "
    "had nothing to change: an empty list, a value that is already there. A refused one ended "
    "with {quote}",
}
_WORDS = {
    "never_succeeds": "was never carried out",
    "never_changes": "was carried out and never changed anything",
    "never_answers": "never told of a row",
    "change_not_seen": "was carried out and never changed anything, but no stored test shows a use of it,",
}


def _find_silence(tool: Tool, exploration: ExplorationRun) -> str:
    calls = exploration.of(tool.name)
    done = [observed for observed in calls if observed.seen.outcome == "ok"]
    if not done:
        tried = {
            str(observed.call.arguments) for observed in calls if observed.why in ("test", "drawn")
        }
        return (
            "never_succeeds"
            if _could_be_valid(tool, exploration) and len(tried) >= _ENOUGH
            else "not_exercised"
        )
    if tool.effect == "change":
        if any(observed.moved for observed in done):
            return ""
        return (
            "never_changes"
            if any(observed.why == "test" for observed in done)
            else "change_not_seen"
        )
    return (
        ""
        if any(_is_informative(observed.seen.parts) for observed in done)
        or not _has_rows(exploration)
        else "never_answers"
    )


def _could_be_valid(tool: Tool, exploration: ExplorationRun) -> bool:
    """Whether each required id is known to name existing rows."""
    asked = [name for name in tool.parameters.get("required", ()) if name.endswith("id")]
    return all(exploration.offers.points(tool.name, name) for name in asked)


def _has_rows(exploration: ExplorationRun) -> bool:
    return any(True for state in exploration.starts for _ in list_rows(state))


def _is_informative(parts: list[Json]) -> bool:
    return any(part.get("text", "").strip() or not _is_empty(part.get("value")) for part in parts)


def _is_empty(value: Json) -> bool:
    if is_array(value):
        return all(map(_is_empty, value))
    if is_object(value):
        return not value or all(_is_empty(one) for one in value.values())
    return value is None or value == ""


def _quote(exploration: ExplorationRun, name: str) -> str:
    refused = next(
        (observed.seen for observed in exploration.of(name) if observed.seen.outcome != "ok"), None
    )
    return f"{refused.code}: {refused.message[:160]}" if refused else "it answered ok each time"
