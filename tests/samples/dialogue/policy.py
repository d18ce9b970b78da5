"""What `dialogue.json` of the card reader says, from which the file is written."""

from typing import Any

AGENT_TOOLS: dict[str, tuple[str, str]] = {
    "find_merchant": ("merchants", ""),
    "show_account": ("merchants", ""),
    "show_terminal": ("terminals", ""),
    "show_sim": ("sims", ""),
    "show_payouts": ("merchants payouts", ""),
    "read_document": ("", ""),
    "unlock_tool": ("", "unlocked"),
    "verify_merchant": ("merchants", "merchants"),
    "take_payment": ("merchants", "merchants"),
    "resume_sim": ("sims", "sims"),
    "suspend_sim": ("sims", "sims"),
    "authorise_keys": ("terminals", "terminals"),
    "release_firmware": ("terminals", "terminals"),
    "restore_profile": ("terminals unlocked", "terminals"),
    "hand_over": ("terminals", "handovers"),
    "take_back": ("handovers", "handovers"),
}
"""Tool → what it reads, what it writes."""
READS = (
    *("see_display", "see_signal", "see_battery", "see_paper", "see_seal", "see_label"),
    *("see_network_menu", "see_key_menu", "see_firmware_menu", "try_payment"),
)
WRITES = (
    *(
        "leave_flight_mode",
        "enter_flight_mode",
        "reseat_sim",
        "set_access_point",
        "use_mobile",
        "use_wifi",
        "join_wifi",
    ),
    *(
        "plug_in",
        "unplug",
        "insert_paper",
        "open_lid",
        "close_lid",
        "load_keys",
        "install_firmware",
    ),
)
CHANGES = {name for name, (_, writes) in AGENT_TOOLS.items() if writes} | set(WRITES)


def _call(name: str, actor: str = "agent", **arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "actor": actor}


def _clause(
    name: str, effect: str, call: dict[str, Any], rows: str = "", **rest: Any
) -> dict[str, Any]:
    variable, _, collection = rows.partition(" ")
    return {
        "id": name,
        "effect": effect,
        "call": call,
        **({"rows": {variable: collection}} if rows else {}),
        **rest,
    }


def _at(row: str, field: str, value: Any, op: str = "is") -> dict[str, Any]:
    return {"on": "state", "row": row, "field": field, "op": op, "value": value}


MERCHANT, TERMINAL, SIM = "$merchant merchants", "$terminal terminals", "$sim sims"
_VERIFY = _call("verify_merchant", merchant_id="$merchant")
CLAUSES = [
    *(
        _clause(
            f"verify_{name}", "first", _call(name, merchant_id="$merchant"), MERCHANT, first=_VERIFY
        )
        for name in (
            "take_payment",
            "resume_sim",
            "authorise_keys",
            "release_firmware",
            "restore_profile",
        )
    ),
    _clause("ask_resume", "confirm", _call("resume_sim"), names=["sim_id"]),
    _clause("ask_payment", "confirm", _call("take_payment")),
    _clause("ask_firmware", "confirm", _call("release_firmware"), names=["serial"]),
    _clause(
        "unpaid_alone",
        "allow",
        _call("resume_sim", sim_id="$sim"),
        SIM,
        when=[_at("$sim", "reason", "unpaid")],
    ),
    _clause(
        "pay_first",
        "first",
        _call("resume_sim", merchant_id="$merchant"),
        MERCHANT,
        when=[_at("$merchant", "balance", 1, "at_least")],
        first=_call("take_payment", merchant_id="$merchant"),
    ),
    _clause(
        "say_balance",
        "say",
        _call("take_payment", merchant_id="$merchant"),
        MERCHANT,
        when=[_at("$merchant", "balance", 1, "at_least")],
        told={"row": "$merchant", "field": "balance"},
    ),
    _clause(
        "look_at_file",
        "first",
        _call("hand_over", serial="$terminal"),
        TERMINAL,
        first=_call("show_terminal", serial="$terminal"),
    ),
    _clause(
        "fraud_desk",
        "hand_over",
        _call("hand_over", serial="$terminal", team="security"),
        TERMINAL,
        when=[_at("$terminal", "block", "fraud"), _at("reader/reader", "seal", "broken", "is_not")],
    ),
    _clause(
        "seal_seen", "first", _call("hand_over", team="hardware"), first=_call("see_seal", "user")
    ),
    _clause(
        "seal_desk",
        "hand_over",
        _call("hand_over", team="hardware"),
        when=[_at("reader/reader", "seal", "broken")],
    ),
    _clause(
        "no_keys_after",
        "forbid",
        _call("authorise_keys"),
        when=[{"on": "call", "call": _call("hand_over")}],
    ),
    _clause(
        "private",
        "forbid",
        _call("show_payouts", merchant_id="$merchant"),
        MERCHANT,
        when=[_at("$merchant", "private", True)],
    ),
    _clause(
        "owner_alone",
        "forbid",
        _call("show_account"),
        when=[{"on": "words", "words": ["not the owner", "only work here"]}],
    ),
]
GOALS = {
    "the reader takes payments again": ["see_display", "try_payment"],
    "the reader has service again": [
        *(
            "see_signal",
            "leave_flight_mode",
            "enter_flight_mode",
            "reseat_sim",
            "set_access_point",
            "see_network_menu",
        ),
        *("use_mobile", "use_wifi", "join_wifi", "see_label", "resume_sim"),
    ],
    "the reader has valid keys again": ["see_key_menu", "load_keys", "authorise_keys"],
    "the reader has the current firmware": [
        "see_firmware_menu",
        "see_battery",
        "plug_in",
        "unplug",
        "install_firmware",
    ],
    "the reader prints again": ["see_paper", "open_lid", "insert_paper", "close_lid"],
}


def render_dialogue() -> dict[str, Any]:
    """The file as JSON."""
    reads: dict[str, Any] = {name: {"reads": ["reader", "shop"]} for name in READS}
    writes: dict[str, Any] = {
        name: {"reads": ["reader", "shop"], "writes": ["reader"]} for name in WRITES
    }
    writes["join_wifi"] = {"reads": ["shop"], "writes": ["shop"]}
    desk = {
        name: {"reads": read.split(), "writes": written.split()}
        for name, (read, written) in AGENT_TOOLS.items()
    }
    return {
        "sides": {
            **dict.fromkeys(
                ("merchants", "terminals", "sims", "payouts", "handovers", "unlocked"), "agent"
            ),
            **dict.fromkeys(("reader", "shop"), "user"),
        },
        "user_tools": [*READS, *WRITES],
        "touches": {**desk, **reads, **writes},
        "couplings": [
            {"name": "service_follows_sim", "reads": ["sims"], "writes": ["reader"]},
            {"name": "block_follows_file", "reads": ["terminals"], "writes": ["reader"]},
            {"name": "keys_follow_order", "reads": ["terminals"], "writes": ["reader"]},
            {"name": "update_follows_release", "reads": ["terminals"], "writes": ["reader"]},
            {"name": "profile_follows_file", "reads": ["terminals"], "writes": ["reader"]},
            {"name": "file_follows_reader", "reads": ["reader", "shop"], "writes": ["terminals"]},
        ],
        "discoverable": {
            "restore_profile": {
                "by": _call("unlock_tool", tool="restore_profile"),
                "document": "profiles",
            }
        },
        "clauses": CLAUSES,
        "goals": [{"name": name, "needs": needs} for name, needs in GOALS.items()],
        "personas": [
            {"name": "A shopkeeper in a hurry."},
            {"name": "A patient owner who is new to such things."},
        ],
    }
