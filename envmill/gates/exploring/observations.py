"""The results of an exploration: observed calls, and pairs of reads and of writes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from zlib import crc32

import orjson

from envmill.gates.base import Finding, GateContext, mark
from envmill.gates.exploring.arguments import Offers
from envmill.gates.exploring.rows import StateRow, list_rows, list_scalars, render_unordered
from envmill.sandbox import Observation
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call, Tool
from schemas.scenario import Change

Why = Literal["test", "drawn", "limit", "odd", "filter", "search", "shared", "read"]


@dataclass(frozen=True)
class ObservedCall:
    """One call of an exploration."""

    call: Call
    why: Why
    """The purpose of the call."""
    seen: Observation
    before: str
    """Hash of the state before the call."""
    start: Json
    """State in which the session started."""
    route: tuple[Call, ...]
    """Earlier calls of the session that changed the state."""

    @property
    def after(self) -> str:
        return self.seen.state_hash

    @property
    def moved(self) -> bool:
        """Whether the call changed the state; false if unknown."""
        return bool(self.before and self.after) and self.before != self.after


@dataclass(frozen=True)
class ReadPair:
    """The same read made twice on one state, under two conditions that must not matter."""

    way: Literal["written", "turned"]
    """`written`: in the session that wrote, and in one that starts from the state. `turned`: with
    the rows in the opposite order."""
    call: Call
    one: Observation
    other: Observation
    moves: tuple[ObservedCall, ...]
    """The changes that led to the state."""
    state: Json


@dataclass(frozen=True)
class WritePair:
    """The same change made twice on one state: in the session that reached the state, and in one
    that starts from it."""

    first: ObservedCall
    call: Call
    one: Observation
    other: Observation
    states: tuple[Json, Json]
    """The two final states."""


@dataclass(frozen=True)
class HoleTest:
    """A change that adds a row, repeated on a state in which that row exists and another one is
    missing."""

    call: Call
    place: list[str]
    """Collection and key of the existing row."""
    one: Observation
    states: tuple[Json, Json]
    """The states before and after the call."""


def is_alike(one: Observation, other: Observation) -> bool:
    """Whether two answers are equal except for the order of lists: a session keeps rows in the
    order they came in, and a start state sorts them."""
    told, heard = (one.outcome, one.code, one.parts), (other.outcome, other.code, other.parts)
    # Most answers are equal as they are.
    return told == heard or render_unordered(list(told)) == render_unordered(list(heard))


@dataclass
class ExplorationRun:
    """Everything that an exploration saw."""

    tools: Mapping[str, Tool]
    offers: Offers
    starts: Sequence[Json]
    calls: list[ObservedCall] = field(default_factory=list[ObservedCall])
    read_pairs: list[ReadPair] = field(default_factory=list[ReadPair])
    write_pairs: list[WritePair] = field(default_factory=list[WritePair])
    hole_tests: list[HoleTest] = field(default_factory=list[HoleTest])
    states: dict[str, Json] = field(default_factory=dict[str, Json])
    """States that were looked at, by hash."""
    sessions: list[Sequence[ObservedCall]] = field(default_factory=list[Sequence[ObservedCall]])
    """Sessions that show much. Other processes must get the same results from them."""
    _by_tool: dict[str, list[ObservedCall]] = field(default_factory=dict[str, list[ObservedCall]])
    _moves: list[ObservedCall] = field(default_factory=list[ObservedCall])
    _known: set[str] = field(default_factory=set[str])
    """Calls of stored tests, which their author knows."""
    _rendered: dict[str, Mapping[tuple[str, str], bytes]] = field(
        default_factory=dict[str, Mapping[tuple[str, str], bytes]]
    )
    _rows: dict[str, Sequence[StateRow]] = field(default_factory=dict[str, Sequence[StateRow]])
    _keys: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    _words: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    _diffs: dict[tuple[str, str], list[Change]] = field(
        default_factory=dict[tuple[str, str], list[Change]]
    )

    def add(self, calls: Sequence[ObservedCall]) -> None:
        for observed in calls:
            self.calls.append(observed)
            if observed.why == "test":
                self._known.update(
                    _render_call(call.name, call.arguments)
                    for call in (*observed.route, observed.call)
                )
            self._by_tool.setdefault(observed.call.name, []).append(observed)
            if (
                observed.seen.outcome == "ok"
                and observed.moved
                and observed.call.name in self.tools
                and self.tools[observed.call.name].effect == "change"
            ):
                self._moves.append(observed)

    def admit(self, findings: Iterable[Finding], means: GateContext) -> list[Finding]:
        """The findings that may be reported, those of open probes first. The exploration itself
        does not depend on this."""
        found = [mark(finding, self.is_sealed(finding.evidence)) for finding in findings]
        return sorted(
            (finding for finding in found if means.admits(finding.sealed)),
            key=lambda finding: finding.sealed,
        )

    def is_sealed(self, told: Json) -> bool:
        """Whether evidence quotes a sealed call: one in four of the calls that no stored test
        makes, by name and arguments."""
        if is_array(told):
            return any(map(self.is_sealed, told))
        if not is_object(told):
            return False
        if told.keys() >= {"name", "arguments"}:
            rendered = _render_call(str(told["name"]), told["arguments"])
            return rendered not in self._known and crc32(rendered.encode()) % 4 == 3
        return any(map(self.is_sealed, told.values()))

    def of(self, tool: str) -> Sequence[ObservedCall]:
        return self._by_tool.get(tool, ())

    def diff(self, observed: ObservedCall) -> list[Change]:
        """What a call changed; empty if one of its states was not looked at."""
        if (
            not observed.moved
            or observed.before not in self.states
            or observed.after not in self.states
        ):
            return []
        pair = observed.before, observed.after
        if pair not in self._diffs:
            self._diffs[pair] = diff_states(*self._leave_out_same(*pair))
        return self._diffs[pair]

    def _leave_out_same(self, before: str, after: str) -> tuple[Json, Json]:
        """Both states without rows whose bytes are equal, because a call touches few rows."""
        left, right = self._render_rows(before), self._render_rows(after)
        alike = {
            place for place, rendered in left.items() if rendered and right.get(place) == rendered
        }
        return _leave_out(self.states[before], alike), _leave_out(self.states[after], alike)

    def _render_rows(self, state_hash: str) -> Mapping[tuple[str, str], bytes]:
        if state_hash not in self._rendered:
            state = self.states[state_hash]
            held = (
                [(name, rows) for name, rows in state.items() if is_object(rows)]
                if is_object(state)
                else []
            )
            self._rendered[state_hash] = {
                (name, key): _render(row) for name, rows in held for key, row in rows.items()
            }
        return self._rendered[state_hash]

    def is_query(self, tool: str) -> bool:
        return tool in self.tools and self.tools[tool].effect == "query"

    def rows(self, state_hash: str) -> Sequence[StateRow]:
        if state_hash not in self._rows:
            self._rows[state_hash] = list(list_rows(self.states[state_hash]))
        return self._rows[state_hash]

    def keys(self, state_hash: str) -> frozenset[str]:
        if state_hash not in self._keys:
            self._keys[state_hash] = frozenset(row.key for row in self.rows(state_hash))
        return self._keys[state_hash]

    def words(self, state_hash: str) -> frozenset[str]:
        """All values of a state as text: keys, texts, numbers."""
        if state_hash not in self._words:
            self._words[state_hash] = frozenset(map(str, list_scalars(self.states[state_hash])))
        return self._words[state_hash]

    def moves(self, tool: str) -> Iterator[ObservedCall]:
        """Successful changes of one tool that changed the state."""
        return (observed for observed in self._moves if observed.call.name == tool)

    def is_looked_at(self, observed: ObservedCall) -> bool:
        """Whether the states before and after the call are known."""
        return observed.before in self.states and observed.after in self.states

    def writes(self) -> Iterator[ObservedCall]:
        """Successful changes whose states before and after are known."""
        return filter(self.is_looked_at, self._moves)


def _leave_out(state: Json, places: Collection[tuple[str, str]]) -> Json:
    if not is_object(state):
        return state
    return {
        name: {key: row for key, row in rows.items() if (name, key) not in places}
        if is_object(rows)
        else rows
        for name, rows in state.items()
    }


def _render_call(name: str, arguments: Json) -> str:
    try:
        return f"{name} {canonical_json(arguments)}"
    except (TypeError, ValueError):  # odd arguments are no JSON at times
        return f"{name} {arguments!r}"


def _render(row: Json) -> bytes:
    """Bytes of a row; empty if it is no JSON, as in some tests."""
    try:
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return b""
