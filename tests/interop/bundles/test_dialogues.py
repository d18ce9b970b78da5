"""Dialogues in an exported folder: the user that it carries says and does the same, and its judge
comes to the same verdict."""

from collections.abc import Iterator
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.base import Policy
from envmill.agents.limits import RolloutLimits
from envmill.agents.rollout import play_scenario
from envmill.agents.users.manners import MANNERS
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.exporters.base import ExportSet
from envmill.interop.exporters.bundle import export_bundle
from envmill.sandbox import Sandbox
from schemas.rollout import Rollout
from schemas.scenario import Scenario
from tests.kinds.dialogue.actors import ACT_FIRST, AskThenAct
from tests.samples.dialogue import load

LONG = RolloutLimits(steps=90, turns=60)
POLICIES: list[Any] = [find_policy("reference"), AskThenAct(), ACT_FIRST]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    """The card reader as it leaves the factory."""
    home, found = tmp_path_factory.mktemp("out"), load()
    (folder,) = export_bundle(
        ExportSet(environments=(found.environment,), scenarios=found.scenarios)
    )
    for path, data in folder.files.items():
        target = home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    with Bundle(home, trusted=True) as opened:
        yield opened


def follow(
    bundle: Bundle, scenario: Scenario, rollout: Rollout, person: str = "scripted"
) -> tuple[list[str], str, dict[str, object]]:
    """What the user says to the words of a rollout, the state hash at the end, and the verdict."""
    episode, heard = (
        bundle.begin(f"{scenario.number:03d}", form="conversation", person=person),
        list[str](),
    )
    try:
        for entry in rollout.transcript:
            calls = entry.get("tool_calls", ()) if entry["role"] == "assistant" else ()
            for call in calls:
                episode.call(call["name"], call["arguments"])
            if entry["role"] == "assistant" and not calls:
                answer = episode.say(entry["content"])
                heard += [answer["text"]] if answer else []
        return heard, episode.state_hash, episode.score()
    finally:
        episode.close()


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES, ids=lambda one: one.name)
async def test_a_folder_holds_the_same_dialogue(
    policy: Policy, bundle: Bundle, jail: Sandbox
) -> None:
    found = load()
    for scenario in found.scenarios:
        made = await play_scenario(
            policy, scenario, found.environment, jail, "shown", 1, form="conversation", limits=LONG
        )
        said = [
            entry["content"]
            for entry in made.transcript
            if entry["role"] == "user" and not entry.get("tool_calls")
        ][1:]
        heard, state_hash, verdict = follow(bundle, scenario, made)
        assert heard[: len(said)] == said
        assert state_hash == made.final_state_hash
        assert (verdict["outcome"], verdict["reward"], verdict["components"]) == (
            made.outcome,
            made.reward,
            made.components,
        )


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("manner", MANNERS)
async def test_a_folder_has_the_same_users(manner: str, bundle: Bundle, jail: Sandbox) -> None:
    """Each manner says and does in the folder what it does in the factory."""
    found, reference = load(), find_policy("reference")
    for scenario in found.scenarios:
        made = await play_scenario(
            reference,
            scenario,
            found.environment,
            jail,
            "shown",
            1,
            form="conversation",
            manner=manner,
            limits=LONG,
        )
        said = [
            entry["content"]
            for entry in made.transcript
            if entry["role"] == "user" and not entry.get("tool_calls")
        ][1:]
        heard, state_hash, verdict = follow(bundle, scenario, made, person=manner)
        assert heard[: len(said)] == said
        assert (state_hash, verdict["outcome"], verdict["reward"]) == (
            made.final_state_hash,
            made.outcome,
            made.reward,
        )


async def test_a_user_of_ones_own_leaves_no_verdict_on_consent(
    bundle: Bundle, jail: Sandbox
) -> None:
    """The folder does not know what they answered: neither a pass nor a failure."""
    found = load()
    scenario = next(one for one in found.scenarios if any(call.asks for call in one.oracle))
    made = await play_scenario(
        find_policy("reference"),
        scenario,
        found.environment,
        jail,
        "shown",
        1,
        form="conversation",
        limits=LONG,
    )
    _, _, verdict = follow(bundle, scenario, made, person="yours")
    assert (verdict["outcome"], verdict["reward"]) == ("error", None)
