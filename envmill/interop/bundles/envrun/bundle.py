"""A bundle folder, opened: scenarios to play in its jail, and verdicts on how they ended.

begin ─► Episode: call · advance · say (─► what the user answers) ─► score ─► verdict (pass, fail, or error: nothing was found out)

The process that runs the program is told the initial state, the clock, the seed and the calls;
never a verifier or a reference path. Of the folder everything is data: the jail and the judge are
those beside this file, whichever folder is opened.
"""

import hashlib
import json
import sys
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from .briefing import brief
from .court import JudgeProcess, Verdict
from .digests import refuse_differences
from .episode import CALL, Episode, check_move, make_move
from .fields import Fields, fit
from .files import FolderError, PlainFiles
from .jail import Jail, Message, Session
from .layout import (
    CARRIED,
    MANIFEST,
    PROGRAM,
    PROVENANCE,
    RECORDINGS,
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
RUNTIME = next(path for path in (_HERE / "runtime", _HERE.parents[2] / "runtime") if path.is_dir())
"""The runtime that an exported folder carries; in EnvMill itself, its own."""
ENVIRONMENT = f"{CARRIED}/environment.json"
FORMS = ("single", "conversation")
MANNERS = {"train": ("plain", "terse", "forgetful", "fumbling"), "test": ("chatty", "anxious")}
"""Users who talk differently: those for scenarios of `train` and `validation`, and those kept for
`test`."""
PERSONS = ("scripted", "yours", *MANNERS["train"], *MANNERS["test"])

_MANIFEST = {"name": str, "policy_document": str}
_ENVIRONMENT = {"hash": str, "files": dict, "entry": str, "tools": list}
_SCENARIO = {
    "request": str, "clock": str, "seed": int, "user": dict, "oracle": list, "say": str, "split": str, "polarity": str,
    "initial_state": (dict, str),
}  # fmt: skip


class RunEngine:
    """A jail and a judge, each started when first needed. Many bundles may run on one."""

    def __init__(
        self,
        *,
        trusted: bool = False,
        without: Collection[str] = (),
        apart: bool = False,
        nice: int = 0,
    ) -> None:
        """`apart` runs generated checks in a jail of their own, so that no call waits for one;
        `nice` yields the processor to others."""
        self.trusted, self._without, self._apart, self._nice = trusted, without, apart, nice
        self.numbers = count(1)
        """Numbers of sessions: a jail knows each by its own."""

    @cached_property
    def jail(self) -> Jail:
        return self._start()

    @cached_property
    def checking(self) -> Jail:
        """Where generated checks run."""
        return self._start() if self._apart else self.jail

    @cached_property
    def court(self) -> JudgeProcess:
        return JudgeProcess(_HERE / "judge", lambda: self.checking)

    def _start(self) -> Jail:
        return Jail(RUNTIME, trusted=self.trusted, without=self._without, nice=self._nice)

    def close(self) -> None:
        """End every session, the jails and the judge."""
        for name in ("court", "checking", "jail"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()


class Bundle:
    """One environment with its scenarios."""

    def __init__(
        self,
        folder: Path = _HERE.parent,
        *,
        trusted: bool = False,
        without: Collection[str] = (),
        engine: "RunEngine | None" = None,
    ) -> None:
        """`trusted` lets the program run where the kernel has no layer for it; `without` leaves
        layers out, for tests.

        `engine` is one that several bundles run on; the bundle starts its own when it is left out.
        """
        if sys.version_info < (3, 11):  # noqa: UP036  the user of the folder chose the Python
            raise FolderError(
                f"Python 3.11 or newer is needed, and this is {sys.version.split()[0]}."
            )
        self.folder = folder
        self.files = PlainFiles(folder, skipped=(RECORDINGS,))
        self.compared = refuse_differences(self.files)
        """Whether the folder has SHA256SUMS, and every file is as it says."""
        refuse_strangers(self.files)
        self.about: Message = self._read(MANIFEST, _MANIFEST)
        self.program: Message = self._read_program()
        self._engine = engine or RunEngine(trusted=trusted, without=without)

    @property
    def trusted(self) -> bool:
        """Whether the program may run where the kernel has no layer for it."""
        return self._engine.trusted

    @property
    def jail(self) -> Jail:
        """Where the program and generated checks run; started when first needed."""
        return self._engine.jail

    @property
    def court(self) -> JudgeProcess:
        """Who judges; started when first needed."""
        return self._engine.court

    def tools(self) -> list[Message]:
        """The interface: name, description, parameters, effect, and the actors who may call it."""
        return [
            {name: value for name, value in tool.items() if name != "sibling"}
            for tool in self.program["tools"]
        ]

    def list_scenarios(self) -> list[str]:
        """Names of the scenarios."""
        paths = [path.split("/") for path in self.files.below(SCENARIOS)]
        return [path[0] for path in paths if path[1:] == [SCENARIO]]

    def read_start(self) -> Message | None:
        """Where it can begin without a scenario: the state of the first test, or the first that the
        folder names; None without either."""
        tests: Any = self.files.json(TESTS) if TESTS in self.files else []
        if tests:
            first = fit(
                TESTS,
                tests[0] if isinstance(tests, list) else None,
                {"initial_state": (dict, str)},
                "0",
            )
            return self._pick(first["initial_state"], TESTS, "0.initial_state")
        named = list_states(self.files)
        return read_state(self.files, named[0]) if named else None

    def read_scenario(self, name: str) -> Message:
        """A scenario with its initial state."""
        if name not in self.list_scenarios():
            raise FolderError(
                f"There is no scenario {name!r} here. There are: "
                f"{', '.join(self.list_scenarios())}."
            )
        file = f"{SCENARIOS}/{name}/{SCENARIO}"
        told = self._read(file, _SCENARIO)
        fit(file, told["user"], {"opening": str}, "user")
        for place, call in enumerate(told["oracle"]):
            fit(file, call, CALL, f"oracle.{place}")
        return told | {"initial_state": self._pick(told["initial_state"], file, "initial_state")}

    def find_id(self, name: str) -> str:
        """What a scenario is called where it was made; its name here where that is not told."""
        told = (
            self._read(PROVENANCE, {"scenarios": dict})["scenarios"].get(name)
            if PROVENANCE in self.files
            else None
        )
        return (
            fit(PROVENANCE, told, {"id": str}, f"scenarios.{name}")["id"]
            if told is not None
            else name
        )

    def begin(
        self,
        name: str,
        seed: int | None = None,
        form: str = "single",
        person: str = "scripted",
        clock: str | None = None,
        engine: RunEngine | None = None,
    ) -> Episode:
        """A session of its own on a scenario. Another seed gives other ids and another chance;
        verdicts allow for it.

        In the form `conversation` the user begins with less than everything and tells the rest when
        asked: `scripted` as in the factory,
        a manner by its name, like `terse`, or `yours` where you play the user yourself. `engine`
        runs it elsewhere than the bundle's
        other sessions.
        """
        if person not in PERSONS:
            raise FolderError(f"There is no user {person!r}: {' or '.join(PERSONS)}.")
        if form not in FORMS:
            raise FolderError(f"There is no form {form!r}: {' or '.join(FORMS)}.")
        told = self.read_scenario(name)
        scenario: Message = (
            told
            | ({} if seed is None else {"seed": seed})
            | ({} if clock is None else {"clock": clock})
        )
        place = engine or self._engine
        session = Session(place.jail, self.program, next(place.numbers))
        return Episode(
            session,
            place.court,
            scenario,
            self._read_verifier(name),
            self.brief(scenario["clock"]),
            form,
            person,
        )

    def brief(self, clock: str) -> str:
        """What an agent is told before the first message of a session that begins then."""
        return brief(
            self.about["policy_document"], clock if self.about.get("tells_time", True) else ""
        )

    def play(self, name: str, moves: Sequence[Message]) -> Verdict:
        """The verdict on moves: `{"name", "arguments"}` is a call, `{"say"}` words, `{"advance"}`
        seconds."""
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
        self._engine.close()

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _read_verifier(self, name: str) -> Message:
        """The verifier, the sources of its generated checks among them."""
        home = f"{SCENARIOS}/{name}"
        written, named = read_checks(self.files, home)
        verifier = fit(f"{home}/{VERIFIER}", written, {"goals": list, "guards": list})
        refuse_unnamed(self.files, home, named)
        for part in ("goals", "guards"):
            for place, check in enumerate(verifier[part]):
                fit(f"{home}/{VERIFIER}", check, {"name": str, "op": str}, f"{part}.{place}")
                refuse_unsourced(
                    self.files, home, check["name"], check["op"], check.get("source", "")
                )
        return verifier

    def _read_program(self) -> Message:
        """The program as the jail is told it: the very files under `program/`, which are those that
        an audit reads."""
        program = self._read(ENVIRONMENT, _ENVIRONMENT)
        if program["files"] != {
            path: self.files.source(f"{PROGRAM}/{path}") for path in self.files.below(PROGRAM)
        }:
            raise self.files.complain(
                ENVIRONMENT,
                f"its program is not the one in {PROGRAM}/",
                "Export the folder again.",
                "files",
            )
        if program["hash"] != _hash(program):
            raise self.files.complain(
                ENVIRONMENT,
                "its hash is not that of its program",
                "Export the folder again.",
                "hash",
            )
        return program

    def _pick(self, given: Any, file: str, place: str) -> Message:
        names = list_states(self.files) if isinstance(given, str) else []
        picked = pick_state(self.files, given, {name: name for name in names}, file, place)
        return read_state(self.files, picked) if isinstance(picked, str) else picked

    def _read(self, path: str, fields: Fields) -> Message:
        return fit(path, self.files.json(path), fields)


def _hash(program: Message) -> str:
    """As the factory computes it. The jail knows programs by their hash: under that of a verifier's
    checks one would judge itself."""
    content = {name: program[name] for name in ("files", "entry", "tools")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode()).hexdigest()[:20]


def open_bundle(folder: Path | str = _HERE.parent, *, trusted: bool = False) -> Bundle:
    """The bundle in a folder; the one this lies in when none is named."""
    return Bundle(Path(folder), trusted=trusted)
