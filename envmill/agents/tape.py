"""The tape of a rollout: what was said and done in order, as messages that are stored, and as deeds that are judged; and back again.

call, reply ──record──► transcript ──read──► deeds and words
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from envmill.sandbox import Observation
from envmill.verifiers.ending import Deed
from schemas.base import Json
from schemas.environment import Call


@dataclass
class Tape:
    """A rollout while it is made."""

    messages: list[Json]
    deeds: list[Deed] = field(default_factory=list[Deed])
    said: list[str] = field(default_factory=list[str])
    met: list[str] = field(default_factory=list[str])
    """Kinds of trouble met."""
    uses: Counter[str] = field(default_factory=Counter[str])
    """How often clock, ids and randomness were used."""
    moves: int = 0

    def record(self, call: Call, reply: Observation) -> None:
        """A call with its reply. An actor is named where it is not the agent."""
        number = f"call_{len(self.deeds) + 1}"
        who = {} if call.actor == "agent" else {"actor": call.actor}
        asked = {"id": number, "name": call.name, "arguments": call.arguments, **who}
        self.messages.append({"role": "assistant", "content": "", "tool_calls": [asked]})
        self.messages.append({"role": "tool", "tool_call_id": number, "content": tell_reply(reply), "state_hash": reply.state_hash})
        self.deeds.append(Deed.of(call, reply))
        self._note(reply)

    def wait(self, seconds: float, reply: Observation) -> None:
        """Time that was let pass, and what came meanwhile."""
        told = {"seconds": seconds, "notifications": reply.notifications, "state_hash": reply.state_hash}
        self.messages.append({"role": "wait", **told})
        self._note(reply)

    def speak(self, text: str) -> None:
        """Words to the user."""
        self.messages.append({"role": "assistant", "content": text})
        self.said.append(text)

    def _note(self, reply: Observation) -> None:
        self.moves += 1
        self.met += reply.weather
        self.uses.update(reply.uses)


@dataclass(frozen=True)
class Asked:
    """A call of a stored transcript, and what was recorded of it."""

    call: Call
    content: Json
    state_hash: str

    @property
    def deed(self) -> Deed:
        """As it is judged. A call that failed ends a rollout in error, which nobody judges: what was not ok was refused."""
        if self.content["ok"]:
            return Deed(self.call, "ok", "", self.content["parts"])
        return Deed(self.call, "rejection", self.content["error"]["code"])


@dataclass(frozen=True)
class Waited:
    """Time of a stored transcript."""

    seconds: float
    notifications: Json
    state_hash: str


def tell_reply(reply: Observation) -> Json:
    """A reply as the policy gets it."""
    if reply.outcome == "ok":
        return {"ok": True, "parts": reply.parts}
    return {"ok": False, "error": {"code": reply.code, "message": reply.message}}


def read_moves(transcript: Sequence[Json]) -> Iterator[Asked | Waited]:
    """Calls and waits of a transcript in order, each call with the reply that bears its number."""
    replies = {entry["tool_call_id"]: entry for entry in transcript if entry["role"] == "tool"}
    for entry in transcript:
        if entry["role"] == "wait":
            yield Waited(entry["seconds"], entry["notifications"], entry["state_hash"])
        for asked in entry.get("tool_calls", ()):
            reply = replies[asked["id"]]
            call = Call(name=asked["name"], arguments=asked["arguments"], actor=asked.get("actor", "agent"))
            yield Asked(call, reply["content"], reply["state_hash"])


def read_words(transcript: Sequence[Json]) -> list[str]:
    """What the agent told the user, in order."""
    return [entry["content"] for entry in transcript if entry["role"] == "assistant" and not entry.get("tool_calls")]
