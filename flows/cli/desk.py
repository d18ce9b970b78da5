"""The desk a person plays at: one line in, what came of it out.

add_loan copy_id=K1 member_id=M1 ─► call ─► reply, and what it changed ─► undo
"""

import base64
import json
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from envmill.front.holdings import Playable
from envmill.kinds import kind_of
from envmill.kinds.start import CLOCK, start
from envmill.runtime.weather import Weather
from envmill.sandbox import (
    Advance,
    Fetch,
    Invoke,
    Look,
    Observation,
    Program,
    Reset,
    Restore,
    Sandbox,
    Session,
    Snapshot,
)
from envmill.verifiers.court import decide
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from flows.cli.talking import DeskTalk
from schemas.base import Json, is_array, is_object
from schemas.environment import Call
from schemas.scenario import Scenario

Result: TypeAlias = dict[str, Json]
"""What a line came to: `{"ok": bool, …}`."""

HELP = {
    "TOOL name=value …": "call a tool as the agent; values are JSON, or text as it stands; `TOOL {…}` takes one "
    "JSON object",
    "as ACTOR TOOL …": "call it as somebody else",
    "say TEXT": "say something to the scenario's user, who answers and does what they are asked to",
    "call TOOL …": "the same for a tool that bears the name of a command",
    "tools [ACTOR]": "what may be called, by whom",
    "about TOOL": "one tool with its parameters",
    "state [PATH]": "the state, or the part of it at a dotted path",
    "diff": "what changed since the start",
    "undo [N]": "take back the last N calls and advances",
    "advance SECONDS": "let time pass; notifications come in order",
    "scenarios": "what can be asked for here",
    "scenario ID": "start over in a scenario",
    "score [WORDS]": "what the scenario's verifier says of it all, the words being the last to the user",
    "reset [SEED]": "start over",
    "weather PROFILE [SEED]": "start over in bad weather (`rough`) or under clear sky (`clear`)",
    "blob HASH FILE": "write the bytes a tool answered with to a file",
    "quit": "leave",
}


class Misunderstood(ValueError):
    """A line that means nothing here."""


