"""Rehearsal: carries out a sampled chain from a start state. Values come from replies, records,
listed values and stored tests.

chain ─► start state ─► node by node, a few values tried at each call ─┬─ every step done: a chain that can be offered
             ▲                                                         └─ stuck: why
             └──────────────── other values, then another state ────────────┘
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from envmill.base.errors import BuildError
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox, Session
from envmill.toolgraph.chain_player import (
    compute,
    cut_item_path,
    fit_lists,
    put_argument,
    read_path,
    read_reply,
)
from envmill.toolgraph.experience import Experience
from envmill.toolgraph.overlap import list_flows
from envmill.toolgraph.parameters import flatten
from envmill.toolgraph.references import walk_nodes
from envmill.toolgraph.undoing import Columns, PlayedCalls, judge_remainder
from envmill.toolgraph.words import REFERENCES, split_name
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    FromItem,
    FromNode,
    FromRecord,
    FromUser,
    Loop,
    Node,
    Reason,
    Source,
)
from schemas.environment import Call

VALUES = 12
"""Combinations of values that are tried at one call."""
ROUNDS = 2
"""Number of times that each state is tried, with values in another order."""
ITEMS = 12
"""Maximal number of items of a list that a loop goes over."""
_ANY: Mapping[str, Json] = {}
_NAMES = ("name", "title", "number", "code", "reference", "subject", "email")
"""Columns by which people find a record."""


@dataclass(frozen=True)
class RehearsedChain:
    """A chain that was carried out."""

    chain: Chain
    calls: tuple[Call, ...]
    """Calls, as they were made."""
    replies: tuple[Json, ...]
    """Reply to each call."""
    steps: tuple[str, ...]
    """The step that made each call."""
    new: tuple[str, ...] = ()
    """Steps that take a value that exists only through this path, such as the id of a new
    record."""
    undoing: str = ""
    """Step that may undo another one: the two together leave only records of their own."""


async def rehearse_chain(
    chain: Chain,
    program: Program,
    experience: Experience,
    sandbox: Sandbox,
    seed: str,
    loose: Columns = (),
) -> RehearsedChain | tuple[str, str]:
    """The chain as it was carried out, or (reason code, words) of the attempt that made the most
    calls. `loose`: columns that are ignored when two ends are compared."""
    furthest, why = -1, ("no_start_state", "no start state is known")
    async with sandbox.session(program, hashes="none") as session:
        for turn, state in ((turn, state) for turn in range(ROUNDS) for state in experience.states):
            attempt = _Attempt(
                program, session, state, experience, random.Random(f"{seed} {turn}"), loose
            )
            try:
                return await attempt.carry_out(chain)
            except _Stuck as stuck:
                if len(attempt.calls) > furthest:
                    furthest, why = len(attempt.calls), (stuck.reason, str(stuck))
    return why


class _Stuck(Exception):
    """An attempt that cannot continue."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


