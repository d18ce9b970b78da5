"""A bundle folder, opened: scenarios to play in its jail, and verdicts on how they ended.

begin ─► Episode: call · advance · say (─► what the user answers) ─► score ─► verdict (pass, fail, or error: nothing was found out)

The process that runs the program is told the initial state, the clock, the seed and the calls; never a verifier or a reference path.
Of the folder everything is data: the jail and the judge are those beside this file, whichever folder is opened.
"""

import hashlib
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from .court import Court, Verdict, make_error
from .files import Files, FolderError, fault
from .jail import Jail, Message, Session
from .layout import (
    CARRIED,
    MANIFEST,
    PROGRAM,
    PROVENANCE,
    SCENARIO,
    SCENARIOS,
    TESTS,
    VERIFIER,
    list_states,
    pick_state,
    read_checks,
    read_state,
    refuse_strangers,
    refuse_unnamed,
    refuse_unsourced,
)

_HERE = Path(__file__).parent
RUNTIME = next(path for path in (_HERE / "runtime", _HERE.parents[1] / "runtime") if path.is_dir())
"""The runtime that an exported folder carries; in EnvMill itself, its own."""
ENVIRONMENT = f"{CARRIED}/environment.json"
FORMS = ("single", "conversation")
PERSONS = ("scripted", "yours")


Fields: TypeAlias = Mapping[str, Any]
"""Field → its type, or several."""

_MANIFEST = {"name": str, "policy_document": str}
_ENVIRONMENT = {"hash": str, "files": dict, "entry": str, "tools": list}
_SCENARIO = {
    "request": str, "clock": str, "seed": int, "user": dict, "oracle": list, "say": str, "split": str, "polarity": str,
    "initial_state": (dict, str),
}  # fmt: skip
_MOVES = {
    "name": {"name": str, "arguments": dict, "actor": str},
    "say": {"say": str},
    "advance": {"advance": (int, float)},
}
_WORDS = {str: "text", dict: "an object", list: "a list", int: "an integer", (dict, str): "an object or text", (int, float): "a number"}


class Episode:
    """One attempt at a scenario. Replies are what a policy is told; JailError says that the jail broke, and nothing about the policy."""

    def __init__(
        self, bundle: "Bundle", scenario: Mapping[str, Any], verifier: Mapping[str, Any], session: Session, form: str, person: str
    ) -> None:
        self.scenario, self.form, self.person = scenario, form, person
        self._bundle, self._verifier, self._session = bundle, verifier, session
        self._deeds: list[Message] = []
        self._said: list[str] = []
        self._dialogue: list[Message] = []
        self._misstep = ""
        self._done: set[str] = set()
        began = session.reset(scenario)
        self.state_hash: str = began["state_hash"]
        """Hash of the state as it is now; empty when it is unknown."""
        self._broken = not began["ok"]

    @property
    def messages(self) -> list[Message]:
        """What a policy reads first: the policy document where there is one, and what the user says."""
        policy = self._bundle.about["policy_document"]
        return [*([{"role": "system", "content": policy}] if policy else []), {"role": "user", "content": self.opening}]

    @property
    def opening(self) -> str:
        """What the user says first."""
        return self.scenario["request"] if self.form == "single" else self.scenario["user"]["opening"]

    def call(self, name: str, arguments: Mapping[str, Any], actor: str = "agent") -> Message:
        """`{"ok": True, "parts"}`, or `{"ok": False, "error": {code, message}}`: refused, or the environment itself failed."""
        seen = self._session.call(name, dict(arguments), actor)
        asked = {"name": name, "arguments": dict(arguments), "actor": actor}
        code = "" if seen["ok"] else seen["error"]["code"]
        self._deeds.append({"call": asked, "outcome": seen["outcome"], "code": code, "parts": seen.get("parts", [])})
        self._note(seen)
        return {name: seen[name] for name in ("ok", "parts", "error", "delay") if name in seen}

    def advance(self, seconds: float) -> list[Message]:
        """Let time pass; what came meanwhile."""
        seen = self._session.advance(seconds)
        self._note(seen)
        return seen.get("notifications", [])

    def say(self, text: str) -> Message | None:
        """Tell the user something; the last words are those that count most.

        In a conversation the scripted user answers: `{"text", "end"}`. Once `end` is not empty (`content`, `gave_up`) it says no more.
        """
        self._said.append(text)
        if self.form == "single" or self.person == "yours":
            return None
        self._dialogue = [*(self._dialogue or [{"who": "user", "text": self.opening}]), {"who": "agent", "text": text}]
        answer = self._bundle.court.answer(self.scenario, self._dialogue)
        said = " ".join(filter(None, [answer["text"], *map(self._act, answer["does"])]))
        self._dialogue.append({"who": "user", "text": said})
        self._misstep = self._misstep or answer["misstep"]
        return {"text": said, "end": answer["end"]}

    def score(self) -> Verdict:
        """The verdict on the state as it is now, and on what was done and said."""
        end = self._session.state()
        if self._broken or not end["ok"]:
            return make_error("the environment failed, not the policy")
        if self._misstep:
            return make_error(f"the simulated user broke its contract, not the policy ({self._misstep})")
        ending = {"initial": self.scenario["initial_state"], "final": end["state"], "deeds": self._deeds, "said": self._said}
        return self._bundle.court.decide(self._verifier, ending, self.scenario["clock"])

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _act(self, deed: Message) -> str:
        """Make a call that is the user's alone; what they say of it."""
        if deed["name"] in self._done:
            return deed["again"]
        seen = self.call(deed["call"]["name"], deed["call"]["arguments"], deed["call"]["actor"])
        if not seen["ok"]:
            return deed["refused"] + seen["error"]["message"]
        self._done.add(deed["name"])
        return deed["done"]

    def _note(self, seen: Message) -> None:
        self._broken = self._broken or seen["outcome"] == "failure"
        self.state_hash = seen["state_hash"]


