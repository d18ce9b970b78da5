"""Scenarios of several requests, written, played, judged, replayed and exported; and what an author
is told who writes one only."""

from collections import Counter
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.agents import find_policy
from envmill.agents.attempts import choose_form
from envmill.agents.reference import ScriptedPolicy, script
from envmill.agents.replay import replay_rollout
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.base.errors import SettingsError
from envmill.gates import GATES
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.interop.exporters.rl import pose as pose_rows
from envmill.kinds.findings import GateContext, ScenarioCase
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.recipes.drafting.requests import MOST_CALLS
from envmill.sandbox import Sandbox
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Fact, Scenario
from tests.recipes.test_awm import Scripted
from tests.recipes.test_envfactory import RECIPE, SEED, THEME, build, read
from tests.soak import count


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def built() -> Environment:
    return await build(Scripted())


async def pose_in_turn(
    jail: Sandbox, environment: Environment, models: Scripted, number: int
) -> Result:
    nothing: Any = None
    config = RunConfig(
        recipe="envfactory", seed=SEED, polarities={"achieve": 1}, suspicions="keep", requests=3
    )
    context = RunContext("r", config, nothing, RECIPE, nothing, jail)
    return await generate_draft(
        Subject("x", "y", THEME, ScenarioSlot(environment, number)),
        context,
        cast(ModelSession, models),
    )


async def finish_in_turn(jail: Sandbox, environment: Environment, number: int = 2) -> Scenario:
    draft, _ = read(await pose_in_turn(jail, environment, Scripted(), number))
    return await finish(await prepare(draft, environment, jail), "binary", jail)


class OneRequest(Scripted):
    """Writes one request, whatever it is asked for."""

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
        told = await super().ask(prompt, inputs, reply, **other)
        return told.model_copy(update={"requests": []}) if prompt.name == "topology" else told


@pytest.mark.long
async def test_a_scenario_makes_one_two_and_three_requests_in_turn(
    built: Environment, jail: Sandbox
) -> None:
    for number, wanted in ((1, 2), (2, 3), (3, 1)):
        draft, _ = read(await pose_in_turn(jail, built, Scripted(), number))
        assert len(draft.parts) == (wanted if wanted > 1 else 0)
        if draft.parts:
            assert sum(part.calls for part in draft.parts) == len(draft.oracle)
            assert all(1 <= part.calls <= MOST_CALLS for part in draft.parts)
            assert [draft.user.opening, *draft.user.later] == [part.request for part in draft.parts]
            assert all(part.request in draft.request for part in draft.parts)
            assert not draft.user.hidden
    stopped = (await pose_in_turn(jail, built, OneRequest(), 1)).stopped_by
    assert stopped is not None
    assert stopped.reason == "chain_other_requests"


