"""A folder of rows and sealed bundles, opened."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

from .envrun import Bundle, Episode, FolderError, JailError
from .lanes import Lane, Lanes
from .recalls import RecallFeed
from .rows import SEALED, ScenarioRow, SetError, read_rows
from .session import ScenarioSession, SessionTurn, SessionVerdict

_HOME = Path(__file__).parent.parent
"""The package that an exported folder brings: `public/` and `sealed/` lie in it."""


class ScenarioSet:
    """Scenarios of many environments. Sessions are independent, and many may be open at once, from
    any thread."""

    def __init__(self, folder: Path, lanes: int = 1) -> None:
        self.folder = folder
        self.rows = read_rows(folder)
        self.recalls = RecallFeed.of()
        """What was withdrawn since. Sessions that have begun go on, and are judged."""
        self._known = {row.id: row for row in self.rows}
        self._bundles: dict[str, Bundle] = {}
        self.lanes = Lanes(lanes)
        self._opening = Lock()

    def find(self, scenario: str) -> ScenarioRow:
        """A row by its id."""
        if scenario not in self._known:
            some = ", ".join([*self._known][:3])
            raise SetError(
                f"There is no scenario {scenario!r} in this set. It has {len(self._known)}, "
                f"{some or 'none'} among them."
            )
        return self._known[scenario]

    def begin(
        self, scenario: str, seed: int | None = None, lane: Lane | None = None
    ) -> ScenarioSession:
        """A session of its own; WithdrawnError where the scenario was recalled. Another seed gives
        other ids; verdicts allow for it.

        `lane` is one that was taken for it, and is given back where the session cannot begin.
        """
        return self._open(self.find(scenario), seed, lane, self.recalls.check)

    def _open(
        self,
        row: ScenarioRow,
        seed: int | None,
        lane: Lane | None = None,
        check: Callable[[ScenarioRow], None] | None = None,
    ) -> ScenarioSession:
        own, lane = row.seed if seed is None else seed, lane or self.lanes.take(row.environment)
        try:
            if check:
                check(row)
            with lane.turn:
                episode = self._begin(row, own, lane)
        except BaseException as error:
            if isinstance(error, JailError):
                self.lanes.replace(lane)
            self.lanes.give_back(lane)
            raise
        return ScenarioSession(row, own, episode, self.lanes, lane)

    def branch(
        self, turns: Sequence[SessionTurn], scenario: str, seed: int, lane: Lane | None = None
    ) -> ScenarioSession:
        """A session that has come where another one was after these turns. They are made again;
        another reply or state is a SetError."""
        session = self.begin(scenario, seed, lane)
        try:
            for place, turn in enumerate(turns, 1):
                again = session.repeat(turn)
                if again != turn:
                    raise SetError(
                        f"Turn {place} came to something else when it was made again, so there is "
                        "nothing to branch from."
                    )
        except BaseException:
            session.close()
            raise
        return session

    def log_turns(
        self, turns: Sequence[SessionTurn], scenario: str, seed: int
    ) -> list[dict[str, Any]] | None:
        """What each turn of another session came to, by making it again: the `outcome` of its call
        (`ok`, or the code of the refusal; empty for words), the `state_hash`, and by number
        `goals_met`, `goals_lost`, `guards_broken`, `guards_mended`.

        None where something cannot be said, or a turn comes to something else. It is for a
        trainer's records and in no reward; a policy should not read it.
        """
        with self._open(self.find(scenario), seed) as session:
            before, told = session.measure(), list[dict[str, Any]]()
            for turn in turns:
                reply = session.call(turn.name, turn.arguments) if turn.name else None
                if not turn.name:
                    session.say(turn.text)
                now = session.measure()
                if before is None or now is None or session.turns[-1] != turn:
                    return None
                told.append(
                    {
                        "outcome": _name_outcome(reply),
                        "state_hash": session.state_hash,
                        "goals_met": _subtract(now["goals"], before["goals"]),
                        "goals_lost": _subtract(before["goals"], now["goals"]),
                        "guards_broken": _subtract(now["guards"], before["guards"]),
                        "guards_mended": _subtract(before["guards"], now["guards"]),
                    }
                )
                before = now
        return told

    def warm(self, most: int = 8) -> None:
        """Start every lane: an attempt at the first scenario of so many environments, and its
        verdict, on each."""
        first = {row.environment: row.id for row in reversed(self.rows)}
        for scenario in [*first.values()][-most:]:
            # Side by side, so that each has a lane of its own.
            with ExitStack() as open_ones:
                for session in [
                    open_ones.enter_context(self.begin(scenario)) for _ in self.lanes.shared
                ]:
                    session.judge()

    def judge_moves(
        self,
        scenario: str,
        moves: Sequence[Mapping[str, Any]],
        state_hash: str = "",
        seed: int | None = None,
    ) -> SessionVerdict:
        """The judgement on moves that were made elsewhere, made again here. Another state than was
        recorded makes it an error."""
        with self._open(self.find(scenario), seed) as session:
            for move in moves:
                session.say(move["say"]) if "say" in move else session.call(
                    move["name"], move["arguments"]
                )
            judgement = session.judge()
        if state_hash and judgement.state_hash != state_hash:
            reason = (
                f"the moves lead to the state {judgement.state_hash}, and {state_hash} was recorded"
            )
            return dataclasses.replace(judgement, outcome="error", reward=None, reason=reason)
        return judgement

    def close(self) -> None:
        """End every session, the jail and the judge."""
        self.lanes.close()

    def __enter__(self) -> "ScenarioSet":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self, row: ScenarioRow, seed: int, lane: Lane) -> Episode:
        try:
            return self._find_bundle(row.environment).begin(
                row.number, seed=seed, form=row.form, engine=lane.engine
            )
        except FolderError as error:
            raise SetError(f"{self.folder / SEALED / row.environment}: {error}") from None

    def _find_bundle(self, environment: str) -> Bundle:
        """Its files are compared with SHA256SUMS when it is first opened."""
        with self._opening:
            if environment not in self._bundles:
                self._bundles[environment] = Bundle(self.folder / SEALED / environment)
            return self._bundles[environment]


def open_set(folder: Path | str = _HOME, lanes: int = 1) -> ScenarioSet:
    """The set in a folder; the one this lies in when none is named. `lanes` jails share its
    sessions."""
    return ScenarioSet(Path(folder), lanes)


def _name_outcome(reply: Mapping[str, Any] | None) -> str:
    if reply is None:
        return ""
    return "ok" if reply["ok"] else reply["error"]["code"]


def _subtract(some: Sequence[int], others: Sequence[int]) -> list[int]:
    return [one for one in some if one not in others]
