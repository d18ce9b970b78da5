"""NeMo Gym's simple agent on an exported folder, offline: five policies, verdicts from responses
alone, outages, the guard."""

import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.consumers.nemo_gym import CONSUMER, VERSIONS
from tests.interop.bundles.policies import Play
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import SOAKING, open_newer_house, run_offline
from tests.interop.consumers.nights import Night
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
LEAST = 10
"""Environments of each kind."""
PYTHON = 13
"""Minor version that NeMo Gym asks for."""


@dataclass(frozen=True)
class Served:
    """A night, and what NeMo Gym made of it."""

    night: Night
    answers: dict[str, Any]
    versions: dict[str, str]


def _list_turns(play: Play) -> list[dict[str, Any]]:
    calls = [{"call": call.name, "arguments": call.arguments} for call in play.calls]
    return [*calls, *({"say": text} for text in play.said)]


@pytest.fixture(scope="module")
def served(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Served:
    spying, spied = make_spy()
    export_set = replace(
        night.export_set,
        environments=(*night.export_set.environments, spied),
        scenarios=(*night.export_set.scenarios, spying),
    )
    folder = write_consumer(CONSUMER, export_set, tmp_path_factory.mktemp("out"))
    oracles = [play for play in night.plays if play.name == "oracle"]
    early, whole = (_list_turns(play) for play in oracles[:2])
    asked = {
        "scripts": {
            name: {play.scenario.id: _list_turns(play) for play in night.plays if play.name == name}
            for name in dict.fromkeys(play.name for play in night.plays)
        },
        "broken": {
            oracles[0].scenario.id: [early[0] | {"kill": True}, *early[1:]],
            oracles[1].scenario.id: whole,
        },
        "attack": {
            spying.id: [
                {"call": one["name"], "arguments": one["arguments"]}
                for one in list_looks(folder, CONSUMER.package)
            ]
        },
        "clocked": [oracles[0].scenario.id, early],
    }
    python = open_newer_house("nemo_gym", PYTHON, f"nemo-gym=={VERSIONS['nemo-gym']}")
    answer = run_offline(python, Path(__file__).with_name("playing.py"), [str(folder)], asked)
    return Served(night, answer["answers"], answer["versions"])


def test_the_version_is_the_one_that_the_folder_names(served: Served) -> None:
    assert served.versions == VERSIONS


@pytest.mark.parametrize(
    "way", [pytest.param("scripts", id="sessions"), pytest.param("again", id="responses alone")]
)
def test_five_policies_earn_in_the_agent_s_loop_what_they_earn_natively(
    served: Served, way: str
) -> None:
    plays = {(play.scenario.id, play.name): play for play in served.night.plays}
    told = {(one["scenario"], one["name"]): one for one in served.answers[way]}
    assert told.keys() == plays.keys()
    for key, play in plays.items():
        one = told[key]
        assert (one["reward"], one["outcome"], one["mask_sample"]) == (
            play.verdict.reward,
            play.verdict.outcome,
            False,
        ), key
        assert one["state_hash"] == play.state_hash, key
    kinds = Counter(play.environment.kind for play in plays.values() if play.name == "oracle")
    assert set(kinds) == {"stateful", "sql"}
    assert min(kinds.values()) >= LEAST, kinds


def test_an_outage_is_a_masked_sample_that_no_mean_counts(served: Served) -> None:
    """NeMo Gym's rows need a number: it is masked, marked as a failure, and in no metric. A mean of
    both would be a half."""
    told = served.answers["broken"]
    for broken, whole in (told["told"], told["again"]):
        assert (broken["mask_sample"], broken["failure_kind"], broken["outcome"]) == (
            True,
            "judge_failed",
            None,
        )
        assert "_ng_failure_class" in broken["fields"]
        assert (whole["mask_sample"], whole["reward"]) == (False, 1.0)
    assert told["mean"] == 1.0


def test_a_session_that_was_closed_for_another_is_no_failure(served: Served) -> None:
    told = served.answers["lost"]
    assert (told["mask_sample"], told["failure_kind"]) == (True, "judge_failed")
    assert any("out_of_order" in reply for reply in told["replies"])


def test_a_program_that_looks_for_its_verifier_finds_nothing(served: Served) -> None:
    (told,) = served.answers["attack"]
    assert len(told["replies"]) >= 7
    assert find_secrets(told["replies"]) == []
    assert all('"no: ' in reply for reply in told["replies"][:-1])


def test_who_is_let_in(served: Served) -> None:
    told = served.answers["guard"]
    assert (told["other host"], told["page"], told["no token"], told["token"]) == (
        403,
        403,
        401,
        200,
    )
    assert "set ENVMILL_NEMO_GYM_TOKEN" in told["open to all"]
    assert told["mode"] == "stateless"


def test_a_mistake_is_answered_clearly(served: Served) -> None:
    told = served.answers["guard"]
    assert told["unknown"][0] == 404
    assert "There is no scenario 'scn_9'" in told["unknown"][1]
    assert told["nothing"][0] == 422


def test_what_a_call_costs_is_measured(served: Served) -> None:
    """Beside a route that answers a constant. docs/consumers/nemo_gym.md has the numbers."""
    told = served.answers["clock"]
    assert 0 < told["bare"] < 1000
    assert 0 < told["envmill"] < 1000
    sys.stderr.write(f"nemo_gym, ms a call: {told}\n")
