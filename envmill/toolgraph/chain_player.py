"""Enacting: carries out a chain on a private copy, step by step. A chain is data; this module
interprets it, and the calls run in the jail.

chain ─► node ─┬─ step:   arguments from the user, one record, or what was seen ─► one call more in an open session ─► seen
               ├─ reason: one of many, how many, how much
               ├─ if:     one arm
               └─ each:   its body, item by item
all calls ─────── once more from the start, in a session of their own ─► answers alike, and the end state
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envmill.base.errors import BuildError
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox, Session
from envmill.toolgraph.parameters import find_type
from envmill.toolgraph.validity import WRITTEN
from schemas.base import Json, is_array, is_object
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    Filling,
    FromItem,
    FromNode,
    FromRecord,
    Loop,
    Node,
    Reason,
    Source,
)
from schemas.environment import Call


@dataclass(frozen=True)
class Enacted:
    """Result of a chain that was carried out."""

    calls: list[Call]
    steps: list[str]
    """Step that made each call."""
    replies: list[Json]
    """Reply to each call."""
    state: dict[str, Json]
    """End state."""
    derived: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    """Reasoning node → its values, one for each time."""


async def enact(
    chain: Chain,
    filling: Filling,
    program: Program,
    reset: Reset,
    sandbox: Sandbox,
    most: int = WRITTEN.most,
) -> Enacted:
    """Raises BuildError with a `reason` if a value has no source, a call is refused, the same calls
    give different replies when repeated, or there are more than `most` of them."""
    async with sandbox.session(program) as session:
        begun = await session.step(reset)
        if begun.outcome != "ok":
            raise _stick("no_start", f"no session starts on this state: {begun.message}")
        walker = _Walker(filling, program, reset, session, most)
        await walker.walk(chain.nodes)
    if not walker.calls:
        raise _stick("no_call", "the chain makes no call")
    _, *again, end = await sandbox.play(program, [reset, *map(Invoke, walker.calls), Look()])
    for step, seen, once_more in zip(walker.made_by, walker.observed, again, strict=True):
        if (seen.parts, seen.state_hash) != (once_more.parts, once_more.state_hash):
            raise _stick("unstable", f"the calls up to {step} do not answer alike twice")
    return Enacted(
        walker.calls,
        walker.made_by,
        [read_reply(one) for one in walker.observed],
        end.state or {},
        walker.derived,
    )


@dataclass
class _Walker:
    """State of a chain while it is carried out: the calls so far and the known values."""

    filling: Filling
    program: Program
    reset: Reset
    session: Session
    most: int
    calls: list[Call] = field(default_factory=list[Call])
    made_by: list[str] = field(default_factory=list[str])
    observed: list[Observation] = field(default_factory=list[Observation])
    known: dict[str, Json] = field(default_factory=dict[str, Json])
    """Node → its value; loop → its current item."""
    over: dict[str, str] = field(default_factory=dict[str, str])
    """Loop → path of its list."""
    derived: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])

    async def walk(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, ChainStep):
                await self._call(node)
            elif isinstance(node, Reason):
                self.known[node.id] = self._derive(node)
                self.derived.setdefault(node.id, []).append(self.known[node.id])
            elif isinstance(node, Branch):
                await self.walk(node.then if self._compare(node) else node.otherwise)
            else:
                await self._repeat(node)

    async def _call(self, step: ChainStep) -> None:
        if len(self.calls) == self.most:
            raise _stick("too_long", f"the chain makes more than {self.most} calls")
        arguments: dict[str, Json] = {}
        for path, source in step.arguments.items():
            put_argument(arguments, path, self._find(source, f"{step.id}.{path}"))
        fit_lists(self.program, step.tool, arguments)
        call = Call(name=step.tool, arguments=arguments, actor=self.program.name_actor(step.tool))
        seen = await self.session.step(Invoke(call))
        if seen.outcome != "ok":
            raise _stick(
                "refused",
                f"{step.id} ({call.name} {arguments}) ended in {seen.outcome} ({seen.code}: "
                f"{seen.message})",
            )
        self.calls.append(call)
        self.made_by.append(step.id)
        self.observed.append(seen)
        self.known[step.id] = read_reply(seen)

    async def _repeat(self, loop: Loop) -> None:
        items = self._find(loop.over, loop.id)
        if not is_array(items) or not items:
            raise _stick(
                "empty_list", f"{loop.id} goes over {loop.over.path!r}, and there is nothing in it"
            )
        self.over[loop.id] = loop.over.path
        for item in items:
            self.known[loop.id] = item
            await self.walk(loop.body)

    def _find(self, source: Source, place: str) -> Json:
        """The value of a source that some node or record has given."""
        if isinstance(source, FromNode):
            return self._take(source.node, source.path)
        if isinstance(source, FromItem):
            return self._take(
                source.loop, cut_item_path(source.path, self.over.get(source.loop, ""))
            )
        if isinstance(source, FromRecord):
            return self._resolve(source)
        said = next(
            (
                one
                for one in (place, f"{place}[]", place.removesuffix("[]"))
                if one in self.filling.said
            ),
            "",
        )
        if not said:
            raise _stick("not_said", f"nobody says what {place} is")
        return self.filling.said[said]

    def _take(self, name: str, path: str) -> Json:
        if name not in self.known:
            raise _stick("not_there_yet", f"{name} has given nothing yet")
        return read_path(self.known[name], path)

    def _resolve(self, source: FromRecord) -> Json:
        held = self.reset.state.get(source.table)
        row = held.get(self.filling.records.get(source.table, "")) if is_object(held) else None
        if not is_object(row) or source.column not in row:
            raise _stick(
                "no_record",
                f"no record is named whose {source.table}.{source.column} could be taken",
            )
        return row[source.column]

    def _derive(self, reason: Reason) -> Json:
        if reason.rule == "choose":
            return self._choose(reason)
        return compute(reason, [self._find(source, reason.id) for source in reason.takes])

    def _choose(self, reason: Reason) -> Json:
        source = reason.takes[0]
        values = self._find(source, reason.id)
        if not is_array(values) or not values:
            raise _stick("empty_list", f"{reason.id} chooses one of nothing")
        pick = self.filling.picks.get(reason.id)
        if pick is None or not isinstance(source, FromNode):
            return values[0]
        told = self._take(source.node, pick.path)
        if not is_array(told) or len(told) != len(values) or pick.equals not in told:
            raise _stick(
                "nothing_chosen",
                f"{reason.id}: of {len(values)} none has {pick.path} {pick.equals!r}",
            )
        return values[told.index(pick.equals)]

    def _compare(self, branch: Branch) -> bool:
        left = self._find(branch.left, branch.id)
        right = branch.right if branch.right is not None else self.filling.said.get(branch.id)
        if branch.op in ("equals", "differs"):
            return (left == right) is (branch.op == "equals")
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise _stick("no_number", f"{branch.id} compares {left!r} with {right!r}")
        return left > right if branch.op == "above" else left < right


def fit_lists(program: Program, tool: str, arguments: dict[str, Json]) -> None:
    """One value where the tool takes a list becomes a list of one."""
    schemas: Mapping[str, Json] = {}
    for one in program.tools:
        if one.name == tool:
            schemas = one.parameters.get("properties", {})
    for name, value in arguments.items():
        if find_type(schemas.get(name, {})) == "array" and not is_array(value):
            arguments[name] = [value]


def compute(reason: Reason, values: Sequence[Json]) -> Json:
    """Value of a reasoning node other than `choose`, computed from the values that it takes."""
    if reason.rule == "compose":
        return " ".join(map(str, values))
    flat = [one for value in values for one in (value if is_array(value) else [value])]
    if reason.rule == "count":
        return len(flat)
    numbers = [one for one in flat if isinstance(one, int | float)]
    if len(numbers) < len(flat) or not numbers:
        raise _stick("no_number", f"{reason.id} is a {reason.rule} of what is no number")
    return sum(numbers) if reason.rule == "total" else numbers[0] - sum(numbers[1:])


def cut_item_path(path: str, over: str) -> str:
    """Path inside the current item of a loop; empty for the item itself."""
    return "" if path == over else path.removeprefix(f"{over}.")


def read_path(value: Json, path: str) -> Json:
    """Value at a path such as `orders[].id`. A path through a list gives a list of all values;
    nested lists are flattened."""
    for place, part in enumerate(one for one in path.split(".") if one):
        name = part.removesuffix("[]")
        if name:
            if not is_object(value) or name not in value:
                raise _stick(
                    "no_output",
                    f"there is no {name!r} in what was answered, so {path!r} leads nowhere",
                )
            value = value[name]
        if part.endswith("[]"):
            if not is_array(value):
                raise _stick("no_output", f"{path!r} goes through a list, and there is none")
            rest = ".".join([one for one in path.split(".") if one][place + 1 :])
            found = [read_path(item, rest) for item in value]
            return [
                each for one in found for each in (one if "[]" in rest and is_array(one) else [one])
            ]
    return value


def read_reply(seen: Observation) -> Json:
    """The reply; several parts become a list."""
    values = [part.get("value", part.get("text")) for part in seen.parts if is_object(part)]
    return values[0] if len(values) == 1 else values


def put_argument(arguments: dict[str, Json], path: str, value: Json) -> None:
    """Set an argument. `order_ids` and `order_ids[]` are the same place. `lines[].id` is a property
    of each object of a list; one value is set in all of them."""
    head, _, rest = path.partition(".")
    name = head.removesuffix("[]")
    if not rest:
        arguments[name] = value
    elif head.endswith("[]"):
        rows = arguments.setdefault(name, [])
        values = value if is_array(value) else [value] * max(1, len(rows))
        rows += [dict[str, Json]() for _ in range(len(values) - len(rows))]
        for row, one in zip(rows, values, strict=False):
            put_argument(row, rest, one)
    else:
        put_argument(arguments.setdefault(name, {}), rest, value)


def _stick(reason: str, message: str) -> BuildError:
    return BuildError(message, reason=reason)
