"""What a step is told of other runs."""

from pathlib import Path

from envmill.gates.w10 import find_duplicates
from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline.inputs import StepInputs
from schemas.ledger import Evidence
from schemas.run import RunConfig
from tests.gates.specimens import make_studio
from tests.specimens import make_environment

STEP = "environments-filter"


def leave(lake: Lake, run: str, step: str, *rows: Evidence) -> None:
    """What a run leaves of a step, whatever it was configured to."""
    note(lake, run, "started", {})
    lake.publish(rows, [], Stamp(run, step, run * 20, 0, 1, "", "t"))


def test_of_runs_that_began_before_it_knows_what_was_kept(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    shed, studio = make_environment(), make_studio()
    kept = {
        one.id: finding for one in (shed, studio) for finding in find_duplicates([one]).values()
    }
    rows = {
        name: Evidence(gate="W10", subject=name, finding=finding.evidence)
        for name, finding in kept.items()
    }
    leave(
        lake,
        "a",
        STEP,
        rows[shed.id],
        Evidence(gate="W10", subject="env_dropped", finding={"twin": shed.id}),
    )
    leave(lake, "a", "environments-verify", rows[studio.id])
    note(lake, "b", "started", {})
    leave(lake, "c", STEP, rows[studio.id])

    def see(run: str) -> set[str]:
        return {name for name, _ in StepInputs(lake, run, {}, RunConfig(), None).seen(STEP)}  # pyright: ignore[reportArgumentType]

    assert see("a") == set()
    assert see("b") == {shed.id}
    assert see("d") == {shed.id, studio.id}
