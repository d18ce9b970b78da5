"""Parts of which a thing in a user's hand is made: each with its fields, tools of both sides, couplings, clauses, faults and tests.

words of a trade ──► part ──► fields · methods · couplings · clauses · atoms · tests        any parts go together
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.base import Json

CUSTOMER, DEVICE, PLAN = "customer_7f3a20", "device_2c90b1", "plan_51d0e7"
CODE, SERIAL = "kestrel-41", "TR-5081"
NAME, OTHER = "Corner Bakery", "Corner Books"
OWN = {"customer_id": CUSTOMER, "device_id": DEVICE}
Told = Mapping[str, Any]


@dataclass(frozen=True)
class DeskMethod:
    """A tool and its text."""

    name: str
    effect: str
    description: str
    body: str
    side: str = "user"
    takes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    reads: Sequence[str] = ("unit",)
    writes: Sequence[str] = ()
    unlocked: bool = False


@dataclass(frozen=True)
class Part:
    """What one part adds to a place."""

    goal: str
    methods: Sequence[DeskMethod] = ()
    unit: Mapping[str, Json] = field(default_factory=dict[str, Json], hash=False)
    """Fields of the thing, as they are where all is well."""
    filed: Mapping[str, Json] = field(default_factory=dict[str, Json], hash=False)
    """Fields of its record at the desk."""
    couplings: Sequence[tuple[Told, str]] = ()
    """Plan and body of each."""
    bad: str = ""
    """What holds of `row`, the thing, where this part keeps it from working."""
    pages: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    rules: Sequence[str] = ()
    clauses: Sequence[Told] = ()
    atoms: Sequence[Told] = ()
    tests: Mapping[str, Sequence[Told]] = field(
        default_factory=dict[str, Sequence[Told]], hash=False
    )
    values: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """What each of its fields can hold."""


def do(tool: str, asks: str = "", /, **arguments: Json) -> dict[str, Any]:
    return {
        "tool": tool,
        **({"arguments": arguments} if arguments else {}),
        **({"asks": asks} if asks else {}),
    }


VERIFY = do("verify_customer", customer_id=CUSTOMER, code=CODE)


def verify_first(tool: str) -> dict[str, Any]:
    """The clause that verification comes first."""
    first = {"name": "verify_customer", "arguments": {"customer_id": "$customer"}}
    call = {"name": tool, "arguments": {"customer_id": "$customer"}}
    return {
        "id": f"verify_{tool}",
        "effect": "first",
        "call": call,
        "rows": {"$customer": "customers"},
        "first": first,
    }


def at_unit(name: str, value: Json) -> dict[str, Json]:
    return {"row": "unit/unit", "field": name, "value": value}


def write_field(name: str, value: str | None) -> str:
    told = "value" if value is None else repr(value)
    return f'self.unit["unit"]["{name}"] = {told}\nreturn {{"{name}": {told}}}'


def find_own() -> str:
    return "row = self._find_own(customer_id, device_id)\n"


def find_filed() -> str:
    return 'row = self.unit["unit"]\nfiled = self._find_filed()\n'


def setup_calls(tools: Sequence[str]) -> list[Json]:
    return [[tool, {}] for tool in tools]


def accept(
    setup: Sequence[str] = (), /, *, reply: Json = None, after: Json = None, **arguments: Json
) -> dict[str, Any]:
    told: dict[str, Any] = {"accepts": arguments}
    told |= {"setup": setup_calls(setup)} if setup else {}
    return (
        told
        | ({"reply": reply} if reply is not None else {})
        | ({"after": after} if after is not None else {})
    )


def refuse(**arguments: Json) -> dict[str, Any]:
    return {"refuses": arguments}
