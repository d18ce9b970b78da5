"""Hardness: what an agent must find to follow a reference path, measured from calls and replies.
Decides whether one scenario needs more than another.

calls, replies, words, first state ─► links, depth, picks, near misses, tools ─► levers that show against the easy scenario
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.language.mentions import is_told
from envmill.toolgraph.words import REFERENCES
from schemas.base import Json, is_array, is_object

LEVERS: Mapping[str, str] = {
    "dependency": "One look-up gives a value that the next call needs, two to four times in a row. The "
    "request gives none of these values.",
    "rule": "A rule of the request or of the policy document chooses the record: the agent compares, "
    "excludes or breaks a tie.",
    "near_misses": "Several records differ from the right one in one respect only. The request tells them "
    "apart.",
    "exception": "An exception in the rules or the policy document holds for a record here. It is seen on "
    "the way and changes the plan.",
    "several": "Several records meet a condition. The work is done for all of them and for no other. "
    "The request does not list them.",
    "description": "The request describes a record by what it did or where it stands and does not name it. "
    "A look-up shows it.",
}
"""Lever → what it means, in one or two sentences for planner and author."""
TELL = "tell"
"""Name of the taker of a value that the user must be told."""
_MOST_NEAR = 8
"""Maximal number of near misses that are counted: more rows of the same sort make no scenario
harder."""
_LONG = 3
"""Minimal length of a text that can name a row."""
_NAMES = REFERENCES | {"tag", "label", "subject", "reference", "address"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class PlayedScenario:
    """A scenario whose reference path was carried out."""

    state: Mapping[str, Json]
    """Start state."""
    end: Mapping[str, Json]
    """State after the path."""
    words: str
    """What the person says at once or when asked."""
    calls: Sequence[tuple[str, Mapping[str, Json]]]
    """Tools and arguments, as they were sent."""
    replies: Sequence[Json]
    """Reply of each call."""
    changers: frozenset[str]
    """Tools that change something."""
    shunned: Sequence[tuple[str, Mapping[str, Json]]] = ()
    """Calls that must not be made. Their arguments must be found, too."""
    told: Sequence[Json] = ()
    """Values that the user must be told."""


@dataclass(frozen=True)
class PathHardness:
    """What an agent must find to follow a path."""

    depth: int = 0
    """Length of the longest sequence of calls in which each needs a value from the one before
    it."""
    links: frozenset[tuple[str, str]] = frozenset()
    """Pairs of the tool that gave a value and the parameter that took it. A repeated link counts
    once."""
    picks: int = 0
    """Rows that were chosen from lists of several rows and that the words do not name."""
    worked_out: int = 0
    """Values to tell that neither the words nor any reply contains literally."""
    near: int = 0
    """Rows that the path does not name and that equal a named row in two thirds of their fields."""
    tools: frozenset[str] = frozenset()
    """Tools that changed something, gave a value, or showed a row that the path names."""
    calls: tuple[str, ...] = ()
    """Tool of each call."""

    def describe(self) -> dict[str, Json]:
        """The facts for the dossier and for complaints."""
        return {
            "calls": len(self.calls),
            "depth": self.depth,
            "links": sorted(f"{giver} → {taker}" for giver, taker in self.links),
            "picks": self.picks,
            "worked_out": self.worked_out,
            "near": self.near,
            "tools": sorted(self.tools),
        }


def list_levers(harder: PathHardness, easy: PathHardness) -> list[str]:
    """Levers that take effect: properties that the path of the harder scenario has more of than the
    path of the easy one."""
    more_picks, more_work = harder.picks > easy.picks, harder.worked_out > easy.worked_out
    shown = {
        "dependency": harder.depth > easy.depth or len(harder.links) > len(easy.links),
        "rule": more_picks or more_work,
        "near_misses": harder.near > easy.near,
        "exception": bool(harder.tools - easy.tools),
        "several": more_work or (more_picks and harder.picks > 1),
        "description": more_picks,
    }
    return [name for name, holds in shown.items() if holds]


def measure_path(played: PlayedScenario) -> PathHardness:
    """Measures an executed path: it searches the words and the earlier replies for each value of a
    call."""
    return _Measure(played).take()


class _Measure:
    def __init__(self, played: PlayedScenario) -> None:
        self._played = played
        self._rows = {key: (table, row) for table, key, row in _list_rows(played.state)}
        self._keys = {*self._rows, *(key for _, key, _ in _list_rows(played.end))}
        self._depths: list[int] = []
        self._links: set[tuple[str, str]] = set()
        self._givers: set[int] = set()
        self._picked: dict[_Place, list[Json]] = {}
        """Row of a reply that gave a value → all rows of its list."""

    def take(self) -> PathHardness:
        played = self._played
        for place, (name, arguments) in enumerate(played.calls):
            self._depths.append(1 + self._follow_all(name, arguments, place))
        count = len(played.calls)
        beyond = [self._follow_all(name, arguments, count) for name, arguments in played.shunned]
        told = [self._follow(value, TELL, count) for value in played.told]
        unsaid = [
            value
            for value, depth in zip(played.told, told, strict=True)
            if not depth and not is_told(value, played.words)
        ]
        named = self._list_named()
        return PathHardness(
            depth=max(
                [*self._depths, *(depth + 1 for depth in [*beyond, *told] if depth)], default=0
            ),
            links=frozenset(self._links),
            picks=self._count_picks(),
            worked_out=len(unsaid),
            near=min(_MOST_NEAR, sum(self._is_near(key, named) for key in self._rows)),
            tools=frozenset(
                name
                for place, (name, _) in enumerate(played.calls)
                if self._is_needed(place, name, named)
            ),
            calls=tuple(name for name, _ in played.calls),
        )

    def _follow_all(self, name: str, arguments: Mapping[str, Json], place: int) -> int:
        """The greatest depth of the arguments' sources; 0 if the words say all arguments."""
        return max(
            (
                self._follow(value, f"{name}.{path}", place)
                for path, value in _list_leaves(arguments)
            ),
            default=0,
        )

    def _follow(self, value: Json, taker: str, before: int) -> int:
        """Depth of the first call that gave the value; 0 if the person says it or no earlier reply
        has it."""
        if not self._is_found(value, taker):
            return 0
        for place in range(min(before, len(self._played.replies))):
            if (found := _find_row(self._played.replies[place], value)) is not None:
                path, number, rows = found
                self._links.add((self._played.calls[place][0], taker))
                self._givers.add(place)
                if rows:
                    self._picked.setdefault((place, path, number), rows)
                return self._depths[place]
        return 0

    def _is_found(self, value: Json, taker: str) -> bool:
        """Whether an agent that knows only the words must find the value: it is a key or a text
        that the words do not say. Other numbers occur in many replies by chance, so they count only
        if the user must be told them."""
        if isinstance(value, bool) or value is None or value == "":
            return False
        if not isinstance(value, str) and str(value) not in self._keys and taker != TELL:
            return False
        return not is_told(value, self._played.words)

    def _count_picks(self) -> int:
        """Number of chosen rows that the words do not name, counted in each tool's reply with the
        most of them. The same choice for another named record adds nothing to find."""
        counts = Counter[tuple[int, str]](
            (place, path)
            for (place, path, number), rows in self._picked.items()
            if len(rows) > 1 and not self._is_said(number, rows)
        )
        most = dict[tuple[str, str], int]()
        for (place, path), count in counts.items():
            source = self._played.calls[place][0], path
            most[source] = max(most.get(source, 0), count)
        return sum(most.values())

    def _is_said(self, number: int, rows: list[Json]) -> bool:
        """Whether the words name the row by a value that no other row of its list has. The value
        may be in the row or in a row that it refers to."""
        own, *others = (
            self._join(row) for row in (rows[number], *rows[:number], *rows[number + 1 :])
        )
        for name, value in own.items():
            beside = [other.get(name) for other in others]
            if value in beside or not isinstance(value, str) or len(value) < _LONG:
                continue
            apart = (
                len(beside) > 1
                and len({*map(str, beside)}) == len(beside)
                and not _DAY.match(value)
            )
            if (apart or re.split(r"[^a-z0-9]+", name.lower())[-1] in _NAMES) and is_told(
                value, self._played.words
            ):
                return True
        return False

    def _join(self, row: Json) -> dict[str, Json]:
        """Fields of a row of a reply, and of the rows that it refers to."""
        leaves = dict(_list_leaves(row))
        for name, value in list(leaves.items()):
            if isinstance(value, str) and value in self._rows:
                leaves |= {
                    f"{name}.{field}": held for field, held in _list_leaves(self._rows[value][1])
                }
        return leaves

    def _list_named(self) -> set[str]:
        """Keys of rows in the start state that the path's calls name."""
        arguments = [arguments for _, arguments in (*self._played.calls, *self._played.shunned)]
        values = {str(value) for each in arguments for _, value in _list_leaves(each)}
        rows = {
            value
            for place, rows in self._picked.items()
            for _, value in _list_leaves(rows[place[2]])
            if isinstance(value, str)
        }
        return (values | rows) & self._rows.keys()

    def _is_needed(self, place: int, name: str, named: set[str]) -> bool:
        if name in self._played.changers or place in self._givers:
            return True
        return any(str(value) in named for _, value in _list_leaves(self._played.replies[place]))

    def _is_near(self, key: str, named: set[str]) -> bool:
        if key in named:
            return False
        table, row = self._rows[key]
        return any(
            _is_alike(row, self._rows[other][1]) for other in named if self._rows[other][0] == table
        )


