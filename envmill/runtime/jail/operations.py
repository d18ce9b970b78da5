"""What a session does for each step it is sent: one function per operation, one literal table.

An operation gets the live session and the step, and answers with the parts of the observation that
differ from EMPTY.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from envmill.runtime.jail.wire import Message
from envmill.runtime.session import Reply, Session

Operation: TypeAlias = Callable[[Session, Message], Message]

EMPTY: Message = {
    "outcome": "ok",
    "parts": [],
    "code": "",
    "message": "",
    "state_hash": "",
    "state": None,
}
"""An observation of which nothing is known yet."""

CONSTRUCTIVE = frozenset(("load", "reset", "restore"))
"""They import and construct the program: they may take longer than a call, and `reset` and
`restore` begin a session."""
LOOKS = frozenset(("state", "changes", "snapshot"))
"""They serialise the whole state: a large one takes longer than a call may."""
SOILED = "soiled"
"""The code with which a used process refuses a construction: its interpreter is not as it was."""
WIDE = LOOKS | {"fetch", "advance"}
"""Their answers may be longer than a reply: states, the bytes of a blob, a thousand
notifications."""
PATIENT = CONSTRUCTIVE | LOOKS
"""They are given more time than a call."""


def load(session: Session, step: Message) -> Message:  # noqa: ARG001
    """Import the program without constructing it."""
    session.inspect()
    return {}


def reset(session: Session, step: Message) -> Message:
    """Construct the program on a state."""
    session.reset(
        step["state"],
        step["clock"],
        step["seed"],
        step.get("weather"),
        step.get("shaken", 0),
        checked=step.get("checked", True),
    )
    return _count({}, session)


def call(session: Session, step: Message) -> Message:
    """Call a tool."""
    reply = session.call(step["name"], step["arguments"], step["actor"])
    # Written out for what nearly every call comes to: of a short call, each function on the way is
    # a twentieth.
    observation: Message = (
        {"parts": reply["parts"]} if len(reply) == 3 and "parts" in reply else read(reply)
    )
    return {**observation, "uses": uses} if (uses := session.drain_uses()) else observation


def advance(session: Session, step: Message) -> Message:
    """Move the virtual clock, and bring what happened meanwhile."""
    return _count(read(session.advance(step["seconds"])), session)


def changes(session: Session, step: Message) -> Message:  # noqa: ARG001
    """What changed since the reset."""
    return {"parts": [{"type": "json", "value": session.changes()}]}


def touched(session: Session, step: Message) -> Message:  # noqa: ARG001
    """Tables read and written since this was last asked."""
    return {"parts": [{"type": "json", "value": session.drain_touched()}]}


def fetch(session: Session, step: Message) -> Message:
    """The bytes of a blob."""
    return read(session.fetch(step["hash"]))


def state(session: Session, step: Message) -> Message:  # noqa: ARG001
    """The whole state, as its canonical text."""
    return {"state": session.serialised_state().decode()}


def snapshot(session: Session, step: Message) -> Message:  # noqa: ARG001
    """Everything needed to come back here, in this process or another."""
    value: Any = session.snapshot()
    return {"parts": [{"type": "json", "value": value}]}


def restore(session: Session, step: Message) -> Message:
    """Come back to a snapshot."""
    session.restore(step["snapshot"])
    return {}


OPERATIONS: dict[str, Operation] = {
    "load": load,
    "reset": reset,
    "call": call,
    "advance": advance,
    "state": state,
    "changes": changes,
    "touched": touched,
    "fetch": fetch,
    "snapshot": snapshot,
    "restore": restore,
}


_BESIDE = ("notifications", "delay", "weather")


def read(reply: Reply) -> Message:
    """A reply of the native interface, as part of an observation."""
    if len(reply) == 3 and reply["ok"]:
        return {"parts": reply.get("parts", [])}
    observation: Message = {
        name: value for name, value in reply.items() if name in _BESIDE and value
    }
    if reply["ok"]:
        return {"parts": reply.get("parts", []), **observation}
    error = reply.get("error", {"code": "", "message": ""})
    return {
        "outcome": reply["outcome"],
        "code": error["code"],
        "message": error["message"],
        **observation,
    }


def _count(observation: Message, session: Session) -> Message:
    """The observation with how often clock, ids and randomness were used for it, when they were."""
    uses = session.drain_uses()
    return {**observation, "uses": uses} if uses else observation
