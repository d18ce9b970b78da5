"""Batches of both vendors: files up and down, states on the way, items that fail, expire or are
cancelled.

Ready after `polls` looks. Items whose text holds `unfinished` are the ones left over when the batch
expires or is cancelled.
"""

import json
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tests.models.vendors.exchange import Answer, Asked
from tests.models.vendors.formats import FORMATS
from tests.models.vendors.formats.base import refuse
from tests.models.vendors.script import Script
from tests.models.vendors.tally import Tally

Body = dict[str, Any]
_DAY = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Manner:
    """How batches go."""

    polls: int = 1
    expire: bool = False
    unfinished: str = ""
    refuse: str = ""
    """Why the whole batch fails its validation; empty for none."""

    def adapt(self, given: Body) -> "Manner":
        return replace(self, **given)


@dataclass
class Batch:
    """One batch of either vendor; each item is (custom id, path, body)."""

    id: str
    items: list[tuple[str, str, Body]]
    file: str = ""
    metadata: Body = field(default_factory=Body)
    made: float = field(default_factory=time.time)
    looks: int = 0
    cancelled: bool = False
    ended: bool = False
    why: str = ""
    done: list[Body] = field(default_factory=list[Body])
    failed: list[Body] = field(default_factory=list[Body])


class Batches:
    """Files and batches of this process."""

    def __init__(self, script: Script, tally: Tally) -> None:
        self.manner = Manner()
        self._script, self._tally = script, tally
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, Batch] = {}

    def answer(self, asked: Asked) -> Answer | None:
        """None when the path is none of ours."""
        match asked.method, asked.path.strip("/").split("/")[1:]:
            case "POST", ["files"]:
                return Answer.of(self._describe_file(self._store(_read_upload(asked))))
            case "GET", ["files", name] if name in self._files:
                return Answer.of(self._describe_file(name))
            case "GET", ["files", name, "content"] if name in self._files:
                return Answer(self._files[name], kind="application/octet-stream")
            case "DELETE", ["files", name] if name in self._files:
                del self._files[name]
                return Answer.of({"id": name, "object": "file", "deleted": True})
            case "POST", ["batches"]:
                return self._open_openai(asked.read())
            case "GET", ["batches"]:
                listed = [
                    self._describe_openai(batch)
                    for batch in reversed(self._batches.values())
                    if batch.file
                ]
                return Answer.of({"object": "list", "data": listed, "has_more": False})
            case "GET", ["batches", name] if name in self._batches:
                return Answer.of(self._describe_openai(self._look(self._batches[name])))
            case "POST", ["batches", name, "cancel"] if name in self._batches:
                return Answer.of(self._describe_openai(self._cancel(self._batches[name])))
            case "POST", ["messages", "batches"]:
                items = [
                    (item["custom_id"], "/v1/messages", item["params"])
                    for item in asked.read()["requests"]
                ]
                return Answer.of(self._describe_anthropic(self._open(items), asked))
            case "GET", ["messages", "batches"]:
                listed = [
                    self._describe_anthropic(self._look(batch), asked)
                    for batch in reversed(self._batches.values())
                    if not batch.file
                ]
                return Answer.of(
                    {"data": listed, "has_more": False, "first_id": None, "last_id": None}
                )
            case "GET", ["messages", "batches", name] if name in self._batches:
                return Answer.of(self._describe_anthropic(self._look(self._batches[name]), asked))
            case "POST", ["messages", "batches", name, "cancel"] if name in self._batches:
                return Answer.of(self._describe_anthropic(self._cancel(self._batches[name]), asked))
            case "GET", ["messages", "batches", name, "results"] if (
                name in self._batches and self._batches[name].ended
            ):
                batch = self._batches[name]
                return Answer(_render_lines(batch.done + batch.failed), kind="application/x-jsonl")
            case _:
                return None

    def _store(self, content: bytes) -> str:
        name = f"file-{len(self._files) + 1}"
        self._files[name] = content
        return name

    def _describe_file(self, name: str) -> Body:
        size = len(self._files[name])
        said = {
            "id": name,
            "object": "file",
            "bytes": size,
            "created_at": 1,
            "filename": "batch.jsonl",
        }
        return said | {"purpose": "batch", "status": "processed"}

    def _open_openai(self, given: Body) -> Answer:
        name = given["input_file_id"]
        lines = [json.loads(line) for line in self._files[name].splitlines() if line.strip()]
        batch = self._open([(line["custom_id"], line["url"], line["body"]) for line in lines])
        batch.file, batch.metadata = name, given.get("metadata") or {}
        return Answer.of(self._describe_openai(batch))

    def _open(self, items: list[tuple[str, str, Body]]) -> Batch:
        batch = Batch(f"batch_{len(self._batches) + 1}", items)
        self._batches[batch.id] = batch
        return batch

    def _look(self, batch: Batch) -> Batch:
        batch.looks += 1
        if not batch.ended and (batch.cancelled or batch.looks >= self.manner.polls):
            self._end(batch)
        return batch

    def _cancel(self, batch: Batch) -> Batch:
        batch.cancelled = not batch.ended
        return batch

    def _end(self, batch: Batch) -> None:
        batch.ended = True
        if self.manner.refuse and batch.file:
            batch.why = "failed"
            return
        left = batch.cancelled or self.manner.expire
        batch.why = (
            "cancelled" if batch.cancelled else "expired" if self.manner.expire else "completed"
        )
        for number, (name, path, body) in enumerate(batch.items):
            conversation = FORMATS[path].read(body)
            if left and self.manner.unfinished in conversation.text:
                batch.failed.append(_render_unfinished(batch, name))
                continue
            fault = self._script.fault_of(path, conversation.text)
            self._tally.asked[conversation.digest] += 1
            self._tally.by_last[conversation.last] += 1
            if fault:
                error = json.loads(refuse(path, replace(fault, status=fault.status or 500)).body)
                batch.failed.append(_render_result(batch, name, number, error, fault.status or 500))
                continue
            turn = conversation.hear(self._script.turn_of(path, conversation.text))
            batch.done.append(
                _render_result(batch, name, number, FORMATS[path].answer(conversation, turn), 200)
            )
            self._tally.answered[conversation.digest] += 1
        batch.done.reverse()  # vendors promise no order

    def _describe_openai(self, batch: Batch) -> Body:
        running = (
            "cancelling" if batch.cancelled else "validating" if not batch.looks else "in_progress"
        )
        said: Body = {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.items[0][1] if batch.items else "/v1/chat/completions",
            "input_file_id": batch.file,
            "completion_window": "24h",
            "created_at": int(batch.made),
            "metadata": batch.metadata,
            "status": batch.why if batch.ended else running,
            "errors": None,
            "request_counts": {
                "total": len(batch.items),
                "completed": len(batch.done),
                "failed": len(batch.failed),
            },
        }
        if batch.why == "failed":
            said["errors"] = {
                "object": "list",
                "data": [
                    {"code": "invalid", "line": 1, "message": self.manner.refuse, "param": None}
                ],
            }
        for name, lines in (("output_file_id", batch.done), ("error_file_id", batch.failed)):
            if batch.ended and lines:
                file = f"file-{batch.id}-{name}"
                self._files[file] = _render_lines(lines)
                said[name] = file
        return said

    def _describe_anthropic(self, batch: Batch, asked: Asked) -> Body:
        kinds = (
            [line["result"]["type"] for line in batch.done + batch.failed] if batch.ended else []
        )
        names = ("succeeded", "errored", "expired", "canceled")
        results = f"http://{asked.headers['host']}/v1/messages/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended"
            if batch.ended
            else "canceling"
            if batch.cancelled
            else "in_progress",
            "request_counts": {name: kinds.count(name) for name in names}
            | {"processing": 0 if batch.ended else len(batch.items)},
            "created_at": datetime.fromtimestamp(batch.made, UTC).isoformat(),
            "expires_at": "2026-01-02T00:00:00Z",
            "ended_at": _DAY if batch.ended else None,
            "cancel_initiated_at": _DAY if batch.cancelled else None,
            "archived_at": None,
            "results_url": results if batch.ended else None,
        }


def _render_result(batch: Batch, name: str, number: int, body: Body, status: int) -> Body:
    if batch.file:
        response = {"status_code": status, "request_id": f"req_{number}", "body": body}
        return {"id": f"batch_req_{number}", "custom_id": name, "response": response, "error": None}
    if status == 200:
        return {"custom_id": name, "result": {"type": "succeeded", "message": body}}
    return {"custom_id": name, "result": {"type": "errored", "error": body}}


def _render_unfinished(batch: Batch, name: str) -> Body:
    if batch.file:
        code = f"batch_{batch.why}"
        return {
            "id": "batch_req",
            "custom_id": name,
            "response": None,
            "error": {"code": code, "message": "Not executed in time."},
        }
    return {"custom_id": name, "result": {"type": "canceled" if batch.cancelled else "expired"}}


def _render_lines(lines: list[Body]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _read_upload(asked: Asked) -> bytes:
    """The file part of a form."""
    boundary = asked.headers["content-type"].partition("boundary=")[2].strip('"').encode()
    for part in asked.body.split(b"--" + boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return content[:-2]
    return b""