@dataclass
class _Attempt:
    """One attempt: one start state and one order of values."""

    program: Program
    session: Session
    state: dict[str, Json]
    experience: Experience
    chance: random.Random
    loose: Columns = ()
    calls: list[Call] = field(default_factory=list[Call])
    replies: list[Json] = field(default_factory=list[Json])
    steps: list[str] = field(default_factory=list[str])
    known: dict[str, Json] = field(default_factory=dict[str, Json])
    """Node → its value; loop → its current item."""
    open: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    """Choice that no argument has used yet → its options."""
    records: dict[str, Json] = field(default_factory=dict[str, Json])
    """Table → the row that values are taken from."""
    over: dict[str, str] = field(default_factory=dict[str, str])
    compared: dict[str, Json] = field(default_factory=dict[str, Json])
    """Branch → the value that the user says there."""
    new: list[str] = field(default_factory=list[str])
    carried: dict[tuple[str, str], list[Json]] = field(
        default_factory=dict[tuple[str, str], list[Json]]
    )
    """(step, argument), or (node, position among its inputs) → values that came from an earlier
    node, one for each call."""

    async def carry_out(self, chain: Chain) -> RehearsedChain:
        begun = await self.session.step(Reset(self.state, CLOCK, 0))
        if begun.outcome != "ok":
            raise _Stuck("no_start", f"no session starts on this state: {begun.message}")
        self._there = {value for value in _list_values(self.state) if isinstance(value, str)}
        self._givers = {(flow.step, flow.argument): flow.givers for flow in list_flows(chain)}
        effects = {tool.name: tool.effect for tool in self.program.tools}
        steps = [one.node for one in walk_nodes(chain.nodes) if isinstance(one.node, ChainStep)]
        self._changes = {step.id: effects.get(step.tool) == "change" for step in steps}
        await self._walk(chain.nodes)
        if undone := [step.id for step in steps if step.id not in self.steps]:
            raise _Stuck("not_reached", f"no call of {undone[0]} was made")
        if empty := [
            place for place, values in self.carried.items() if all(map(_is_empty, values))
        ]:
            raise _Stuck(
                "empty_value",
                f"what {empty[0][0]} takes from an earlier node ({empty[0][1]}) is empty",
            )
        whole = await self._play(self.calls)
        if idle := await self._find_idle_change(whole):
            raise _Stuck("idle_change", f"{idle} changes nothing that the others do not change")
        undoing = await self._find_undoing(whole)
        return RehearsedChain(
            chain,
            tuple(self.calls),
            tuple(self.replies),
            tuple(self.steps),
            tuple(dict.fromkeys(self.new)),
            undoing,
        )

    async def _find_idle_change(self, whole: PlayedCalls | None) -> str:
        """A changing step without which the other calls succeed and the end state is the same. No
        request would ask for it."""
        for place, step in enumerate(self.steps):
            if self._changes.get(step):
                rest = await self._play([*self.calls[:place], *self.calls[place + 1 :]])
                if (rest and rest.end) == (whole and whole.end):
                    return step
        return ""

    async def _find_undoing(self, whole: PlayedCalls | None) -> str:
        """A step that may undo another one. If it surely does, the attempt ends, because no request
        asks for both."""
        changing, found = (
            [step for step in dict.fromkeys(self.steps) if self._changes.get(step)],
            "",
        )
        for step, later in combinations(changing, 2) if whole else ():
            gone = self._list_resting({step, later})
            kept = [place for place, one in enumerate(self.steps) if one not in gone]
            rest = await self._play([self.calls[place] for place in kept])
            if (
                not whole
                or not rest
                or self._has_telling_look(gone, dict(zip(kept, rest.replies, strict=True)))
            ):
                continue
            left = judge_remainder(whole, rest, self.steps.index(step), self.loose)
            if left == "none":
                raise _Stuck("undone", f"{later} undoes {step}, and nothing is left to ask for")
            found = found or (later if left == "own" else "")
        return found

    def _list_resting(self, gone: set[str]) -> set[str]:
        """These steps, and all steps that take a value from them."""
        for step in dict.fromkeys(self.steps):
            if any(
                giver in gone
                for (taker, _), givers in self._givers.items()
                if taker == step
                for giver in givers
            ):
                gone = gone | {step}
        return gone

    def _has_telling_look(self, gone: set[str], replies: Mapping[int, Json]) -> bool:
        """Whether some look-up replies differently without these steps. Only look-ups whose values
        no step takes are considered."""
        used = {giver for givers in self._givers.values() for giver in givers}
        looks = [
            (place, step)
            for place, step in enumerate(self.steps)
            if not self._changes.get(step) and step not in used
        ]
        return any(step in gone or replies[place] != self.replies[place] for place, step in looks)

    async def _play(self, calls: Sequence[Call]) -> PlayedCalls | None:
        """None if a call is refused or fails."""
        begun, *seen = [
            await self.session.step(one)
            for one in (
                Reset(self.state, CLOCK, 0),
                Look(),
                *(one for call in calls for one in (Invoke(call), Look())),
            )
        ]
        if any(one.outcome != "ok" for one in (begun, *seen)):
            return None
        return PlayedCalls(
            [one.state for one in seen[::2]], [read_reply(one) for one in seen[1::2]]
        )

    async def _walk(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, ChainStep):
                await self._call(node)
            elif isinstance(node, Reason):
                self._reason(node)
            elif isinstance(node, Branch):
                await self._walk(node.then if self._compare(node) else node.otherwise)
            else:
                await self._repeat(node)

    async def _repeat(self, loop: Loop) -> None:
        items = self._read(loop.over)
        if not is_array(items) or not items:
            raise _Stuck("empty_list", f"{loop.id} goes over an empty list")
        self.over[loop.id] = loop.over.path
        if len(items) > ITEMS:
            raise _Stuck("too_long", f"{loop.id} goes over {len(items)} items, of at most {ITEMS}")
        self._compare_with_some(loop, items)
        for item in items:
            self.known[loop.id] = item
            await self._walk(loop.body)

    def _compare_with_some(self, loop: Loop, items: Sequence[Json]) -> None:
        """Value that the user says at a branch on the items: one that some item has, a different
        one in each attempt."""
        for node in loop.body:
            if (
                isinstance(node, Branch)
                and node.right is None
                and isinstance(node.left, FromItem)
                and node.op in ("equals", "differs")
            ):
                self.known[loop.id] = self.chance.choice(items)
                self.compared[node.id] = self._read(node.left)

    def _reason(self, reason: Reason) -> None:
        if reason.rule == "choose":
            found = self._read(reason.takes[0])
            values = [value for value in found if not _is_empty(value)] if is_array(found) else []
            if not values:
                raise _Stuck("empty_list", f"{reason.id} chooses one of an empty list")
            self.open[reason.id] = self._shuffle(values)
            return
        taken = [self._read(source) for source in reason.takes]
        for place, value in enumerate(taken, 1):
            self.carried.setdefault((reason.id, str(place)), []).append(value)
        try:
            self.known[reason.id] = compute(reason, taken)
        except BuildError as error:
            raise _Stuck(str(error.facts.get("reason", "no_value")), error.message) from error

    def _compare(self, branch: Branch) -> bool:
        left = self._read(branch.left)
        right = branch.right
        if right is None:
            shift = {"above": -1, "below": 1}.get(branch.op, 0)
            likely = left + shift if shift and isinstance(left, int | float) else left
            right = self.compared.setdefault(branch.id, likely)
        if branch.op in ("equals", "differs"):
            return (left == right) is (branch.op == "equals")
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise _Stuck("no_number", f"{branch.id} compares {left!r} with {right!r}")
        return left > right if branch.op == "above" else left < right

    def _read(self, source: Source) -> Json:
        """The current value of a source. An open choice becomes its first option."""
        options = self._list_options(source, "", "")
        if not options:
            raise _Stuck("no_value", "a value has no source")
        if isinstance(source, FromNode) and source.node in self.open:
            self.known[source.node] = self.open.pop(source.node)[0]
        return options[0]

    async def _call(self, step: ChainStep) -> None:
        last = ""
        for chosen in self._combine(step):
            arguments: dict[str, Json] = {}
            for path, value in chosen.items():
                put_argument(arguments, path, value)
            fit_lists(self.program, step.tool, arguments)
            call = Call(
                name=step.tool, arguments=arguments, actor=self.program.name_actor(step.tool)
            )
            seen = await self.session.step(Invoke(call))
            if seen.outcome == "ok":
                self._keep(step, call, chosen, read_reply(seen))
                return
            last = f"{seen.code}: {seen.message}"
            if seen.outcome == "failure":
                break
        raise _Stuck("refused", f"{step.id} ({step.tool}) is refused: {last}")

    def _keep(self, step: ChainStep, call: Call, chosen: Mapping[str, Json], reply: Json) -> None:
        for path, source in step.arguments.items():
            if isinstance(source, FromNode | FromItem):
                self.carried.setdefault((step.id, path), []).append(chosen[path])
            if isinstance(source, FromNode) and self.open.pop(source.node, None) is not None:
                self.known[source.node] = chosen[path]
            if isinstance(source, FromRecord) and source.table not in self.records:
                self.records[source.table] = self._find_row(source, chosen[path])
            if self._is_new(step.id, path, chosen[path]):
                self.new.append(step.id)
        self.calls.append(call)
        self.replies.append(reply)
        self.steps.append(step.id)
        self.known[step.id] = reply

    def _is_new(self, step: str, path: str, value: Json) -> bool:
        """Whether a text comes from the reply to a change and did not exist at the start: an id
        that this path made."""
        changed = any(self._changes.get(giver) for giver in self._givers.get((step, path), ()))
        return changed and any(
            isinstance(one, str) and one not in self._there for one in _list_values(value)
        )

    def _combine(self, step: ChainStep) -> Iterator[dict[str, Json]]:
        """Combinations of values: first those of stored calls, because they belong together; then
        the same with new names where a name may be taken; then each value at random. Within a call,
        a choice or a record has one value."""
        options = {
            path: self._list_options(source, step.tool, path)
            for path, source in step.arguments.items()
        }
        if lacking := [path for path, values in options.items() if not values]:
            raise _Stuck(
                "no_value", f"nothing can be put into {lacking[0]} of {step.tool} ({step.id})"
            )
        for call in (
            self._shuffle(list(self.experience.calls.get(step.tool, ())))[: VALUES // 2]
            if options
            else ()
        ):
            stored = {path: _find_value(call.arguments, path) for path in options}
            chosen = {
                path: stored[path] if stored[path] in values else self.chance.choice(values)
                for path, values in options.items()
            }
            yield self._agree(step, chosen)
            if self._changes.get(step.id):
                yield self._agree(
                    step, {path: self._rename(step, path, value) for path, value in chosen.items()}
                )
        yield self._agree(step, {path: values[0] for path, values in options.items()})
        for _ in range(VALUES):
            yield self._agree(
                step, {path: self.chance.choice(values) for path, values in options.items()}
            )

    def _rename(self, step: ChainStep, path: str, value: Json) -> Json:
        """Replace a text that a person says and that occurs in the state: a new record needs its
        own name or number."""
        if (
            not isinstance(step.arguments[path], FromUser)
            or not isinstance(value, str)
            or value not in self._there
        ):
            return value
        names = split_name(path.removesuffix("[]").rpartition(".")[2])[-1:]
        return (
            f"{value}{self.chance.randrange(10, 100)}" if REFERENCES.intersection(names) else value
        )

    def _agree(self, step: ChainStep, chosen: dict[str, Json]) -> dict[str, Json]:
        first, rows = dict[str, Json](), dict[str, Json]()
        for path, source in step.arguments.items():
            if isinstance(source, FromNode) and source.node in self.open:
                chosen[path] = first.setdefault(source.node, chosen[path])
            elif isinstance(source, FromRecord):
                row = rows.setdefault(
                    source.table,
                    self.records.get(source.table) or self._find_row(source, chosen[path]),
                )
                chosen[path] = row.get(source.column) if is_object(row) else chosen[path]
        return chosen

    def _list_options(self, source: Source, tool: str, path: str) -> list[Json]:
        if isinstance(source, FromItem):
            return [
                self._take(source.loop, cut_item_path(source.path, self.over.get(source.loop, "")))
            ]
        if isinstance(source, FromNode):
            return self.open.get(source.node) or [self._take(source.node, source.path)]
        if isinstance(source, FromRecord):
            row = self.records.get(source.table)
            rows = [row] if is_object(row) else self._list_rows(source.table)
            return self._shuffle([one[source.column] for one in rows if source.column in one])
        return self._list_sayable(tool, path)

    def _take(self, name: str, path: str) -> Json:
        try:
            return read_path(self.known[name], path)
        except (KeyError, BuildError) as error:
            raise _Stuck("no_output", f"{name} gives nothing at {path!r}") from error

    def _list_sayable(self, tool: str, path: str) -> list[Json]:
        """Listed values, values of stored tests, and names by which people find records."""
        schema = _find_schema(self.program, tool, path)
        if choices := schema.get("enum"):
            return self._shuffle(list(choices))
        stored = [
            value
            for call in self.experience.calls.get(tool, ())
            if (value := _find_value(call.arguments, path)) is not None
        ]
        last = path.rpartition(".")[2].removesuffix("[]")
        rows = [row for table in self.state for row in self._list_rows(table)]
        known = [
            row[name]
            for name in (last, *_NAMES)
            for row in rows
            if isinstance(row.get(name), str | int | float)
        ]
        fitting = [
            value
            for value in known
            if isinstance(value, str) is (schema.get("type", "string") == "string")
        ]
        plain: Json = {"boolean": True, "integer": 1, "number": 1.0}.get(
            str(schema.get("type", ""))
        )
        return [
            *self._shuffle(stored),
            *self._shuffle(fitting),
            *([] if plain is None else [plain]),
        ]

    def _list_rows(self, table: str) -> list[dict[str, Json]]:
        held = self.state.get(table)
        return [row for row in held.values() if is_object(row)] if is_object(held) else []

    def _find_row(self, source: FromRecord, value: Json) -> Json:
        return next(
            (row for row in self._list_rows(source.table) if row.get(source.column) == value), None
        )

    def _shuffle(self, values: Sequence[Json]) -> list[Json]:
        found = list({canonical_json(_dump(one)): one for one in values}.values())
        self.chance.shuffle(found)
        return found


def _dump(value: Json) -> Json:
    return value.model_dump() if isinstance(value, Call) else value


def _is_empty(value: Json) -> bool:
    """Whether the value is empty: a date of payment is null in a bill that was just made."""
    if is_object(value) or is_array(value):
        return all(map(_is_empty, value.values() if is_object(value) else value))
    return value is None or (isinstance(value, str) and not value.strip())


def _find_value(arguments: Mapping[str, Json], path: str) -> Json:
    try:
        return read_path(dict(arguments), path)
    except BuildError:
        return None


def _find_schema(program: Program, tool: str, path: str) -> Mapping[str, Json]:
    leaves = (leaf for one in program.tools if one.name == tool for leaf in flatten(one.parameters))
    return next(
        (leaf.schema for leaf in leaves if leaf.path.removesuffix("[]") == path.removesuffix("[]")),
        _ANY,
    )


def _list_values(value: Json) -> Iterator[Json]:
    """All plain values in it, including keys of objects."""
    if is_object(value):
        for key, held in value.items():
            yield key
            yield from _list_values(held)
    elif is_array(value):
        for held in value:
            yield from _list_values(held)
    else:
        yield value
