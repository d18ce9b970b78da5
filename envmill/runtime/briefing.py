"""What an agent is told before the first message."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""English, whatever language the machine is set to."""


def brief(policy_document: str, clock: str) -> str:
    """The policy document, and what day and time it is when the session begins; without that where
    `clock` is empty."""
    return "\n\n".join(filter(None, (policy_document.strip(), _name_time(clock))))


def _name_time(clock: str) -> str:
    try:
        now = datetime.fromisoformat(clock)
    except ValueError:
        return ""  # the session refuses it, and says why
    return f"It is {_DAYS[now.weekday()]}, {now:%Y-%m-%d}, {now:%H:%M}."


def brief_user(contract: Mapping[str, Any]) -> str:
    """What somebody is told who plays the user of a scenario: who they are, what they want, know and
    may do. The contract has no reference path and no verifier."""
    facts, hidden = contract.get("facts", {}), contract.get("hidden", [])
    open_facts = {name: value for name, value in facts.items() if name not in hidden}
    told = {
        "Who you are": contract.get("persona", ""),
        "What you say first": contract.get("opening", ""),
        "What you ask for afterwards, in order": contract.get("later", []),
        "What you want": contract.get("goals", []),
        "What you know": open_facts,
        "What you tell only when asked for it": {
            name: facts[name] for name in hidden if name in facts
        },
        "What you must be told before you do it": contract.get("needs", {}),
        "What you say of anything else": contract.get("fallbacks", {}),
        "When you are satisfied": contract.get("stop", ""),
    }
    lines = [f"{name}: {_render(value)}" for name, value in told.items() if value]
    return "\n".join([*lines, "Your tools are yours alone. Use one when you are told to."])


def _render(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
