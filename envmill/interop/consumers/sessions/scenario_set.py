"""A folder of rows and sealed bundles, opened."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from .envrun import Bundle, Episode, FolderError, JailError, RunEngine
from .recalls import RecallFeed
from .rows import SEALED, ScenarioRow, SetError, read_rows
from .session import ScenarioSession, SessionVerdict

_HOME = Path(__file__).parent.parent
"""The package that an exported folder brings: `public/` and `sealed/` lie in it."""


class ScenarioSet:
    """Scenarios of many environments. Sessions are independent, and many may be open at once, from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = read_rows(folder)
        self.recalls = RecallFeed.of()
        """What was withdrawn since. Sessions that have begun go on, and are judged."""
        self._known = {row.id: row for row in self.rows}
        self._bundles: dict[str, Bundle] = {}
        self._engines = [RunEngine()]
        """The last one begins sessions. Sessions on an earlier one, whose jail failed, may still come to an end."""
        self._opening, self._judging = Lock(), Lock()

    def find(self, scenario: str) -> ScenarioRow:
        """A row by its id."""
        if scenario not in self._known:
            some = ", ".join([*self._known][:3])
            raise SetError(f"There is no scenario {scenario!r} in this set. It has {len(self._known)}, {some or 'none'} among them.")
        return self._known[scenario]

    def begin(self, scenario: str, seed: int | None = None) -> ScenarioSession:
        """A session of its own; WithdrawnError where the scenario was recalled.

        Another seed gives other ids and another chance; verdicts allow for it.
        """
        row = self.find(scenario)
        self.recalls.check(row)
        return self._open(row, seed)

    def _open(self, row: ScenarioRow, seed: int | None) -> ScenarioSession:
        with self._opening:
            episode = self._begin(row, row.seed if seed is None else seed)
        return ScenarioSession(row, episode, self._judging)

    def judge_moves(
        self, scenario: str, moves: Sequence[Mapping[str, Any]], state_hash: str = "", seed: int | None = None
    ) -> SessionVerdict:
        """The judgement on moves that were made elsewhere, made again here. Another state than was recorded makes it an error."""
        with self._open(self.find(scenario), seed) as session:
            for move in moves:
                session.say(move["say"]) if "say" in move else session.call(move["name"], move["arguments"])
            judgement = session.judge()
        if state_hash and judgement.state_hash != state_hash:
            reason = f"the moves lead to the state {judgement.state_hash}, and {state_hash} was recorded"
            return dataclasses.replace(judgement, outcome="error", reward=None, reason=reason)
        return judgement

    def close(self) -> None:
        """End every session, the jail and the judge."""
        with self._opening:
            for engine in self._engines:
                engine.close()

    def __enter__(self) -> "ScenarioSet":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self, row: ScenarioRow, seed: int) -> Episode:
        try:
            return self._find_bundle(row.environment).begin(row.number, seed=seed, form=row.form)
        except JailError:
            self._engines.append(RunEngine())
            self._bundles.clear()
            raise
        except FolderError as error:
            raise SetError(f"{self.folder / SEALED / row.environment}: {error}") from None

    def _find_bundle(self, environment: str) -> Bundle:
        """Its files are compared with SHA256SUMS when it is first opened."""
        if environment not in self._bundles:
            self._bundles[environment] = Bundle(self.folder / SEALED / environment, engine=self._engines[-1])
        return self._bundles[environment]


def open_set(folder: Path | str = _HOME) -> ScenarioSet:
    """The set in a folder; the one this lies in when none is named."""
    return ScenarioSet(Path(folder))
