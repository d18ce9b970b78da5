"""Values of a record as people read them in a terminal: tools, rules, calls, verifiers, turns and
changes, each line by line.

Texts of models and of people are shown and never obeyed: what would move the cursor, colour the
screen or turn a line round is escaped.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Told = Callable[[Any, Mapping[str, Any]], Iterator[str]]
"""A value and its whole record to lines."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_MOST = 400  # characters of a reply: a list of rows fills the screen else; `--json` has it whole
_SIGNS = {"add": "+", "remove": "-", "set": "~"}


def make_plain(text: str) -> str:
    """The text, with what cannot be seen escaped."""
    return _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def describe_tools(tools: Any, _: Mapping[str, Any]) -> Iterator[str]:
    for tool in tools:
        needed = tool["parameters"].get("required", [])
        names = [
            name if name in needed else f"{name}?"
            for name in tool["parameters"].get("properties", {})
        ]
        yield f"{tool['effect']:7} {tool['name']}({', '.join(names)}): {tool['description']}"


def describe_numbered(rules: Any, _: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{number}. {rule}" for number, rule in enumerate(rules, start=1))


def describe_calls(calls: Any, _: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{number}. {render_call(call)}" for number, call in enumerate(calls, start=1))


def describe_state(state: Any, _: Mapping[str, Any]) -> Iterator[str]:
    """A line a row."""
    for name, rows in state.items():
        if isinstance(rows, dict) and rows:
            yield f"{name} ({len(rows)})"
            yield from (f"  {key}: {_render(row)}" for key, row in rows.items())
        else:
            yield f"{name}: {_render(rows)}"


def describe_verifier(verifier: Any, _: Mapping[str, Any]) -> Iterator[str]:
    yield f"pays {'in part' if verifier.get('partial') else 'for all of it, or nothing'}"
    for part in ("goals", "guards", "procedure", "facts", "harm"):
        for check in verifier.get(part) or ():
            yield f"{part:9} {check['name']}"
            yield from (f"          | {line}" for line in check.get("source", "").splitlines())
    for path in verifier["frame"]:
        yield f"may change {'.'.join(path)}"


def describe_changes(changes: Any, _: Mapping[str, Any]) -> Iterator[str]:
    if changes is None:
        yield "not known"
    for one in changes or ():
        before, after = _render(one.get("before")), _render(one.get("after"))
        told = {"add": after, "remove": before}.get(one["op"], f"{before} -> {after}")
        yield f"{_SIGNS.get(one['op'], '?')} {'.'.join(one['path'])} {told}"


def describe_evidence(evidence: Any, _: Mapping[str, Any]) -> Iterator[str]:
    yield from (
        f"{one.get('component', '')}: {one.get('name', '')}; found {_render(one.get('found'))}"
        for one in evidence
    )


def describe_turns(transcript: Any, record: Mapping[str, Any]) -> Iterator[str]:
    """Who said and called what, which calls changed the state, and which messages are trained
    on."""
    learnt, state = record.get("loss") or [], ""
    for place, entry in enumerate(transcript):
        if entry["role"] == "tool":
            moved = " (state changed)" if entry.get("state_hash", state) != state and state else ""
            state = entry.get("state_hash", state)
            yield f"    = {_render_reply(entry['content'])}{moved}"
            continue
        mark = " *" if place < len(learnt) and learnt[place] else ""
        yield from _describe_message(entry, mark)
    if any(learnt):
        yield "(* is trained on)"


def _describe_message(entry: Mapping[str, Any], mark: str) -> Iterator[str]:
    if entry["role"] == "wait":
        yield (
            f"(waits {entry['seconds']:g} s) "
            f"{_render(entry['notifications']) if entry['notifications'] else ''}"
        ).rstrip()
        return
    who = "agent" if entry["role"] == "assistant" else entry["role"]
    said = entry.get("content") or ""
    yield f"{who}{mark}: {said if isinstance(said, str) else _render(said)}".rstrip()
    for call in entry.get("tool_calls", ()):
        yield f"  > {render_call(call)}"


def render_call(call: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={_render(value)}" for name, value in call["arguments"].items())
    actor = call.get("actor", "agent")
    return f"{call['name']}({arguments}){'' if actor == 'agent' else f' as {actor}'}"


def _render_reply(content: Any) -> str:
    if isinstance(content, dict) and "ok" in content:
        content = (
            [part.get("value", part.get("text", part)) for part in content["parts"]]
            if content["ok"]
            else content["error"]
        )
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    text = content if isinstance(content, str) else _render(content)
    return text if len(text) <= _MOST else f"{text[:_MOST]}… ({len(text)} characters)"


def _render(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def describe_chain(chain: Any, _: Any) -> Iterator[str]:
    """As a flowchart in Mermaid."""
    from envmill.toolgraph.picture import render_chain
    from schemas.chain import Chain

    yield from render_chain(Chain.model_validate(chain))


TOLD: dict[tuple[str, str], Told] = {
    ("environments", "tools"): describe_tools,
    ("environments", "rules"): describe_numbered,
    ("drafts", "oracle"): describe_calls,
    ("drafts", "changes"): describe_changes,
    ("drafts", "chain"): describe_chain,
    ("drafts", "initial_state"): describe_state,
    ("scenarios", "initial_state"): describe_state,
    ("scenarios", "oracle"): describe_calls,
    ("scenarios", "verifier"): describe_verifier,
    ("rollouts", "transcript"): describe_turns,
    ("rollouts", "changes"): describe_changes,
    ("rollouts", "evidence"): describe_evidence,
    ("trajectories", "messages"): describe_turns,
    ("trajectories", "tools"): lambda tools, _: iter([", ".join(tool["name"] for tool in tools)]),
    ("attacks", "calls"): describe_calls,
}
"""Table and column → how its value is told; anything else is told as JSON."""