_Place = tuple[int, str, int]
"""A row of a reply: call, path of its list, position in it. The position is 0 if the value is in no
list."""


def _find_row(
    reply: Json, value: Json, path: str = "", number: int = 0, rows: Sequence[Json] = ()
) -> tuple[str, int, list[Json]] | None:
    """Place of a value in a reply: the innermost list of objects around it."""
    if is_object(reply):
        found = (
            _find_row(held, value, f"{path}.{name}", number, rows) for name, held in reply.items()
        )
        return next((one for one in found if one is not None), None)
    if is_array(reply):
        own = reply if all(is_object(one) for one in reply) else rows
        found = (
            _find_row(one, value, f"{path}[]", place if own is reply else number, own)
            for place, one in enumerate(reply)
        )
        return next((one for one in found if one is not None), None)
    return (
        (path.rpartition("[]")[0], number, list(rows))
        if type(reply) is type(value) and reply == value
        else None
    )


def _list_leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    if is_object(value):
        for name, held in value.items():
            yield from _list_leaves(held, f"{path}.{name}" if path else name)
    elif is_array(value):
        for held in value:
            yield from _list_leaves(held, f"{path}[]")
    else:
        yield path, value


def _list_rows(state: Mapping[str, Json]) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    for table, rows in state.items():
        for key, row in rows.items() if is_object(rows) else ():
            if is_object(row):
                yield table, key, row


def _is_alike(row: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Whether two rows are equal in two thirds of their fields other than the key. Rows with at
    most two such fields do not count."""
    names = [name for name in row.keys() & other.keys() if name != "id"]
    same = sum(row[name] == other[name] for name in names)
    return len(names) > 2 and same * 3 >= len(names) * 2
