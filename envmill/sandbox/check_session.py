"""A hearing: generated checks and the ending they are asked about, as the judge zygote gets them,
and what they said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import orjson

from envmill.base.errors import BuildError
from envmill.runtime.jail.judging import pack_state
from envmill.sandbox.plan import Observation
from schemas.base import Json, digest, is_object

_NOTHING_DONE: Json = {"calls": [], "said": []}


@dataclass(frozen=True)
class CheckReply:
    """What one check said."""

    holds: bool | None
    """Whether it holds; None when it said nothing that counts."""
    code: str = ""
    """Why it said nothing: crash, timeout, killed, mutates, bad_verdict, build, session_lost."""
    message: str = ""
    """The same in words."""


@dataclass(frozen=True)
class CheckSession:
    """One verdict's worth of generated checks. Nothing of it ever enters a process that runs tools,
    and no check meets another."""

    sources: Sequence[str]
    """Text of each check: a file that defines `check(initial, final) -> bool`, or `check(initial,
    final, rollout) -> bool`."""
    initial: Json | bytes
    """State at the start; bytes are those of a SQLite file, and the checks get its rows by
    table."""
    final: Json | bytes
    """State at the end."""
    clock: str
    """What the checks take for the present time, ISO 8601 UTC."""
    seed: int = 0
    """Seed of what the checks take for chance."""
    rollout: Json = field(default_factory=lambda: _NOTHING_DONE)
    """What was done and said, for checks that ask: `{"calls": [{name, arguments, actor, outcome,
    code, parts}], "said": [text]}`."""

    @cached_property
    def message(self) -> dict[str, Json]:
        """The checks as a program of the judge zygote; its hash keys the templates."""
        content: dict[str, Json] = {
            "files": {f"{_name(place)}.py": text for place, text in enumerate(self.sources)},
            "entry": f"{_name(0)}:",
            "tools": [],
        }
        return {"hash": digest({"flavour": "judge", **content}), **content}

    def plans(self) -> list[list[dict[str, Json]]]:
        """For each check the ending, then the check: each has a process of its own. BuildError when
        a part of it is not JSON."""
        states = {
            "initial": _pack(self.initial),
            "final": _pack(self.final),
            "rollout": _pack(self.rollout),
        }
        opening: dict[str, Json] = {"op": "reset", "clock": self.clock, "seed": self.seed, **states}
        return [
            [opening, {"op": "check", "name": _name(place)}] for place in range(len(self.sources))
        ]


def read_statement(seen: Sequence[Observation]) -> CheckReply:
    """What a check said; whatever kept the states from being opened is its failure."""
    opened, heard = seen
    return _read(opened if opened.outcome != "ok" else heard)


def _name(place: int) -> str:
    return f"check_{place + 1}"


def _pack(state: Json | bytes) -> dict[str, Json]:
    if isinstance(state, bytes):
        return pack_state(state, "sqlite")
    try:
        return pack_state(orjson.dumps(state))
    except TypeError as error:
        raise BuildError(
            f"A state cannot be sent to the judge: {error}. It must be plain JSON."
        ) from None


def _read(seen: Observation) -> CheckReply:
    said = seen.parts[0] if seen.outcome == "ok" and len(seen.parts) == 1 else None
    if is_object(said) and isinstance(holds := said.get("value"), bool):
        return CheckReply(holds)
    return CheckReply(None, seen.code or "bad_verdict", seen.message)