class PlayDesk:
    """One session, what it may go back to, and the scenario it is scored by."""

    def __init__(self, playable: Playable, session: Session, sandbox: Sandbox) -> None:
        self._playable = playable
        self._sandbox = sandbox
        self._session = session
        self._program, self._kind = (
            Program.shown(playable.environment),
            kind_of(playable.environment),
        )
        self._scenario: Scenario | None = None
        self._reset = Reset(playable.states[0] if playable.states else {}, CLOCK, 0)
        self._points: list[Json] = []
        self._deeds: list[CompletedCall | None] = []
        """What was done since each point; None where time passed."""
        self._before: Json = {}
        self._talk: DeskTalk | None = None
        self.commands: dict[str, Callable[[list[str]], Awaitable[Result]]] = {
            "help": self._help, "tools": self._tools, "about": self._about, "state": self._state, "diff": self._diff, "undo": self._undo,
            "advance": self._advance, "scenarios": self._scenarios, "scenario": self._choose, "score": self._score, "say": self._speak,
            "reset": self._start_over, "weather": self._meet_weather, "blob": self._write_blob,
        }  # fmt: skip

    async def open(
        self, scenario: str = "", state: dict[str, Json] | None = None, seed: int = 0
    ) -> Result:
        """Begin: in a scenario, on a state of one's own, or on the first test's."""
        if scenario:
            return await self._choose([scenario])
        self._reset = Reset(self._reset.state if state is None else state, CLOCK, seed)
        return await self._begin()

    async def do(self, line: str) -> Result:
        """What a line asks for; Misunderstood when it asks for nothing known."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise Misunderstood(
                f"{error}: close every quotation mark, or write \\' for a bare one."
            ) from None
        if words[0] == "as" and len(words) > 2:
            return await self._call(words[1], words[2], line.split(None, 3)[3:], words[3:])
        if words[0] == "call" and len(words) > 1:
            return await self._call("agent", words[1], line.split(None, 2)[2:], words[2:])
        if words[0] in self.commands:
            return await self.commands[words[0]](words[1:])
        return await self._call("agent", words[0], line.split(None, 1)[1:], words[1:])

    async def _call(self, actor: str, tool: str, rest: list[str], words: list[str]) -> Result:
        whole = rest[0].strip() if rest else ""
        arguments = (
            _read_object(whole) if whole.startswith("{") else dict(map(_read_argument, words))
        )
        return await self._act(Invoke(Call(name=tool, arguments=arguments, actor=actor)))

    async def _act(self, step: Invoke | Advance) -> Result:
        return _describe(await self._take(step)) | await self._follow()

    async def _take(self, step: Invoke | Advance) -> Observation:
        """A step that can be undone, and is scored."""
        point = await self._session.step(Snapshot())
        seen = await self._session.step(step)
        if point.outcome == "ok":
            self._points.append(point.parts[0]["value"])
        elif self._points:
            # The session died before: what is undone leads back to where it last lived.
            self._points.append(self._points[-1])
        if len(self._points) > len(self._deeds):
            after = len(self._talk.answers) if self._talk else 0
            self._deeds.append(
                replace(CompletedCall.of(step.call, seen), after=after)
                if isinstance(step, Invoke)
                else None
            )
        return seen

    async def _compare(self, before: Json) -> tuple[list[Json], Json]:
        look = await self._session.step(Look())
        if look.state is None:
            return [], before
        return [change.model_dump() for change in diff_states(before, look.state)], look.state

    async def _follow(self) -> Result:
        """What a step changed. Where a look takes long it is taken only when asked for, and nothing
        is said."""
        if not self._kind.looks_freely:
            return {}
        changes, self._before = await self._compare(self._before)
        return {"changes": changes}

    async def _begin(self) -> Result:
        self._points, self._deeds = [], []
        self._talk = DeskTalk(self._scenario) if self._scenario else None
        seen = await self._session.step(self._reset)
        if seen.outcome == "ok" and self._kind.looks_freely:
            self._before = (await self._session.step(Look())).state
        told = {
            "environment": self._playable.environment.name,
            "clock": self._reset.clock,
            "seed": self._reset.seed,
        }
        return (
            _describe(seen) | told | ({"request": self._scenario.request} if self._scenario else {})
        )

    async def _help(self, _: list[str]) -> Result:
        return {"ok": True, "help": HELP}

    async def _tools(self, words: list[str]) -> Result:
        actor = words[0] if words else None
        entries: Any = self._program.message["tools"]
        shown = (
            Weather(self._reset.weather["profile"], self._reset.weather["seed"], entries).tools()
            if self._reset.weather
            else entries
        )
        named = [(tool, tool.get("actors", ["agent"])) for tool in shown]
        rows = [
            {
                "name": tool["name"],
                "effect": tool["effect"],
                "actors": who,
                "description": tool["description"],
            }
            for tool, who in named
        ]
        return {
            "ok": True,
            "tools": [row for row in rows if actor is None or actor in row["actors"]],
        }

    async def _about(self, words: list[str]) -> Result:
        found = [tool for tool in self._program.tools if [tool.name] == words]
        if not found:
            raise Misunderstood(
                f"about takes one of: {', '.join(tool.name for tool in self._program.tools)}."
            )
        return {"ok": True, "tool": found[0].model_dump(mode="json")}

    async def _state(self, words: list[str]) -> Result:
        seen = await self._session.step(Look())
        return _describe(seen) | {"state": _pick(seen.state, words[0].split(".") if words else [])}

    async def _diff(self, _: list[str]) -> Result:
        changes, _ = await self._compare(self._reset.state)
        return {"ok": True, "changes": changes}

    async def _undo(self, words: list[str]) -> Result:
        times = int(words[0]) if words and words[0].isdigit() else 1
        if not 0 < times <= len(self._points):
            raise Misunderstood(f"{len(self._points)} steps can be taken back.")
        point = self._points[-times]
        del self._points[-times:], self._deeds[-times:]
        seen = await self._session.step(Restore(point))
        return _describe(seen) | await self._follow()

    async def _advance(self, words: list[str]) -> Result:
        try:
            (seconds,) = map(float, words)
        except ValueError:
            raise Misunderstood("advance takes a number of seconds.") from None
        return await self._act(Advance(seconds))

    async def _scenarios(self, _: list[str]) -> Result:
        held = self._playable.scenarios
        return {
            "ok": True,
            "scenarios": [
                {"id": one.id, "polarity": one.polarity, "request": one.request} for one in held
            ],
        }

    async def _choose(self, words: list[str]) -> Result:
        found = [one for one in self._playable.scenarios if words and one.id.startswith(words[0])]
        if len(found) != 1:
            raise Misunderstood(
                f"{len(found)} scenarios are meant; name one of: "
                f"{', '.join(one.id for one in self._playable.scenarios)}."
            )
        self._scenario = found[0]
        self._reset = start(found[0])
        return await self._begin()

    async def _score(self, words: list[str]) -> Result:
        if self._scenario is None:
            raise Misunderstood("There is nothing to score by: choose a scenario first.")
        seen = await self._session.step(Look())
        if seen.state is None:
            return _describe(seen)
        chosen = self._scenario
        done = [deed for deed in self._deeds if deed is not None]
        talked = self._talk.said if self._talk else []
        said = [*talked, " ".join(words)] if words else talked
        ending = Ending(
            chosen.initial_state,
            seen.state,
            done,
            said,
            answers=self._talk.answers if self._talk else (),
        )
        verdict = await decide(self._sandbox, chosen.verifier, ending, chosen.clock)
        return {"ok": True, "verdict": verdict.model_dump()}

    async def _speak(self, words: list[str]) -> Result:
        if self._talk is None or not words:
            raise Misunderstood(
                "say takes what you say to the user of a scenario: choose one first."
            )
        text, end = await self._talk.answer(" ".join(words), lambda call: self._take(Invoke(call)))
        return {"ok": True, "user": text, **({"end": end} if end else {})} | await self._follow()

    async def _start_over(self, words: list[str]) -> Result:
        seed = int(words[0]) if words and words[0].isdigit() else self._reset.seed
        self._reset = Reset(self._reset.state, self._reset.clock, seed, self._reset.weather)
        return await self._begin()

    async def _meet_weather(self, words: list[str]) -> Result:
        if not words or not all(word.isdigit() for word in words[1:]):
            raise Misunderstood("weather takes a profile and perhaps a seed.")
        weather = {"profile": words[0], "seed": int(words[1]) if len(words) > 1 else 0}
        try:
            self._reset = Reset(self._reset.state, self._reset.clock, self._reset.seed, weather)
        except ValueError as error:
            raise Misunderstood(str(error)) from None
        return await self._begin()

    async def _write_blob(self, words: list[str]) -> Result:
        if len(words) != 2:
            raise Misunderstood("blob takes a hash and a file.")
        seen = await self._session.step(Fetch(words[0]))
        if seen.outcome != "ok":
            return _describe(seen)
        return {
            "ok": True,
            "file": words[1],
            "bytes": _save(Path(words[1]), base64.b64decode(seen.parts[0]["data"])),
        }


def _save(path: Path, data: bytes) -> int:
    try:
        return path.write_bytes(data)
    except OSError as error:
        raise Misunderstood(f"{path} cannot be written: {error}.") from None


def _pick(value: Json, path: list[str]) -> Json:
    for key in path:
        if is_array(value):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        else:
            value = value.get(key) if is_object(value) else None
    return value


def _describe(seen: Observation) -> Result:
    told: Result = {"ok": seen.outcome == "ok", "outcome": seen.outcome}
    if seen.outcome != "ok":
        told |= {"code": seen.code, "message": seen.message}
    beside = {
        "parts": seen.parts,
        "notifications": seen.notifications,
        "delay": seen.delay,
        "weather": seen.weather,
    }
    return told | {name: value for name, value in beside.items() if value}


def _read_object(text: str) -> dict[str, Json]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Misunderstood(f"The arguments are no JSON: {error}.") from None
    return found


def _read_argument(word: str) -> tuple[str, Json]:
    name, sign, text = word.partition("=")
    if not sign:
        raise Misunderstood(f"{word!r} is no name=value; type `help` for what can be said here.")
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text
