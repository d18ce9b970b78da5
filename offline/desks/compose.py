"""A place of the embedded author: a trade's words make its parts, and the parts make plan,
program, tests, atoms and words."""

import random
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envmill.recipes.drafting.themes import read_desks
from offline.desks.contracts import make_contract
from offline.desks.counter import make_core
from offline.desks.parts import CODE, NAME, SERIAL, DeskMethod, Part
from offline.desks.plain import make_setting, make_store, make_switch
from offline.desks.released import make_order, make_release
from offline.desks.state import FIELDS, make_state
from schemas.dialogue_prompts import AtomsReply, DeskReply, DeskTestsReply, WordsInput, WordsReply
from schemas.prompts import ProgramReply
from schemas.seed import Brief


@dataclass(frozen=True)
class Trade:
    """Words for the parts of one trade's thing."""

    thing: str
    switches: Sequence[str]
    settings: Sequence[tuple[str, str, str]]
    stores: Sequence[tuple[str, str]]
    release: tuple[str, str]
    order: str


TRADES: Mapping[str, Trade] = {
    name: Trade(**{key: value for key, value in words.items() if key != "text"})
    for name, words in read_desks().items()
}


@dataclass(frozen=True)
class Desk:
    """A composed place."""

    brief: Brief
    trade: Trade
    parts: tuple[Part, ...]

    @property
    def methods(self) -> list[DeskMethod]:
        return [method for part in self.parts for method in part.methods]

    @property
    def settings(self) -> list[str]:
        """What the look at the settings tells."""
        return [*self.trade.switches, *(name for name, _, _ in self.trade.settings)]


def compose_desk(brief: Brief) -> Desk:
    """The place of a brief; another number has its parts in another order."""
    trade = TRADES[brief.theme]
    parts = [
        *map(make_switch, trade.switches),
        *(make_setting(*one) for one in trade.settings),
        *(make_store(*one) for one in trade.stores),
        make_release(*trade.release),
        make_order(trade.order),
        make_contract(),
    ]
    if brief.number:
        random.Random(f"{brief.theme}/{brief.number}").shuffle(parts)
    return Desk(brief, trade, (make_core(), *parts))


def write_desk(desk: Desk) -> DeskReply:
    """The plan."""
    user = [method.name for method in desk.methods if method.side == "user"]
    goals = dict[str, list[str]]()
    for part in desk.parts:
        goals.setdefault(part.goal, []).extend(
            method.name for method in part.methods if method.side == "user"
        )
    state = make_state(desk.parts)
    values = "; ".join(
        f"`{name}`: {told}" for part in desk.parts for name, told in part.values.items()
    )
    told: dict[str, Any] = {
        "name": f"{desk.trade.thing} desk".capitalize(),
        "summary": f"Customers have one {desk.trade.thing} each, which the desk keeps on "
        f"file. {values}. `status` of a contract is active or suspended.",
        "collections": {
            **{
                name: {"side": "agent", "attributes": list(FIELDS[name])}
                for name in ("customers", "plans", "cases", "unlocked")
            },
            "devices": {"side": "agent", "attributes": list(next(iter(state["devices"].values())))},
            "unit": {"side": "user", "attributes": list(state["unit"]["unit"])},
        },
        "tools": [_plan(method) for method in desk.methods],
        "couplings": [plan for part in desk.parts for plan, _ in part.couplings],
        "rules": [rule for part in desk.parts for rule in part.rules],
        "clauses": [clause for part in desk.parts for clause in part.clauses],
        "goals": [{"name": name, "needs": needs or user[:1]} for name, needs in goals.items()],
        "personas": [
            {"name": "A shopkeeper in a hurry who writes short sentences."},
            {"name": "A patient owner who is new to such things."},
            {"name": "Somebody who repairs much themselves and says so."},
        ],
    }
    return DeskReply.model_validate(told)


def _plan(method: DeskMethod) -> dict[str, Any]:
    told = {
        "name": method.name,
        "side": method.side,
        "effect": method.effect,
        "description": method.description,
    }
    by = (
        {
            "unlocked_by": {
                "tool": "unlock_tool",
                "arguments": {"tool": method.name},
                "document": "profiles",
            }
        }
        if method.unlocked
        else {}
    )
    return (
        told
        | {"takes": dict(method.takes), "reads": list(method.reads), "writes": list(method.writes)}
        | by
    )


_HEAD = '''"""The desk of a {thing}: records on one side, the thing in the customer's hand on the other."""

from copy import deepcopy

from envmill.runtime import Rejection, actors, coupling, discoverable

PAGES = {pages!r}
SETTINGS = {settings!r}


class {name}:
    def __init__(self, state):
        self.customers = deepcopy(state.get("customers", {{}}))
        self.devices = deepcopy(state.get("devices", {{}}))
        self.plans = deepcopy(state.get("plans", {{}}))
        self.cases = deepcopy(state.get("cases", {{}}))
        self.unlocked = deepcopy(state.get("unlocked", {{}}))
        self.unit = deepcopy(state.get("unit", {{}}))

    def _find(self, collection, key):
        rows = getattr(self, collection)
        if key not in rows:
            raise Rejection("unknown", "No record has this id; look it up first.")
        return rows[key]

    def _find_own(self, customer_id, device_id):
        self._find("customers", customer_id)
        row = self._find("devices", device_id)
        if row["customer_id"] != customer_id:
            raise Rejection("another", "This device belongs to another customer.")
        return row

    def _find_filed(self):
        serial = self.unit["unit"]["serial"]
        return next(row for row in self.devices.values() if row["serial"] == serial)

    def _show(self):
        row = self.unit["unit"]
        if row["seal"] == "broken":
            return "SEAL"
        if row["blocked"]:
            return "BLOCKED"
{faults}
        return "READY"
'''
_TYPES = {"text": "str", "number": "int", "yes_no": "bool"}


