"""Replies that a session may forge: whatever passes the driver's check has the form and the amounts
that the flow process relies on."""

from typing import Any

import orjson

from envmill.runtime.jail import claims
from envmill.runtime.jail.allowance import DEEPEST, FrameBudget, is_deeper
from envmill.runtime.jail.operations import EMPTY
from envmill.runtime.jail.reading import StateReading
from envmill.runtime.jail.wire import BadFrame, decode
from envmill.runtime.results import read_reply
from envmill.sandbox.plan import Observation
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator, list_places

FULL: dict[str, Any] = EMPTY | {
    "parts": [
        {"type": "text", "text": "a"},
        {"type": "json", "value": {"rows": [{"id": 1, "name": "ü"}, None]}},
        {"type": "blob", "hash": "ab" * 32, "media_type": "a/b", "size": 1, "data": "QQ=="},
    ],
    "code": "refused",
    "message": "No.",
    "state_hash": "0" * 32,
    "state": '{"a":{"r1":{"x":1}},"b":[]}',
    "uses": {"ids": 3, "clock": 1, "randomness": 0},
    "notifications": [{"at": "2026-03-01T09:00:00Z", "actor": "agent", "text": "t"}],
    "delay": 0.5,
    "weather": ["delay"],
    "denied": ["openat"],
}
FRAMES: tuple[Any, ...] = (
    {"seq": 7, "done": True, "observations": [FULL]},
    {
        "seq": 7,
        "done": True,
        "observations": [{"parts": [{"type": "json", "value": {"a": [1, 2.5, "x"]}}]}, {}, FULL],
    },
    {
        "seq": 7,
        "done": False,
        "observations": [
            EMPTY | {"outcome": "rejection", "code": "unknown", "message": "There is none."}
        ],
    },
)


class ClaimsTarget(Target):
    """The driver's end of a session, without its process."""

    def make(self, mutator: Mutator) -> bytes:
        frame = mutator.rng.choice(FRAMES)
        # Most changes in an observation, since a frame of another form is refused at once.
        if mutator.rng.random() < 0.8:
            place = mutator.rng.randrange(len(frame["observations"]))
            changed = mutator.change(frame["observations"][place])
            frame = frame | {
                "observations": [
                    changed if at == place else each
                    for at, each in enumerate(frame["observations"])
                ]
            }
        else:
            frame = mutator.change(frame)
        return mutator.render(frame)

    def play(self, content: bytes) -> str:
        budget = FrameBudget()
        budget.renew()
        try:
            budget.spend(content)
            frame = decode(content)
            if budget.brackets > DEEPEST:
                claims.check_depth(frame["observations"])
            observations = claims.check(frame["observations"], StateReading())
        except (BadFrame, KeyError, TypeError):
            # What JailedProcess.play takes for a forged frame.
            return "refused"
        for observation in observations:
            _demand_bounds(observation)
        return "accepted"


def _demand_bounds(observation: dict[str, Any]) -> None:
    """What the flow process, an export and a trainer do with it, and must be able to."""
    if is_deeper(observation, DEEPEST + 2):
        raise BrokenPromise("an observation deeper than any may be")
    state = observation["state"]
    seen = Observation.read(observation, None if state is None else orjson.loads(state))
    if seen.outcome not in ("ok", "rejection", "failure"):
        raise BrokenPromise(f"an outcome {seen.outcome!r}")
    if (
        len(seen.code) > 80
        or len(seen.message) > 64 * 1024
        or len(seen.state_hash) > 32
        or not 0 <= seen.delay < 1e9
    ):
        raise BrokenPromise("an amount without a bound")
    read_reply(seen.parts)
    orjson.dumps(vars(seen))
    for holder, key in list_places(observation):
        if isinstance(holder[key], int) and not -(2**63) <= holder[key] < 2**64:
            raise BrokenPromise("an integer of more than 64 bits")


def open_target() -> Target:
    return ClaimsTarget()
