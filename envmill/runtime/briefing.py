"""What an agent is told before the first message."""

from datetime import datetime

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
