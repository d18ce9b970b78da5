"""A vendor's wire format: a request written, an answer read. No connection, so that batches speak
it too."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

from envmill.base.errors import BadRequest, Outage
from envmill.models.base import Completion, Request, ToolCall, Usage
from envmill.models.mend import load_object
from envmill.models.shape import take_objects
from envmill.models.structured import narrow
from schemas.base import Json, canonical_json, is_object

Form = Literal["schema", "object", "prompt"]
"""How a server is told what the reply must be: it enforces the schema, or any JSON object, or reads
of it in the prompt."""


@dataclass(frozen=True)
class ModelTerms:
    """What one model of one server takes, as far as it is known."""

    dropped: frozenset[str] = frozenset()
    """Fields it refused; `json_schema` and `json_object` count as such."""
    most_output: int = 0
    """Most output tokens it allows; 0 while nothing is known."""
    own: bool = True
    """Whether it is the vendor's own server, and none that is merely compatible."""

    def limit(self, asked: int | None) -> int | None:
        """Output tokens to ask for."""
        return min(asked, self.most_output) if asked and self.most_output else asked


@dataclass(frozen=True)
class WireRequest:
    """A request as it is sent."""

    body: dict[str, Json]
    notes: tuple[str, ...] = ()
    """What of it could not be written."""


class Dialect(Protocol):
    """One wire format."""

    path: str
    """Where it is asked, below the base URL."""
    optional: frozenset[str]
    """Fields that can be left out when a server refuses them."""
    streaming: ClassVar[dict[str, Json]]
    """Fields that ask for the answer in pieces."""

    def write(self, request: Request, model: str, terms: ModelTerms) -> WireRequest:
        """Request → body."""
        ...

    def read(self, body: Json) -> Completion:
        """Body → completion; Outage when it is none."""
        ...

    def gather(self, events: Sequence[dict[str, Json]]) -> dict[str, Json]:
        """Events of a stream → the body they would have been; Outage when the end is missing."""
        ...


def pick_form(request: Request, terms: ModelTerms) -> tuple[Form, Json]:
    """The strictest form that the record and the server allow, with its schema."""
    if not request.enforced or (request.reply is not None and request.reply.fenced):
        return "prompt", None
    schema = narrow(request.reply) if request.reply else None
    if schema is not None and "json_schema" not in terms.dropped:
        return "schema", schema
    return ("prompt" if request.reply is None or "json_object" in terms.dropped else "object"), None


def note_form(form: Form, request: Request) -> list[str]:
    """What is said of a reply whose schema nobody enforces."""
    if request.reply is None or request.reply.fenced or form == "schema":
        return []
    return [
        "the schema is in the prompt only"
        + (", any JSON object is enforced" if form == "object" else "")
    ]


def note_dropped(request: Request, knobs: tuple[str, ...]) -> list[str]:
    """Knobs that were asked for and not sent."""
    return [
        f"{knob} is not taken"
        for knob in knobs
        if getattr(request.sampling, knob) not in (None, False)
    ]


def read_call(call_id: str, name: str, arguments: Json) -> ToolCall:
    """A tool call as a model made it. No arguments at all is an empty object: models write so for
    tools that take none."""
    if is_object(arguments):
        return ToolCall(call_id, name, arguments, canonical_json(arguments))
    raw = arguments if isinstance(arguments, str) else canonical_json(arguments)
    read = load_object(raw) if raw.strip() else {}
    return ToolCall(call_id, name, None if isinstance(read, str) else read, raw)


def render_arguments(call: ToolCall) -> dict[str, Json]:
    """Arguments as a server takes them back: always an object, since chat templates fail on
    anything else."""
    return call.arguments if is_object(call.arguments) else {"unreadable": call.raw}


def refuse_shape(what: str) -> Outage:
    """An answer of another shape tells nothing about the item."""
    return Outage(
        f"The answer holds no {what}, though its status was good. A proxy may have answered: check the address.",
        sent=True,
    )


def count_reasoning(output: int, reasoning: int) -> int:
    """Part of the output, whatever a server says."""
    return min(output, reasoning)


def add_cached(fresh: int, cached: int, written: int, output: int, reasoning: int) -> Usage:
    """Usage of vendors that count input read from and written to a cache apart."""
    return Usage(
        fresh + cached + written, output, cached, written, count_reasoning(output, reasoning)
    )


def concede(
    refused: BadRequest, written: WireRequest, terms: ModelTerms, optional: frozenset[str]
) -> ModelTerms | None:
    """Terms under which the request may be taken, when the server names what it does not take; None
    when it does not."""
    param, said = str(refused.facts.get("param", "")), refused.message
    limit = next((name for name in _LIMITS if name in written.body), "")
    if limit and "max_" in f"{param} {said}" and (most := _find_most(said)):
        return replace(terms, most_output=most) if most < int(written.body[limit]) else None
    inside = {name for message in take_objects(written.body.get("messages")) for name in message}
    for name in sorted(optional & (written.body.keys() | inside)):
        if _is_named(name, param, said):
            return _drop(name, written.body, terms)
    return None


_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_ROOM = re.compile(r"> (\d+) - (\d+)")
_MOST = re.compile(r"(?:> |at most )(\d+)\b(?! ?-)")


def _find_most(said: str) -> int:
    """The most a server allows: of this model, or, where it counts the input in, of this request. 0
    when it names none."""
    if room := _ROOM.search(said):
        return max(int(room[1]) - int(room[2]), 0)
    return int(most[1]) if (most := _MOST.search(said)) else 0


def _is_named(name: str, param: str, said: str) -> bool:
    """Names that are everyday words must stand in quotes: a message may well `include` some
    `text`."""
    if param == name or param.startswith(f"{name}."):
        return True
    quoted = rf"[\'\"`]{re.escape(name)}(?:\.[a-z_.]+)?[\'\"`]"
    bare = rf"(?<![a-z_]){re.escape(name)}(?![a-z_])"
    return bool(
        re.search(bare if "_" in name or name in ("temperature", "logprobs") else quoted, said)
    )


def _drop(name: str, sent: dict[str, Json], terms: ModelTerms) -> ModelTerms | None:
    """A reply's form is given up in steps: schema, object, prompt."""
    form = canonical_json(sent.get(name))
    given_up = next((step for step in ("json_schema", "json_object") if step in form), name)
    return None if given_up in terms.dropped else replace(terms, dropped=terms.dropped | {given_up})