class Bundle:
    """One environment with its scenarios."""

    def __init__(self, folder: Path = _HERE.parent, *, trusted: bool = False, without: Collection[str] = ()) -> None:
        """`trusted` lets the program run where the kernel has no layer for it; `without` leaves layers out, for tests."""
        if sys.version_info < (3, 11):  # noqa: UP036  whoever opens the folder chose the Python
            raise FolderError(f"Python 3.11 or newer is needed, and this is {sys.version.split()[0]}.")
        self.folder = folder
        self.files = Files(folder)
        refuse_strangers(self.files)
        self.about: Message = self._read(MANIFEST, _MANIFEST)
        self.program: Message = self._read_program()
        self.trusted, self._without = trusted, without
        self._numbers = count(1)

    @cached_property
    def jail(self) -> Jail:
        """Where the program and generated checks run; started when first needed."""
        return Jail(RUNTIME, trusted=self.trusted, without=self._without)

    @cached_property
    def court(self) -> Court:
        """Who judges; started when first needed."""
        return Court(_HERE / "judge", lambda: self.jail)

    def tools(self) -> list[Message]:
        """The interface: name, description, parameters, effect, and the actors who may call it."""
        return self.program["tools"]

    def list_scenarios(self) -> list[str]:
        """Names of the scenarios."""
        paths = [path.split("/") for path in self.files.below(SCENARIOS)]
        return [path[0] for path in paths if path[1:] == [SCENARIO]]

    def read_start(self) -> Message | None:
        """Where it can begin without a scenario: the state of the first test, or the first that the folder names; None without either."""
        tests: Any = self.files.json(TESTS) if TESTS in self.files else []
        if tests:
            first = _fit(TESTS, tests[0] if isinstance(tests, list) else None, {"initial_state": (dict, str)}, "0")
            return self._pick(first["initial_state"], TESTS, "0.initial_state")
        named = list_states(self.files)
        return read_state(self.files, named[0]) if named else None

    def read_scenario(self, name: str) -> Message:
        """A scenario with its initial state."""
        if name not in self.list_scenarios():
            raise FolderError(f"There is no scenario {name!r} here. There are: {', '.join(self.list_scenarios())}.")
        file = f"{SCENARIOS}/{name}/{SCENARIO}"
        told = self._read(file, _SCENARIO)
        _fit(file, told["user"], {"opening": str}, "user")
        for place, call in enumerate(told["oracle"]):
            _fit(file, call, _MOVES["name"], f"oracle.{place}")
        return told | {"initial_state": self._pick(told["initial_state"], file, "initial_state")}

    def find_id(self, name: str) -> str:
        """What a scenario is called where it was made; its name here where that is not told."""
        told = self._read(PROVENANCE, {"scenarios": dict})["scenarios"].get(name) if PROVENANCE in self.files else None
        return _fit(PROVENANCE, told, {"id": str}, f"scenarios.{name}")["id"] if told is not None else name

    def begin(
        self, name: str, seed: int | None = None, form: str = "single", person: str = "scripted", clock: str | None = None
    ) -> Episode:
        """A session of its own on a scenario. Another seed gives other ids and another chance; verdicts allow for it.

        In the form `conversation` the user begins with less than everything and tells the rest when asked: `scripted` as in the factory,
        or `yours` where you play the user yourself.
        """
        if person not in PERSONS:
            raise FolderError(f"There is nobody called {person!r} to play the user: {' or '.join(PERSONS)}.")
        if form not in FORMS:
            raise FolderError(f"There is no form {form!r}: {' or '.join(FORMS)}.")
        told = self.read_scenario(name)
        scenario = told | ({} if seed is None else {"seed": seed}) | ({} if clock is None else {"clock": clock})
        session = Session(self.jail, self.program, next(self._numbers))
        return Episode(self, scenario, self._read_verifier(name), session, form, person)

    def play(self, name: str, moves: Sequence[Message]) -> Verdict:
        """The verdict on moves: `{"name", "arguments"}` is a call, `{"say"}` words, `{"advance"}` seconds."""
        for place, move in enumerate(moves):
            check_move(move, place=f"move {place + 1}")
        episode = self.begin(name)
        try:
            for move in moves:
                make_move(episode, move)
            return episode.score()
        finally:
            episode.close()

    def close(self) -> None:
        """End every session, the jail and the judge."""
        for name in ("court", "jail"):
            if name in self.__dict__:
                self.__dict__[name].close()

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _read_verifier(self, name: str) -> Message:
        """The verifier, the sources of its generated checks among them."""
        home = f"{SCENARIOS}/{name}"
        written, named = read_checks(self.files, home)
        verifier = _fit(f"{home}/{VERIFIER}", written, {"goals": list, "guards": list})
        refuse_unnamed(self.files, home, named)
        for part in ("goals", "guards"):
            for place, check in enumerate(verifier[part]):
                _fit(f"{home}/{VERIFIER}", check, {"name": str, "op": str}, f"{part}.{place}")
                refuse_unsourced(self.files, home, check["name"], check["op"], check.get("source", ""))
        return verifier

    def _read_program(self) -> Message:
        """The program as the jail is told it: the very files under `program/`, which are those that an audit reads."""
        program = self._read(ENVIRONMENT, _ENVIRONMENT)
        if program["files"] != {path: self.files.source(f"{PROGRAM}/{path}") for path in self.files.below(PROGRAM)}:
            raise self.files.complain(ENVIRONMENT, f"its program is not the one in {PROGRAM}/", "Export the folder again.", "files")
        if program["hash"] != _hash(program):
            raise self.files.complain(ENVIRONMENT, "its hash is not that of its program", "Export the folder again.", "hash")
        return program

    def _pick(self, given: Any, file: str, place: str) -> Message:
        names = list_states(self.files) if isinstance(given, str) else []
        picked = pick_state(self.files, given, {name: name for name in names}, file, place)
        return read_state(self.files, picked) if isinstance(picked, str) else picked

    def _read(self, path: str, fields: Fields) -> Message:
        return _fit(path, self.files.json(path), fields)


