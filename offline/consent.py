"""What only the person who asks may do: one change of a domain, taken from the agent and told so
wherever the change is spoken of.

domain ─► one of its changes that people ask for ─► theirs: in its description, the policy, the program and every call of it
"""

from collections.abc import Iterable
from dataclasses import replace

from offline.dice import make_dice
from offline.domain import Domain
from schemas.environment import Call

OFTEN = 2
"""One scenario in so many begins with it, where its state permits."""
NOTE = "Only the person who asks can do this; ask them to."


def hand_over(domain: Domain, number: int, seed: int) -> Domain:
    """The domain with one change that is the user's alone; as it is, where nobody asks for any."""
    names = sorted(each.name for each in domain.changes if each.asks and each.tells)
    if not names:
        return domain
    name = make_dice("user_side", domain.theme, number, seed).choice(names)
    each = domain.operations[name]
    mine = replace(each, does=f"{each.does} {NOTE}", actor="user")
    return replace(domain, operations=domain.operations | {name: mine})


def write_consent(domain: Domain) -> str:
    """The sentence of the policy; empty where the agent may do everything."""
    theirs = [
        each.name.replace("_", " ") for each in domain.operations.values() if each.actor != "agent"
    ]
    if not theirs:
        return ""
    return (
        f"One thing only the person who asks can do, and nobody for them: {', '.join(theirs)}. "
        "Ask them to when it is due."
    )


def lead(domain: Domain, steps: list[str], number: int) -> tuple[str, ...]:
    """What the n-th scenario is to begin with: in some, what is the user's to do."""
    theirs = (
        [each.name for each in domain.operations.values() if each.actor != "agent"]
        if number % OFTEN == 0
        else []
    )
    return (*theirs, *(name for name in steps if name not in theirs))


def sign_calls(calls: Iterable[Call], domain: Domain) -> list[Call]:
    """Each with who alone may make it."""
    return [sign_call(call, domain) for call in calls]


def sign_call(call: Call, domain: Domain) -> Call:
    operation = domain.operations.get(call.name)
    return (
        call
        if operation is None or operation.actor == call.actor
        else call.model_copy(update={"actor": operation.actor})
    )
