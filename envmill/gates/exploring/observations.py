"""What a tour leaves behind: stops, echoes and twins, for gates to read."""

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
    """One call of a tour."""

    call: Call
    """What was asked for."""
    why: Why
    """What it was made for."""
    seen: Observation
    """What came of it."""
    before: str
    """Hash of the state before it."""
    start: Json
    """State its session started from."""
    route: tuple[Call, ...]
    """Calls its session made before."""

    @property
    def after(self) -> str:
        return self.seen.state_hash

    @property
    def moved(self) -> bool:
        """Whether the state is another one than before; unknown counts as no."""
        return bool(self.before and self.after) and self.before != self.after


@dataclass(frozen=True)
class ReadPair:
    """One read asked twice of one state, in two ways that must not matter."""

    way: Literal["written", "turned"]
    """In the session that wrote and in one that starts there, or only with the rows in the other
    order."""
    call: Call
    one: Observation
    other: Observation
    moves: tuple[ObservedCall, ...]
    """The changes that led there."""
    state: Json


@dataclass(frozen=True)
class WritePair:
    """One change made twice on one state: in the session that had come there, and in one that
    starts there."""

    first: ObservedCall
    call: Call
    one: Observation
    other: Observation
    states: tuple[Json, Json]
    """Where the two ended."""


@dataclass(frozen=True)
class HoleTest:
    """A change that adds a row, made again where the row it added stands and another is gone."""

    call: Call
    place: list[str]
    """Collection and key of the row that stands."""
    one: Observation
    states: tuple[Json, Json]
    """Before and after."""


def is_alike(one: Observation, other: Observation) -> bool:
    """The same answer, up to the order of lists: a session keeps its rows as they came, and one
    that starts there as they are serialised."""
    told, heard = (one.outcome, one.code, one.parts), (other.outcome, other.code, other.parts)
    # Most answers are the same without a closer look.
    return told == heard or render_unordered(list(told)) == render_unordered(list(heard))


@dataclass
class ExplorationRun:
    """All that was seen."""

    tools: Mapping[str, Tool]
    offers: Offers
    starts: Sequence[Json]
    calls: list[ObservedCall] = field(default_factory=list[ObservedCall])
    read_pairs: list[ReadPair] = field(default_factory=list[ReadPair])
    write_pairs: list[WritePair] = field(default_factory=list[WritePair])
    hole_tests: list[HoleTest] = field(default_factory=list[HoleTest])
    states: dict[str, Json] = field(default_factory=dict[str, Json])
    """Those that were looked at, by hash."""
    sessions: list[Sequence[ObservedCall]] = field(default_factory=list[Sequence[ObservedCall]])
    """Some that show much: whoever plays them elsewhere should see the same."""
    _by_tool: dict[str, list[ObservedCall]] = field(default_factory=dict[str, list[ObservedCall]])
    _moves: list[ObservedCall] = field(default_factory=list[ObservedCall])
    _known: set[str] = field(default_factory=set[str])
    """Calls of stored tests: their author knows them."""
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
        """What was seen next."""
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
        """Findings that may be told, those of open probes first. The tour itself is always taken
        whole."""
        found = [mark(finding, self.is_sealed(finding.evidence)) for finding in findings]
        return sorted(
            (finding for finding in found if means.admits(finding.sealed)),
            key=lambda finding: finding.sealed,
        )

    def is_sealed(self, told: Json) -> bool:
        """Whether evidence quotes a sealed call: one in four of those that no stored test makes, by
        what is called with which arguments."""
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
        """What a call changed, where both states were looked at."""
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
        """Both states without the rows that are the same to the byte: of many, a call touches
        few."""
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
        """Rows of a state that was looked at."""
        if state_hash not in self._rows:
            self._rows[state_hash] = list(list_rows(self.states[state_hash]))
        return self._rows[state_hash]

    def keys(self, state_hash: str) -> frozenset[str]:
        """Keys of the rows of a state that was looked at."""
        if state_hash not in self._keys:
            self._keys[state_hash] = frozenset(row.key for row in self.rows(state_hash))
        return self._keys[state_hash]

    def words(self, state_hash: str) -> frozenset[str]:
        """Everything a state that was looked at holds, as text: keys, texts, numbers."""
        if state_hash not in self._words:
            self._words[state_hash] = frozenset(map(str, list_scalars(self.states[state_hash])))
        return self._words[state_hash]

    def moves(self, tool: str) -> Iterator[ObservedCall]:
        """Changes of one tool that were answered ok and moved the state."""
        return (observed for observed in self._moves if observed.call.name == tool)

    def is_looked_at(self, observed: ObservedCall) -> bool:
        """Whether the states before and after it are known."""
        return observed.before in self.states and observed.after in self.states

    def writes(self) -> Iterator[ObservedCall]:
        """Changes that were answered ok and moved a state both sides of which are known."""
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
    """Nothing for what no JSON writer takes: a test may hold it."""
    try:
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return b""