def _hash(program: Message) -> str:
    """As the factory computes it. The jail knows programs by their hash: under that of a verifier's checks one would judge itself."""
    content = {name: program[name] for name in ("files", "entry", "tools")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode()).hexdigest()[:20]


def _fit(file: str, value: Any, fields: Fields, place: str = "") -> Message:
    """A value out of a file as an object that has these fields."""
    if not isinstance(value, dict):
        raise fault(file, "it is no object", "Write a JSON object there.", place)
    found: Message = value  # pyright: ignore[reportUnknownVariableType]
    for name, kind in fields.items():
        if name not in found:
            raise fault(file, f"the field {name!r} is missing", "Add it.", place)
        if not isinstance(found[name], kind) or isinstance(found[name], bool):
            mend = f"Write {_WORDS[kind]}."
            raise fault(file, f"the field {name!r} is {str(found[name])[:80]!r}", mend, place)
    return found


def check_move(move: Message, file: str = "moves", place: str = "") -> None:
    """FolderError for what is no move."""
    kind = next((kind for kind in _MOVES if kind in move), "")
    if not kind:
        raise fault(file, f"{str(move)[:80]} is no move", "Write a call as name and arguments, words as say, seconds as advance.", place)
    _fit(file, {"arguments": {}, "actor": "agent"} | move, _MOVES[kind], place)
    if kind == "advance" and not isfinite(move["advance"]):
        raise fault(file, f"{move['advance']} is no number of seconds", "Write a finite one.", place)


def make_move(episode: Episode, move: Message) -> Any:
    """One move; FolderError for what is none."""
    check_move(move)
    if "name" in move:
        return episode.call(move["name"], move.get("arguments", {}), move.get("actor", "agent"))
    if "say" in move:
        return episode.say(move["say"])
    return episode.advance(move["advance"])


def open_bundle(folder: Path | str = _HERE.parent, *, trusted: bool = False) -> Bundle:
    """The bundle in a folder; the one this lies in when none is named."""
    return Bundle(Path(folder), trusted=trusted)
