"""Faults of the card reader and what mends them, and the scenarios that are composed of them."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from schemas.environment import Call, Environment
from schemas.folder import NOWHERE
from schemas.scenario import Draft, Fact, Polarity, UserContract
from tests.samples.dialogue.policy import READS, WRITES

MERCHANT, SERIAL, SIM, CODE = "M12", "TR-5081", "SIM-7204", "kestrel-41"
CLOCK = "2026-03-02T09:00:00+00:00"
_WITH_VALUES = {"set_access_point": ["name"], "join_wifi": []}
"""Tools of the user with an argument → arguments that they must be told."""
START: dict[str, Any] = {
    "merchants": {
        MERCHANT: {
            "id": MERCHANT,
            "name": "Corner Bakery",
            "serial": SERIAL,
            "code": CODE,
            "balance": 0,
            "private": True,
            "verified": False,
        },
        "M13": {
            "id": "M13",
            "name": "Corner Books",
            "serial": "TR-5090",
            "code": "heron-17",
            "balance": 60,
            "private": False,
            "verified": False,
        },
    },
    "terminals": {
        SERIAL: {
            **{
                "id": SERIAL,
                "merchant_id": MERCHANT,
                "block": "",
                "firmware": "current",
                "keys": "loaded",
                "profile": "there",
            },
            "online": True,
        },
        "TR-5090": {
            **{
                "id": "TR-5090",
                "merchant_id": "M13",
                "block": "",
                "firmware": "old",
                "keys": "expired",
                "profile": "there",
            },
            "online": False,
        },
    },
    "sims": {
        SIM: {"id": SIM, "merchant_id": MERCHANT, "status": "active", "reason": ""},
        "SIM-7205": {
            "id": "SIM-7205",
            "merchant_id": "M13",
            "status": "suspended",
            "reason": "unpaid",
        },
    },
    "payouts": {
        "P1": {"id": "P1", "merchant_id": MERCHANT, "amount": 812},
        "P2": {"id": "P2", "merchant_id": "M13", "amount": 95},
    },
    "handovers": {},
    "unlocked": {},
    "reader": {
        "reader": {
            **{
                "id": "reader",
                "serial": SERIAL,
                "sim": SIM,
                "sim_seated": True,
                "sim_active": True,
                "flight": "off",
                "network": "mobile",
            },
            **{
                "apn": "pay.reader.net",
                "battery": 80,
                "cable": False,
                "paper": "full",
                "lid": "closed",
                "seal": "whole",
                "blocked": False,
            },
            **{
                "keys": "valid",
                "keys_waiting": False,
                "firmware": "current",
                "update_waiting": False,
                "profile": "there",
            },
        }
    },
    "shop": {"shop": {"id": "shop", "wifi_password": "croissant9", "joined": False}},
}


def do(name: str, asks: str = "", /, **arguments: Any) -> Call:
    """A call of whoever has the tool."""
    return Call(
        name=name,
        arguments=arguments,
        actor="user" if name in (*READS, *WRITES) else "agent",
        asks=asks,
    )


@dataclass(frozen=True)
class Atom:
    """One fault."""

    breaks: dict[str, Any]
    """`collection.key.field` → value."""
    fix: Sequence[Call]
    """Calls of both sides that mend it."""
    service: bool = True
    """Whether the reader still has service."""


FIND_SIM = (do("see_label"), do("show_sim", sim_id=SIM))
VERIFY = do("verify_merchant", merchant_id=MERCHANT, code=CODE)
ATOMS: dict[str, Atom] = {
    "flight": Atom(
        {"reader.reader.flight": "on"}, [do("see_signal"), do("leave_flight_mode")], service=False
    ),
    "apn": Atom(
        {"reader.reader.apn": "internet"},
        [
            do("see_network_menu"),
            do("read_document", topic="network"),
            do("set_access_point", name="pay.reader.net"),
        ],
        service=False,
    ),
    "unseated": Atom({"reader.reader.sim_seated": False}, [do("reseat_sim")], service=False),
    "unpaid": Atom(
        {
            f"sims.{SIM}.status": "suspended",
            f"sims.{SIM}.reason": "unpaid",
            "reader.reader.sim_active": False,
            f"merchants.{MERCHANT}.balance": 42,
        },
        [
            do("show_account", merchant_id=MERCHANT),
            *FIND_SIM,
            VERIFY,
            do(
                "take_payment",
                "A balance of 42 euros is open. Shall I collect it from your bank account?",
                merchant_id=MERCHANT,
            ),
            do(
                "resume_sim",
                f"It is paid. Shall I resume the SIM {SIM} now?",
                merchant_id=MERCHANT,
                sim_id=SIM,
            ),
        ],
        service=False,
    ),
    "keys": Atom(
        {"reader.reader.keys": "expired", f"terminals.{SERIAL}.keys": "expired"},
        [
            do("see_key_menu"),
            VERIFY,
            do("authorise_keys", merchant_id=MERCHANT, serial=SERIAL),
            do("load_keys"),
        ],
    ),
    "firmware": Atom(
        {"reader.reader.firmware": "old", f"terminals.{SERIAL}.firmware": "old"},
        [
            do("see_firmware_menu"),
            VERIFY,
            do(
                "release_firmware",
                f"Shall I release the current firmware for the reader {SERIAL}?",
                merchant_id=MERCHANT,
                serial=SERIAL,
            ),
            do("plug_in"),
            do("install_firmware"),
        ],
    ),
    "profile": Atom(
        {"reader.reader.profile": "lost", f"terminals.{SERIAL}.profile": "lost"},
        [
            do("read_document", topic="profiles"),
            do("unlock_tool", tool="restore_profile"),
            VERIFY,
            do("restore_profile", merchant_id=MERCHANT, serial=SERIAL),
        ],
    ),
    "paper": Atom(
        {"reader.reader.paper": "empty"},
        [do("see_paper"), do("open_lid"), do("insert_paper"), do("close_lid")],
    ),
    "fraud": Atom(
        {f"terminals.{SERIAL}.block": "fraud", "reader.reader.blocked": True},
        [do("show_terminal", serial=SERIAL), do("hand_over", serial=SERIAL, team="security")],
    ),
    "seal": Atom(
        {"reader.reader.seal": "broken"},
        [
            do("show_terminal", serial=SERIAL),
            do("see_seal"),
            do("hand_over", serial=SERIAL, team="hardware"),
        ],
    ),
    "lost": Atom(
        {
            f"sims.{SIM}.status": "suspended",
            f"sims.{SIM}.reason": "reported lost",
            "reader.reader.sim_active": False,
        },
        [VERIFY, do("show_account", merchant_id=MERCHANT), *FIND_SIM],
        service=False,
    ),
    "resume": Atom(
        {
            f"sims.{SIM}.status": "suspended",
            f"sims.{SIM}.reason": "unpaid",
            "reader.reader.sim_active": False,
        },
        [
            *(do("show_account", merchant_id=MERCHANT), *FIND_SIM, VERIFY),
            do(
                "resume_sim",
                f"Nothing is due any more. Shall I resume the SIM {SIM}?",
                merchant_id=MERCHANT,
                sim_id=SIM,
            ),
        ],
        service=False,
    ),
}
UNFIXABLE = {"fraud": "security", "seal": "hardware"}
SCENARIOS: dict[str, tuple[str, ...]] = {
    "flight": ("flight", "apn"),
    "unpaid": ("unpaid",),
    "resume": ("resume", "paper"),
    "seal": ("keys", "seal"),
    "firmware": ("firmware",),
    "profile": ("profile",),
    "fraud": ("fraud",),
    "lost": ("lost",),
    "employee": ("paper",),
    "many": ("flight", "unpaid", "apn", "keys", "firmware", "profile"),
}


OPENINGS: dict[str, str] = {
    "flight": f"Hello, this is the Corner Bakery. Our card reader {SERIAL} has had no service since this morning.",
    "unpaid": f"Corner Bakery here. No card goes through on the reader {SERIAL}, it cannot reach the network.",
    "resume": f"I am calling from the Corner Bakery: the reader {SERIAL} is offline, and I think its printer is empty too.",
    "seal": f"Our reader {SERIAL} at the Corner Bakery wants new keys, and now it shows a warning as well. Please get it working.",
    "firmware": f"The reader {SERIAL} of the Corner Bakery asks for an update and takes no cards. Could you see to it?",
    "profile": f"Since the power cut the reader {SERIAL} has forgotten who we are. We are the Corner Bakery.",
    "fraud": f"Corner Bakery, good morning. Reader {SERIAL} refuses every card and says that it is blocked.",
    "lost": f"This is the Corner Bakery. The SIM of our reader {SERIAL} does not work; please switch it on again.",
    "employee": f"The reader {SERIAL} of the Corner Bakery complains about its paper, what shall I do?",
    "many": f"Nothing works on the reader {SERIAL} of the Corner Bakery after it fell. Please go through it with me until it takes cards.",
}


def break_state(names: Sequence[str]) -> dict[str, Any]:
    """The healthy state with these faults."""
    state = deepcopy(START)
    for name in names:
        for place, value in ATOMS[name].breaks.items():
            collection, key, field = place.split(".")
            state[collection][key][field] = value
    state["terminals"][SERIAL]["online"] = all(ATOMS[name].service for name in names)
    return state


def list_path(names: Sequence[str]) -> list[Call]:
    """The reference path: a look at the display, then each fault's own calls, and a payment tried where it can be mended. The caller is
    verified once."""
    mended = not set(names) & {*UNFIXABLE, "lost"}
    calls = [
        do("see_display"),
        do("find_merchant", name="Corner Bakery"),
        *(call for name in names for call in ATOMS[name].fix),
        *([do("try_payment")] if mended else []),
    ]
    return [call for place, call in enumerate(calls) if call not in calls[:place]]


def compose(environment: Environment, title: str, number: int) -> Draft:
    """One scenario."""
    names = SCENARIOS[title]
    team = next((UNFIXABLE[name] for name in names if name in UNFIXABLE), "")
    end, polarity = _end(names, team)
    who = "I only work here, the owner is away. " if title == "employee" else ""
    opening = f"{who}{OPENINGS[title]}"
    path = list_path(names)
    tell = (
        [Fact(name="why the SIM stays suspended", kind="text", value="reported lost", where="last")]
        if "lost" in names
        else []
    )
    return Draft.model_validate(
        {
            **{
                "environment": environment.id,
                "number": number,
                "initial_state": break_state(names),
                "request": opening,
            },
            **{
                "user": describe_user(opening, path),
                "oracle": path,
                "polarity": polarity,
                "clock": CLOCK,
                "seed": 7,
            },
            **{"changes": [], "gold_hash": "", "say": end, "tell": tell, "origin": NOWHERE},
        }
    )


def _end(names: Sequence[str], team: str) -> tuple[str, Polarity]:
    if team:
        return f"I have handed your case over to the {team} team; they will call you.", "achieve"
    if "lost" in names:
        return f"I cannot resume the SIM {SIM}: it was reported lost.", "refuse"
    return "Your reader is ready again.", "achieve"


def describe_user(opening: str, path: Sequence[Call]) -> UserContract:
    """What the merchant knows, and what they can do when told how."""
    asked = {call.name for call in path}
    able = [
        do(name) for name in (*READS, *WRITES) if name not in _WITH_VALUES and name not in asked
    ]
    facts = {"support code": CODE, "wifi password": "croissant9"}
    return UserContract(
        opening=opening,
        facts=facts,
        hidden=["support code"],
        wordings={"support code": ["What is your support code?"]},
        persona="A shopkeeper in a hurry.",
        goals=["The reader takes payments again."],
        stop="the assistant says that the reader is ready, or who takes the case over",
        able=able,
        needs={
            name.replace("_", " "): needed
            for name, needed in _WITH_VALUES.items()
            if needed and name in asked
        },
        reports=list(READS),
    )
