"""One step of training on rollouts of an exported folder, by SkyRL's own generator, advantage and
JAX engine."""

import sys
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.consumers.skyrl import CONSUMER, VERSIONS
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.interop.consumers.houses import SOAKING, open_locked_house, run_offline
from tests.interop.consumers.texts import write_call
from tests.specimens import LEND, make_environment, make_scenario

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
WRONG = LEND.arguments | {"tool_id": "T2"}
SCRIPTS = {
    "reference": [write_call(LEND.name, LEND.arguments), "Done."],
    "another tool": [write_call(LEND.name, WRONG), "Done."],
    "malformed": ["<tool_call>\n{lend it\n</tool_call>", "Done."],
    "nothing": ["Done."],
}
SAMPLES = 2
CLOSE = 1e-3


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    shed = make_environment()
    export_set = make_export_set([(make_scenario(shed, say="Done."), shed)])
    folder = write_consumer(CONSUMER, export_set, tmp_path_factory.mktemp("out"))
    scripts = [{"name": name, "texts": texts} for name, texts in SCRIPTS.items()]
    return run_offline(
        open_locked_house("skyrl"),
        Path(__file__).with_name("training.py"),
        [str(folder)],
        {"scripts": scripts, "samples": SAMPLES},
    )


def test_a_step_makes_what_passed_likelier_beside_what_failed(answers: dict[str, Any]) -> None:
    assert answers["versions"]["skyrl-gym"] == VERSIONS["skyrl-gym"]
    told = {one["name"]: one for one in answers["rollouts"]}
    assert [name for name, one in told.items() if one["reward"]] == ["reference"]
    assert [name for name, one in told.items() if one["advantage"] > 0] == ["reference"]
    gained = {name: one["after"] - one["before"] for name, one in told.items()}
    assert gained["reference"] == max(gained.values()) > 0
    assert answers["metrics"]
    sys.stderr.write(f"skyrl, a step: {answers}\n")


def test_sampled_tokens_keep_their_log_probabilities_through_the_loop(
    answers: dict[str, Any],
) -> None:
    """As sampled, and as the engine scores the row that the generator made of them."""
    assert len(answers["apart"]) == SAMPLES
    assert max(answers["apart"]) < CLOSE
