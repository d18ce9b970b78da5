"""The tape of a rollout: what was said and done in order, as messages that are stored, and as deeds
that are judged; and back again.

turn, replies ──record──► transcript ──read──► deeds and words
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from envmill.agents.base import MalformedCall, Turn
from envmill.models.base import Usage
from envmill.sandbox import Observation
from envmill.verifiers.ending import CompletedCall
from schemas.base import Json, canonical_json
from schemas.environment import Call

MALFORMED: Mapping[str, Json] = {
    "ok": False,
    "error": {
        "code": "malformed_call",
        "message": "The arguments are no JSON object, so nothing was called. Write them anew.",
    },
}
"""What a policy is told of a call that could not be read."""


@dataclass
class RolloutLog:
    """A rollout while it is made."""

    messages: list[Json]
    deeds: list[CompletedCall] = field(default_factory=list[CompletedCall])
    said: list[str] = field(default_factory=list[str])
    met: list[str] = field(default_factory=list[str])
    """Kinds of trouble met."""
    uses: Counter[str] = field(default_factory=Counter[str])
    """How often clock, ids and randomness were used."""
    moves: int = 0
    """Calls and waits, those that could not be read among them."""
    turns: int = 0
    unread: int = 0
    """Calls that could not be read."""
    seconds: float = 0.0
    """Virtual time that went by."""
    usage: Usage = field(default_factory=Usage)
    _numbers: int = 0
    _state_hash: str = ""

    def start(self, began: Observation) -> None:
        """How it begins."""
        self.uses.update(began.uses)
        self._state_hash = began.state_hash

    def add_answer(self, text: str) -> None:
        """Words of the user."""
        self.messages.append({"role": "user", "content": text})

    def act(self, call: Call, reply: Observation) -> None:
        """A call of the user's own. The agent never sees it: it is told what came of it in
        words."""
        self._numbers += 1
        number = f"call_{self._numbers}"
        self.messages.append(
            {"role": "user", "content": "", "tool_calls": [_render_call(number, call)]}
        )
        self._answer(number, call, reply)

    def take(self, turn: Turn) -> None:
        """What a turn took, whatever it says."""
        self.turns += 1
        self.usage += turn.usage

    def record(
        self, turn: Turn, done: Sequence[tuple[Call | MalformedCall, Observation | None]]
    ) -> None:
        """The calls of a turn, each with its reply."""
        numbers = [f"call_{self._numbers + place}" for place in range(1, len(done) + 1)]
        self._numbers += len(done)
        asked = [
            _render_call(number, call) for number, (call, _) in zip(numbers, done, strict=True)
        ]
        self.messages.append(
            {"role": "assistant", "content": turn.text, **_show(turn), "tool_calls": asked}
        )
        for number, (call, reply) in zip(numbers, done, strict=True):
            self._answer(number, call, reply)

    def _answer(self, number: str, call: Call | MalformedCall, reply: Observation | None) -> None:
        if isinstance(call, Call) and reply is not None:
            self.deeds.append(replace(CompletedCall.of(call, reply), after=len(self.said)))
            self._note(reply)
        else:
            self.unread += 1
            self.moves += 1
        content = MALFORMED if reply is None else describe_reply(reply)
        self.messages.append(
            {
                "role": "tool",
                "tool_call_id": number,
                "content": content,
                "state_hash": self._state_hash,
            }
        )

    def wait(self, seconds: float, reply: Observation) -> None:
        """Time that was let pass, and what came meanwhile."""
        told = {
            "seconds": seconds,
            "notifications": reply.notifications,
            "state_hash": reply.state_hash,
        }
        self.messages.append({"role": "wait", **told})
        self.seconds += seconds
        self._note(reply)

    def speak(self, turn: Turn) -> None:
        """Words to the user."""
        self.messages.append({"role": "assistant", "content": turn.text, **_show(turn)})
        self.said.append(turn.text)

    def _note(self, reply: Observation) -> None:
        self.moves += 1
        self.met += reply.weather
        self.seconds += reply.delay
        self.uses.update(reply.uses)
        self._state_hash = reply.state_hash


@dataclass(frozen=True)
class StoredCall:
    """A call of a stored transcript, and what was recorded of it."""

    call: Call
    content: Json
    state_hash: str
    after: int = 0
    """How many messages of the agent came before it."""

    @property
    def deed(self) -> CompletedCall:
        """As it is judged. A call that failed ends a rollout in error, which nobody judges: what
        was not ok was refused."""
        if self.content["ok"]:
            return CompletedCall(self.call, "ok", "", self.content["parts"], self.after)
        return CompletedCall(
            self.call, "rejection", self.content["error"]["code"], after=self.after
        )


@dataclass(frozen=True)
class StoredWait:
    """Time of a stored transcript."""

    seconds: float
    notifications: Json
    state_hash: str


def describe_reply(reply: Observation) -> Json:
    """A reply as the policy gets it."""
    if reply.outcome == "ok":
        return {"ok": True, "parts": reply.parts}
    return {"ok": False, "error": {"code": reply.code, "message": reply.message}}


def render_content(content: Json) -> str:
    """A reply as a model reads it, and as it stands in what is exported."""
    return canonical_json(content)


def read_moves(transcript: Sequence[Json]) -> Iterator[StoredCall | StoredWait]:
    """Calls and waits of a transcript in order, each call with the reply that bears its number.
    What could not be read was never made."""
    replies = {entry["tool_call_id"]: entry for entry in transcript if entry["role"] == "tool"}
    said = 0
    for entry in transcript:
        said += _is_message(entry)
        if entry["role"] == "wait":
            yield StoredWait(entry["seconds"], entry["notifications"], entry["state_hash"])
        for asked in entry.get("tool_calls", ()):
            if "raw" in asked:
                continue
            reply = replies[asked["id"]]
            call = Call(
                name=asked["name"], arguments=asked["arguments"], actor=asked.get("actor", "agent")
            )
            yield StoredCall(call, reply["content"], reply["state_hash"], said)


def read_words(transcript: Sequence[Json]) -> list[str]:
    """What the agent told the user, in order."""
    return [entry["content"] for entry in transcript if _is_message(entry)]


def read_answers(transcript: Sequence[Json]) -> list[str]:
    """What the user said to each of these messages; the last may have no answer. The opening comes
    before all of them."""
    said = [
        entry["content"]
        for entry in transcript
        if entry["role"] == "user" and not entry.get("tool_calls")
    ]
    return said[1:]


def count_said(transcript: Sequence[Json], later: Sequence[str]) -> list[int]:
    """How many messages the agent had written when the user made each of the later requests; those
    that were never made are missing."""
    ends, said = list[int](), 0
    for entry in transcript:
        said += _is_message(entry)
        if (
            entry["role"] == "user"
            and len(ends) < len(later)
            and said
            and entry["content"].startswith(later[len(ends)])
        ):
            ends.append(said)
    return ends


def _is_message(entry: Json) -> bool:
    """Whether the agent speaks to the user there."""
    return entry["role"] == "assistant" and not entry.get("tool_calls")


def _render_call(number: str, call: Call | MalformedCall) -> Json:
    """An actor is named where it is not the agent."""
    if isinstance(call, MalformedCall):
        return {"id": number, "name": call.name, "arguments": {}, "raw": call.raw}
    who = {} if call.actor == "agent" else {"actor": call.actor}
    return {"id": number, "name": call.name, "arguments": call.arguments, **who}


def _show(turn: Turn) -> dict[str, Json]:
    shown: dict[str, Json] = {"reasoning": turn.reasoning, "sampled": turn.sampled}
    return {name: value for name, value in shown.items() if value}