def write_program(desk: Desk) -> ProgramReply:
    """The module."""
    pages = {topic: text for part in desk.parts for topic, text in part.pages.items()}
    bad = [(part.bad, f"FAULT {place}") for place, part in enumerate(desk.parts, 1) if part.bad]
    faults = "\n".join(
        f'        if {condition}:\n            return "{word}"' for condition, word in bad
    )
    name = "".join(word.capitalize() for word in desk.trade.thing.split()) + "Desk"
    head = _HEAD.format(
        thing=desk.trade.thing, pages=pages, settings=desk.settings, name=name, faults=faults
    )
    methods = [_write_method(method) for method in desk.methods]
    methods += [_write_coupling(plan, body) for part in desk.parts for plan, body in part.couplings]
    return ProgramReply(source="\n".join([head, *methods]), class_name=name)


def _write_method(method: DeskMethod) -> str:
    marks = ['    @actors("user")\n'] if method.side == "user" else []
    marks += ["    @discoverable\n"] if method.unlocked else []
    taken = "".join(f", {name}: {_TYPES[kind]}" for name, kind in method.takes.items())
    body = textwrap.indent(method.body, "        ")
    return f"{''.join(marks)}    def {method.name}(self{taken}):\n{body}\n"


def _write_coupling(plan: Mapping[str, Any], body: str) -> str:
    return f"    @coupling\n    def _{plan['name']}(self):\n{textwrap.indent(body, '        ')}\n"


def write_tests(desk: Desk) -> DeskTestsReply:
    """Three tests or more for each tool, over a state in which every tool can do something."""
    tests = {tool: list(listed) for part in desk.parts for tool, listed in part.tests.items()}
    return DeskTestsReply.model_validate(
        {"initial_state": make_state(desk.parts, troubled=True), "tests": tests}
    )


def write_atoms(desk: Desk) -> AtomsReply:
    """The healthy state, and every part's faults."""
    atoms = [{"goal": part.goal, **atom} for part in desk.parts for atom in part.atoms]
    return AtomsReply.model_validate(
        {
            "state": make_state(desk.parts),
            "facts": {"name": NAME, "serial number": SERIAL, "support code": CODE},
            "hidden": ["support code"],
            "begins": [
                {"tool": "find_device", "arguments": {"serial": SERIAL}},
                {"tool": "see_display"},
            ],
            "ends": [{"tool": "try_it"}],
            "say": f"Your {desk.trade.thing} works again.",
            "needs": {f"write_{name}": ["value"] for name, _, _ in desk.trade.settings},
            "atoms": atoms,
        }
    )


_GREETINGS = (
    "Hello.",
    "Good morning.",
    "Hi there.",
    "Excuse me.",
    "Hello, I need some help.",
    "Good day to you.",
)
_TELLS = (
    "Here is what I see:",
    "This is what happens.",
    "Since this morning:",
    "I noticed this.",
    "The trouble is this.",
)
_ASKS = (
    "Can you help me?",
    "Please see to it.",
    "What shall I do?",
    "I would like it to work again.",
    "Please go through it with me.",
)


def write_words(asked: WordsInput, seed: int, sample: int) -> WordsReply:
    """One user's words; another number has others."""
    dice = random.Random(f"{asked.brief.theme}/{asked.number}/{seed}/{sample}/{asked.manner}")
    symptoms = [one.rstrip(".") for one in (*asked.symptoms, *asked.handed)]
    dice.shuffle(symptoms)
    told = ", ".join(f"my {name} is {value}" for name, value in asked.facts.items())
    words = " ".join(
        [
            dice.choice(_GREETINGS),
            f"{told[:1].upper()}{told[1:]}.",
            dice.choice(_TELLS),
            *(f"{one}." for one in symptoms),
            dice.choice(_ASKS),
        ]
    )
    questions = (
        "What is your {}?",
        "Could you tell me your {}?",
        "Which {} were you given?",
        "I need your {}, please.",
        "May I have the {}?",
    )
    return WordsReply(
        opening=words,
        goals=[
            *(f"I want this to be over: {one.rstrip('.')}." for one in asked.symptoms),
            *(f"I want to know who deals with this: {one.rstrip('.')}." for one in asked.handed),
        ],
        persona=asked.persona,
        stop="it works again, or I know who takes the case over",
        wordings={name: [one.format(name) for one in questions] for name in asked.hidden},
        fallbacks={"": "I do not know that, I only have the thing before me."},
    )
