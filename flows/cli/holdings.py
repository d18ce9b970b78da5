"""Records of the lake as the command line hands them to the engine: an environment with its
scenarios, a rollout with both."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from envmill.agents.rescore import Rescored
from envmill.base.errors import SettingsError
from envmill.base.version import __version__
from envmill.front.holdings import Playable, as_playable, find_rollout
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.lake.lineage import WHOLE, find
from envmill.lake.sql import open_lake
from envmill.verifiers.version import find_verifier_version
from flows.cli.question import find_run
from flows.local.home import Home
from schemas.environment import Environment
from schemas.quality import Reverification
from schemas.rollout import Rollout
from schemas.scenario import Scenario

if TYPE_CHECKING:
    from envmill.interop.bundles.envrun.recording import Recording


def read_recorded(path: Path) -> "Recording":
    """What `mcp --record` wrote."""
    from envmill.interop.bundles.envrun.files import FolderError
    from envmill.interop.bundles.envrun.recording import read_recording

    try:
        return read_recording(path)
    except FolderError as error:
        raise SettingsError(str(error)) from None


def find_rollouts(
    home: Home, name: str, run: str
) -> tuple[str, list[tuple[Rollout, Scenario, Environment]]]:
    """The run meant, and the rollout that is named or all of the run's, each with what it was
    played in."""
    lake = Lake(home.settings.lake)
    if name.startswith(f"{Rollout.prefix}_"):
        with open_lake(lake, question=WHOLE) as opened:
            meant = find(opened, name, run).run
        return meant, [find_rollout(home.settings, name, meant)]
    meant = find_run(home, name)
    scenarios = {one.id: one for one in lake.read(Scenario, meant)}
    environments = {one.id: one for one in lake.read(Environment, meant)}
    rollouts = sorted(lake.read(Rollout, meant), key=lambda one: one.id)
    return meant, [
        (one, scenarios[one.scenario], environments[one.environment]) for one in rollouts
    ]


def keep_verdicts(home: Home, run: str, judged: Sequence[Rescored]) -> None:
    """Verdicts of today as rows beside the run's own; one file, nothing of the run is touched."""
    now = datetime.now(UTC).isoformat()
    rows = [
        Reverification(
            subject=one.rollout.id,
            gate="verifier",
            outcome=one.verdict.outcome,
            reward=one.verdict.reward,
            reason=one.verdict.reason,
            judged_at=now,
            components=one.verdict.components,
            evidence=one.verdict.evidence,
            outcome_before=one.rollout.outcome,
            reward_before=one.rollout.reward,
            basis=one.basis,
            verifier_version=find_verifier_version(),
        )
        for one in judged
    ]
    if rows:
        Lake(home.settings.lake).put(
            Reverification,
            rows,
            f"rescore-{uuid4().hex}",
            Stamp(run, "rescore", "", 0, 1, __version__, now),
        )


def open_playable(home: Home, name: str, run: str) -> tuple[Playable, str]:
    """What an id, a file, a bundle folder or a folder below its `scenarios` names, and the scenario
    that was meant, or an empty text."""
    from envmill.front.holdings import find_playable

    folder = Path(name).resolve()
    if not folder.is_dir():
        return find_playable(home.settings, name, run)
    if folder.parent.name != "scenarios":
        return read_playable(folder), ""
    playable, names = (
        read_playable(folder.parents[1]),
        sorted(path.name for path in folder.parent.iterdir() if path.is_dir()),
    )
    return playable, playable.scenarios[names.index(folder.name)].id


def read_playable(folder: Path) -> Playable:
    """A bundle folder, compared with its checksums where it has any."""
    from flows.cli.folders import open_folder

    return as_playable(open_folder(folder))
