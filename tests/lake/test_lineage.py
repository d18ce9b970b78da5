"""Any record by the beginning of its id, up to its seed and down to what came of it."""

from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from envmill.base.errors import SettingsError
from envmill.lake import lineage
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from schemas.environment import Blueprint
from schemas.ledger import Attrition
from schemas.rollout import Rollout, Trajectory
from schemas.scenario import Draft
from schemas.seed import Brief, Seed
from tests.lake.conftest import exit_row, stamp
from tests.specimens import LEND, ORIGIN, STATE, make_environment, make_scenario, make_tests

BRIEF = Brief(theme="tool_lending", text="A shed.", number=0)
SEED = Seed(recipe="envscaler", brief=BRIEF, licence="CC0-1.0")
BLUEPRINT = Blueprint(
    kind="stateful", brief=BRIEF, name="Shed", summary="", collections={}, rules=[], tools=[], policy_document="", licence="CC0-1.0",
    origin=ORIGIN.model_copy(update={"seed": SEED.id}),
)  # fmt: skip
ENVIRONMENT = make_environment(blueprint=BLUEPRINT.id)
DRAFT = Draft.model_validate(
    make_scenario(ENVIRONMENT).model_dump(
        include={"environment", "initial_state", "request", "user", "polarity", "clock", "seed"}
    )
    | {"number": 0, "oracle": [LEND], "changes": [], "gold_hash": "", "origin": ORIGIN}
)
SCENARIO = make_scenario(ENVIRONMENT, draft=DRAFT.id)
ROLLOUT = Rollout(
    scenario=SCENARIO.id, environment=ENVIRONMENT.id, policy="reference", rollout_group="teacher", attempt=0, seed=0, outcome="pass",
    reward=1.0, components={}, reason="", steps=1, termination="done", final_state_hash="", transcript=[],
)  # fmt: skip
TRAJECTORY = Trajectory(
    rollout=ROLLOUT.id, scenario=SCENARIO.id, environment=ENVIRONMENT.id, policy="reference", messages=[], tools=[], loss=[],
    state_hashes=[], reward=1.0, licence="CC0-1.0",
)  # fmt: skip
LINE = [TRAJECTORY, ROLLOUT, SCENARIO, DRAFT, ENVIRONMENT, BLUEPRINT, SEED]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lake = Lake(tmp_path / "lake")
    for run in ("older", "newer"):
        note(lake, run, "started", {})
        gone: list[Attrition] = [exit_row(one.id, "kept", 1) for one in LINE]
        lake.publish([*LINE, *make_tests(ENVIRONMENT)], gone, stamp(run=run))
    return tmp_path / "lake"


@pytest.fixture
def connection(place: Path) -> DuckDBPyConnection:
    return open_views(Lake(place))


def test_a_trajectory_comes_from_its_seed(connection: DuckDBPyConnection) -> None:
    found = lineage.find(connection, TRAJECTORY.id)
    assert (found.table, found.run, found.runs) == ("trajectories", "newer", ("older", "newer"))
    assert [one.id for one in lineage.trace(connection, found)] == [one.id for one in LINE[1:]]


def test_what_became_of_an_environment(connection: DuckDBPyConnection) -> None:
    made = {
        one.table: one
        for one in lineage.follow(connection, lineage.find(connection, ENVIRONMENT.id))
    }
    assert (made["drafts"].ids, made["tests"].count) == ((DRAFT.id,), 9)
    assert "scenarios" not in made


@pytest.mark.parametrize("length", [5, 10, 24])
def test_the_beginning_of_an_id_is_enough(connection: DuckDBPyConnection, length: int) -> None:
    assert lineage.find(connection, SCENARIO.id[:length]).id == SCENARIO.id


def test_a_run_can_be_named(connection: DuckDBPyConnection) -> None:
    assert lineage.find(connection, SEED.id, "older").run == "older"
    with pytest.raises(SettingsError, match="No record of run other"):
        lineage.find(connection, SEED.id, "other")


def test_an_ambiguous_beginning_names_what_it_may_mean(connection: DuckDBPyConnection) -> None:
    with pytest.raises(
        SettingsError, match=r"'tst_' is the beginning of 9 ids(?s:.*)tst_\w{20}  \(tests\)"
    ):
        lineage.find(connection, "tst_")


@pytest.mark.parametrize("start", ["scn_zzz", "zzz", "scn%", "%", "' or 1=1 --"])
def test_an_unknown_id_is_said_to_be_unknown(connection: DuckDBPyConnection, start: str) -> None:
    with pytest.raises(SettingsError, match="No record of the lake"):
        lineage.find(connection, start)


def test_a_record_is_read_with_its_json(connection: DuckDBPyConnection) -> None:
    values = lineage.read(connection, lineage.find(connection, SCENARIO.id))
    assert values["initial_state"] == STATE
    assert values["run"] == "newer"