class Ignoring(Scripted):
    """Writes another number of requests than it is asked for: one, one less or one more, in
    turn."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = cycle(
            [lambda found: [], lambda found: found[:-1], lambda found: [*found, found[-1]]]
        )

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **other: Any) -> Any:
        told = await super().ask(prompt, inputs, reply, **other)
        return (
            told.model_copy(update={"requests": next(self.ways)(told.requests)})
            if prompt.name == "topology"
            else told
        )


SCENARIOS, EVERY = count(4, 300), count(2, 5)


@pytest.mark.long
@pytest.mark.soak(area="mechanisms")
async def test_who_ignores_how_many_requests_are_wanted_is_sent_back(
    built: Environment, jail: Sandbox
) -> None:
    """In a soak 300 scenarios of two or three requests, 60 of an author who ignores it. None of an
    honest one is refused for it: whose
    path the program refuses slipped elsewhere, and is one in a hundred at most."""
    ignoring, found = Ignoring(), Counter[str]()
    for place in range(SCENARIOS):
        skips, number = place % EVERY == 0, place // 2 * 3 + place % 2 + 1
        stopped = (
            await pose_in_turn(jail, built, ignoring if skips else Scripted(), number)
        ).stopped_by
        found[
            ("skipped" if skips else "honest") + (f": {stopped.reason}" if stopped else ": passed")
        ] += 1
    assert {name for name in found if name.startswith("honest")} <= {
        "honest: passed",
        "honest: chain_refused",
    }, found
    assert found["honest: chain_refused"] <= SCENARIOS // 100, found
    assert found["skipped: passed"] <= SCENARIOS // EVERY // 20, found


def list_words(rollout: Rollout) -> list[str]:
    return [entry["content"] for entry in rollout.transcript if entry["role"] == "user"]


class Fewer:
    """Does what the first requests ask for, and only says that it did the rest."""

    name = "fewer"

    def __init__(self, many: int) -> None:
        self._many = many

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> ScriptedPolicy:
        done = sum(part.calls for part in scenario.parts[: self._many])
        return script(
            scenario, [[call] if place < done else [] for place, call in enumerate(scenario.oracle)]
        )


async def test_requests_are_made_in_turn_over_one_state(built: Environment, jail: Sandbox) -> None:
    scenario = await finish_in_turn(jail, built)
    asked = [part.request for part in scenario.parts]
    played = await play_scenario(
        find_policy("reference"), scenario, built, jail, "probe", 0, form="conversation"
    )
    assert (played.outcome, played.termination, list_words(played)) == (
        "pass",
        "user_stopped",
        asked,
    )
    assert await replay_rollout(played, scenario, built, jail) is None
    assert not (await rescore(played, scenario, built, jail)).changed
    for many in range(len(asked)):
        fewer = await play_scenario(
            Fewer(many), scenario, built, jail, "probe", 0, form="conversation"
        )
        assert (fewer.outcome, list_words(fewer)) == ("fail", asked)
    assert {
        choose_form(RunConfig(form=form), scenario, number)
        for form in ("single", "mixed")
        for number in (0, 1)
    } == {"conversation"}
    assert [row.form for row in pose_rows(scenario, built, {})] == ["conversation"]
    with pytest.raises(SettingsError, match="in turn"):
        await play_scenario(find_policy("reference"), scenario, built, jail, "probe", 0)


async def test_a_bundle_makes_the_requests_in_turn(
    built: Environment, jail: Sandbox, tmp_path: Path
) -> None:
    scenario = await finish_in_turn(jail, built)
    scenario = scenario.model_copy(update={"environment": built.id})
    write_output(pack_environment(built, [scenario]), tmp_path, "r")
    with Bundle(tmp_path / "bundle" / built.id) as bundle:
        episode, calls, heard = (
            bundle.begin(f"{scenario.number:03d}", form="conversation"),
            iter(scenario.oracle),
            list[str](),
        )
        for part in scenario.parts:
            for call in islice(calls, part.calls):
                assert episode.call(call.name, call.arguments)["ok"]
            answer = episode.say(part.say or "Done.")
            assert answer is not None
            heard.append(answer["text"])
        assert heard[:-1] == scenario.user.later
        assert (answer["end"], episode.score()["outcome"]) == ("content", "pass")
        episode.close()


async def test_words_of_one_request_say_no_rival_of_another(
    built: Environment, jail: Sandbox
) -> None:
    """Gates judge a reference path request by request: a value that is right in one of them may be
    wrong in the next one."""
    scenario = await finish_in_turn(jail, built)
    first, second, *rest = scenario.parts
    parts = [
        first.model_copy(update={"say": "It was 96."}),
        second.model_copy(update={"say": "Now it is 120."}),
        *rest,
    ]
    facts = [
        Fact(name="before", kind="number", value=96, rivals=[120], asked=1),
        Fact(name="after", kind="number", value=120, rivals=[96], asked=2),
    ]
    verifier = scenario.verifier.model_copy(update={"facts": facts})
    worded = scenario.model_copy(
        update={"parts": parts, "say": "It was 96.\nNow it is 120.", "verifier": verifier}
    )
    case = ScenarioCase(worded, built)
    for gate in ("S1", "S6"):
        found = await GATES[gate].check(case, GateContext(jail))
        assert found.outcome == "kept", (gate, found)
    swapped = [
        first.model_copy(update={"say": "It was 120."}),
        second.model_copy(update={"say": "Now it is 96."}),
        *rest,
    ]
    wrong = worded.model_copy(update={"parts": swapped, "say": "It was 120.\nNow it is 96."})
    assert (
        await GATES["S1"].check(replace(case, scenario=wrong), GateContext(jail))
    ).outcome == "dropped"
