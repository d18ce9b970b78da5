"""The model of a domain: what exists, what may be done to it, and under which conditions.

A TOML file under `data/seeds/domains/` holds one domain in full; `compose` cuts one variation out
of it. Conditions and effects are written in the small language of `formula`.
"""

import ast
import operator
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from pydantic import ConfigDict

from envmill.base.errors import SettingsError
from schemas.environment import Effect, Kind

Row: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, dict[str, Row]]
Arguments: TypeAlias = dict[str, Any]

Number: TypeAlias = int | float

STRICT = ConfigDict(extra="forbid")
GONE = "deleted"
"""Standing of a record that was deleted: it stays, and is not used any more."""
_PLURAL = re.compile(r"(?<![\d.])1 ((?:valid |running )?)([a-z]{3,})s\b")
_SUMS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: lambda a, b: a // b,
}  # fmt: skip
TODAY = date(2026, 3, 2)
"""The day on which sessions start (`kinds.start.CLOCK`): what has happened lies before it, what is
planned after it."""


def spread(low: Number, high: Number, step: Number, index: int) -> Number:
    """The value so many steps above the lowest, which comes round again past the highest; a step of
    0.5 or the like makes decimals."""
    if isinstance(step, float):
        return round(low + step * (index % (int((high - low) / step + 0.001) + 1)), 2)
    return low + step * (index % (int(high - low) // step + 1))


@dataclass(frozen=True)
class Attribute:
    """One column of a collection, and how a first value is found; without a source only operations
    fill it."""

    __pydantic_config__ = STRICT
    one_of: tuple[str, ...] = ()
    unique: bool = False
    between: tuple[Number, Number] | None = None
    step: Number = 1
    """Distance of values; a decimal one makes decimals."""
    pattern: str = ""
    """Each `#` becomes a digit."""
    ref: str = ""
    """Collection whose row it names; the attribute is called `<noun>_id`."""
    day: tuple[int, int] | None = None
    """Date this many days after the session's start."""
    always: str | int | float | None = None
    feature: str = ""


@dataclass(frozen=True)
class Lookup:
    """How somebody who knows what a row is called gets at its id."""

    __pydantic_config__ = STRICT
    call: str
    using: dict[str, str]
    """Argument → attribute of the row looked for."""


@dataclass(frozen=True)
class WriteStep:
    """One statement of a write."""

    __pydantic_config__ = STRICT
    do: str
    feature: str = ""


@dataclass(frozen=True)
class Collection:
    """One kind of thing."""

    __pydantic_config__ = STRICT
    noun: str
    prefixes: tuple[str, ...]
    label: str
    """What people call a row: `{name}`, or `{member.name}` through a reference."""
    lookup: Lookup
    attributes: dict[str, Attribute]
    rows: tuple[int, int] = (0, 0)
    """How many to make at the start; the rest comes from operations."""
    distinct: tuple[str, ...] = ()
    """Attributes that together differ between rows."""
    then: tuple[WriteStep, ...] = ()
    """What sets a first row right once its values are drawn, where one says something of another:
    peas are a legume."""
    feature: str = ""


@dataclass(frozen=True)
class OperationParameter:
    """One argument; exactly one of `row`, `between`, `day`, `text`, `one_of`, `find` says of what
    sort."""

    __pydantic_config__ = STRICT
    name: str
    about: str
    row: str = ""
    between: tuple[Number | str, Number | str] | None = None
    """Lowest and highest value; a string names a limit."""
    step: Number = 1
    """Distance of drawn values; a decimal one makes the parameter a decimal number."""
    day: tuple[int, int] | None = None
    """A date, drawn this many days after the session's start. Compared with other such dates only:
    what `after` makes follows the clock."""
    text: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    find: str = ""
    """`collection.attribute` that is searched."""
    feature: str = ""

    @property
    def local(self) -> str:
        """Name of the row or value inside the operation."""
        return self.name.removesuffix("_id") if self.row else self.name

    @property
    def annotation(self) -> str:
        """Its type in the program."""
        if self.between:
            return "float" if isinstance(self.step, float) else "int"
        return "str"


@dataclass(frozen=True)
class Rule:
    """A precondition; breaking it is an anticipated rejection."""

    __pydantic_config__ = STRICT
    that: str
    code: str
    says: str
    rule: str
    """The rule for people, with limits in braces."""
    feature: str = ""
    optional: bool = False


@dataclass(frozen=True)
class StatusChange:
    """A step in the life cycle of a row: from any of `before` to `after`."""

    __pydantic_config__ = STRICT
    row: str
    before: tuple[str, ...]
    after: str
    feature: str = ""


@dataclass(frozen=True)
class Operation:
    """Something that can be done: a query gives, a change also steps or moves."""

    __pydantic_config__ = STRICT
    does: str
    gives: str
    name: str = ""
    takes: tuple[OperationParameter, ...] = ()
    fetch: tuple[WriteStep, ...] = ()
    must: tuple[Rule, ...] = ()
    moves: tuple[StatusChange, ...] = ()
    then: tuple[WriteStep, ...] = ()
    asks: tuple[str, ...] = ()
    """Imperative clauses a person would use."""
    tells: tuple[str, ...] = ()
    """Whole sentences that say the same as a wish or a fact."""
    weight: int = 3
    feature: str = ""
    optional: bool = False
    actor: str = "agent"
    """Who alone may do it."""

    @property
    def effect(self) -> Effect:
        """Whether it only reads."""
        return "change" if self.then or self.moves else "query"


@dataclass(frozen=True)
class Department:
    """A domain that became part of a larger one."""

    __pydantic_config__ = STRICT
    collections: tuple[str, ...]
    operations: tuple[str, ...]
    server: str = ""
    """Server that it is, where it has tools and tables of its own."""
    people: str = ""
    """Collection of its people, whom the other servers may know."""


@dataclass(frozen=True)
class LedWish:
    """A change that a scenario's path must contain."""

    __pydantic_config__ = STRICT
    operation: str
    ties: tuple[tuple[str, str, str], ...] = ()
    """(argument, earlier change, path in its reply): where its values come from."""
    optional: bool = False
    """Whether a state that does not permit it will do."""


@dataclass(frozen=True)
class Domain:
    """A domain in full, or one variation of it."""

    __pydantic_config__ = STRICT
    theme: str
    text: str
    names: tuple[str, ...]
    role: str
    """Who the agent is."""
    voices: tuple[str, ...]
    """Opening lines of people who ask."""
    limits: dict[str, tuple[Number, ...]]
    features: dict[str, str]
    collections: dict[str, Collection]
    operations: dict[str, Operation]
    rows: int = 0
    """How many rows a scenario's state should hold; 0 leaves it to the collections."""
    calls: int = 0
    """How many calls the reference path of a scenario should have; 0 leaves it to its wishes."""
    doubles: int = 0
    """How many near misses stand beside every row of a scenario's state."""
    kind: Kind = "stateful"
    """What a program of it keeps its state in."""
    parts: tuple[Department, ...] = ()
    """Where several domains were put together."""
    walk: tuple[str, ...] = ()
    """Operations that a scenario begins with, in this order, as far as its state permits them."""
    led: tuple[LedWish, ...] = ()
    """Changes that a scenario's path must contain, in this order."""

    @property
    def departments(self) -> tuple[Department, ...]:
        """What has a past of its own: the parts, or the domain as a whole."""
        return self.parts or (Department(tuple(self.collections), tuple(self.operations)),)

    @property
    def servers(self) -> tuple[Department, ...]:
        """Departments with tools and tables of their own; none where it is one server."""
        return tuple(each for each in self.parts if each.server)

    @property
    def bounds(self) -> dict[str, Number]:
        """Limit → its value, in a variation."""
        return {name: values[0] for name, values in self.limits.items()}

    @property
    def changes(self) -> list[Operation]:
        """Operations that write."""
        return [each for each in self.operations.values() if each.effect == "change"]

    def render_rule(self, rule: Rule) -> str:
        """A rule with its limits filled in; one of a thing is no plural."""
        parts = string.Formatter().parse(rule.rule)
        told = "".join(
            literal
            + ("" if field is None else str(self._work_out(ast.parse(field, mode="eval").body)))
            for literal, field, _, _ in parts
        )
        return _PLURAL.sub(r"1 \1\2", told).replace("1 time.", "once.")

    def _work_out(self, node: ast.expr) -> Number:
        """What limits and numbers come to: people are told "at most 8", never "twice 4"."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id=name):
                return self.bounds[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUMS:
                return _SUMS[type(op)](self._work_out(left), self._work_out(right))
            case _:
                raise SettingsError(
                    f"Domain {self.theme}: a rule cannot hold {ast.unparse(node)!r}. Name limits, "
                    "joined by + - * // alone."
                )

    def bound(self, value: Number | str) -> Number:
        """A number, or the limit of that name."""
        return self.bounds[value] if isinstance(value, str) else value
