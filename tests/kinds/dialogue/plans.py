"""A small plan of a dialogue, right as it stands, and what changes a part of it."""

from typing import Any

from envmill.kinds.dialogue.plan import ClauseScope, find_dialogue_faults
from envmill.kinds.dialogue.wording import render_policy
from schemas.dialogue import Dialogue, PolicyClause

COLLECTIONS = {
    "lines": ["id", "status", "reason", "fee"],
    "tickets": ["id", "line_id", "team"],
    "phones": ["id", "signal", "airplane"],
    "notices": ["id", "text"],
}
TOOLS: dict[str, list[str]] = {
    "show_line": ["line_id"],
    "verify": ["line_id", "code"],
    "resume": ["line_id"],
    "hand_over": ["line_id", "team"],
    "see_signal": [],
    "set_airplane": ["on"],
}
CHANGES = frozenset(("verify", "resume", "hand_over", "set_airplane"))


def call(name: str, actor: str = "agent", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "actor": actor, "arguments": arguments}


def at(field: str, value: Any, op: str = "is", row: str = "$line") -> dict[str, Any]:
    return {"on": "state", "row": row, "field": field, "op": op, "value": value}


def clause(name: str, effect: str, about: dict[str, Any], **rest: Any) -> PolicyClause:
    rows = {"$line": "lines"} if "$line" in str([about, rest]) else {}
    return PolicyClause.model_validate(
        {"id": name, "effect": effect, "call": about, "rows": rows, **rest}
    )


RESUME = call("resume", line_id="$line")
CLAUSES = [
    clause("verify_first", "first", RESUME, first=call("verify", line_id="$line")),
    clause("ask_first", "confirm", RESUME, names=["line_id"]),
    clause("paid_only", "allow", RESUME, when=[at("reason", "payment")]),
    clause(
        "look_at_phone",
        "first",
        RESUME,
        when=[at("fee", 50, "below")],
        first=call("see_signal", "user"),
    ),
    clause(
        "fraud",
        "hand_over",
        call("hand_over", line_id="$line", team="security"),
        when=[at("reason", "fraud")],
    ),
    clause(
        "tell_fee",
        "say",
        RESUME,
        when=[at("fee", 1, "at_least")],
        told={"row": "$line", "field": "fee"},
    ),
    clause("no_second", "forbid", call("hand_over"), when=[{"on": "call", "call": call("resume")}]),
]
SCOPE = ClauseScope(COLLECTIONS, TOOLS, CHANGES)
GOAL = {"name": "the phone works again", "needs": ["resume", "set_airplane", "see_signal"]}
PLAN: dict[str, Any] = {
    "sides": {"lines": "agent", "tickets": "agent", "phones": "user", "notices": "user"},
    "user_tools": ["see_signal", "set_airplane"],
    "touches": {
        "show_line": {"reads": ["lines"]},
        "verify": {"reads": ["lines"], "writes": ["lines"]},
        "resume": {"reads": ["lines"], "writes": ["lines"]},
        "hand_over": {"writes": ["tickets"]},
        "see_signal": {"reads": ["phones"]},
        "set_airplane": {"writes": ["phones"]},
    },
    "couplings": [{"name": "signal_follows", "reads": ["lines"], "writes": ["phones"]}],
    "clauses": [one.model_dump() for one in CLAUSES],
    "goals": [GOAL],
    "personas": [{"name": "hurried"}],
}


def find_faults(document: str = "", *clauses: PolicyClause, **changes: Any) -> list[str]:
    """Faults of the plan with some fields changed, and some clauses more."""
    plan = Dialogue.model_validate(PLAN | changes)
    plan = plan.model_copy(update={"clauses": [*plan.clauses, *clauses]})
    return find_dialogue_faults(plan, SCOPE, document)


def render(*more: PolicyClause) -> str:
    return render_policy([*CLAUSES, *more])
