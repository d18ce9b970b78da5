"""Plans and states that nobody could build on are told so in words, and those of the author are
not."""

from typing import Any

import pytest

import offline as author
from envmill.kinds.authoring.state import find_state_faults
from envmill.kinds.plan import find_plan_faults
from offline.faults import render_reply
from schemas.environment import Blueprint
from schemas.prompts import BlueprintReply, ScenarioReply
from tests.offline.questions import SAMPLE, SEED, ask_blueprint, ask_scenario, pose
from tests.specimens import STATE
from tests.stages.test_build import BLUEPRINT

SOUND = BLUEPRINT.model_copy(
    update={
        "collections": {
            name: ["id", *BLUEPRINT.collections[name]] for name in BLUEPRINT.collections
        }
    }
)
TOOLS = SOUND.tools


def name_first(name: str) -> list[Any]:
    return [TOOLS[0].model_copy(update={"name": name}), *TOOLS[1:]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"tools": name_first("reset")}, "'reset' is not allowed", id="a name that collides"
        ),
        pytest.param(
            {"tools": name_first("List Tools")}, "not allowed", id="no name for a function"
        ),
        pytest.param({"tools": [*TOOLS, TOOLS[0]]}, "planned 2 times", id="planned twice"),
        pytest.param(
            {"tools": [one for one in TOOLS if one.effect == "query"]},
            "No tool changes",
            id="nothing changes",
        ),
        pytest.param(
            {"tools": [one for one in TOOLS if one.effect == "change"]},
            "No tool reads",
            id="nothing reads",
        ),
        pytest.param({"collections": {}}, "no collection", id="nothing kept"),
        pytest.param({"collections": BLUEPRINT.collections}, "begin with `id`", id="no id"),
        pytest.param({"rules": []}, "no rule", id="no rules"),
        pytest.param(
            {"rules": [*SOUND.rules, *SOUND.rules]}, "told 2 times", id="the same rule again"
        ),
        pytest.param(
            {"rules": ["At most 2 a day.", "At most 4 a day."]},
            "differ in a number alone",
            id="a rule against another",
        ),
    ],
)
def test_a_plan_nobody_could_build_is_told_so(changes: dict[str, Any], words: str) -> None:
    assert find_plan_faults(SOUND) == []
    assert words in " ".join(find_plan_faults(SOUND.model_copy(update=changes)))


@pytest.mark.parametrize(
    ("given", "kept", "code"),
    [
        pytest.param(
            {"members": STATE["members"]}, STATE, "state_not_kept", id="a collection is lacking"
        ),
        pytest.param(
            {"tools": {"T1": {"name": "saw"}, "T2": {"title": "axe"}}},
            None,
            "records_unlike",
            id="other attributes",
        ),
        pytest.param(
            {"tools": {"T1": {"id": "T7"}}}, None, "records_unlike", id="an id that is not the key"
        ),
        pytest.param(
            {"tools": {"T1": {}}, "loans": {"L1": {"tool_id": "T9"}}},
            None,
            "reference_lost",
            id="refers to nothing",
        ),
        pytest.param(
            {"tools": {"T1": {}}, "loans": {"L1": {"tracking_id": "T9"}}},
            None,
            "",
            id="somebody else's number",
        ),
        pytest.param(
            {"player_sessions": {"S1": {"player_id": "nora_k"}}},
            None,
            "",
            id="a name of another service",
        ),
        pytest.param(
            {"entries": {"E1": {}}, "marks": {"M1": {"entry_id": "E9"}}},
            None,
            "reference_lost",
            id="another plural",
        ),
        pytest.param(
            {"tools": {"T1": {}}, "loans": {"L1": {"tool_id": ""}}},
            None,
            "",
            id="refers to nothing yet",
        ),
        pytest.param({"limit": 3, "tools": {}}, None, "", id="what is no collection"),
    ],
)
def test_a_state_that_does_not_hold_together_is_told_so(
    given: dict[str, Any], kept: Any, code: str
) -> None:
    assert [found for found, _ in find_state_faults(given, kept or given)][:1] == [code][
        : bool(code)
    ]


def test_everything_wrong_with_a_state_is_told_at_once() -> None:
    given: dict[str, Any] = {"tools": {"T1": {"id": "T7"}}, "loans": {"L1": {"tool_id": "T9"}}}
    assert [code for code, _ in find_state_faults(given, {})] == [
        "state_not_kept",
        "records_unlike",
        "reference_lost",
    ]


@pytest.mark.parametrize("theme", SAMPLE)
def test_what_the_author_makes_holds(theme: str) -> None:
    reply = ask_blueprint(theme, 1).model_dump(exclude={"policy"})
    assert (
        find_plan_faults(Blueprint.model_validate(SOUND.model_dump(exclude={"id", *reply}) | reply))
        == []
    )
    state = ask_scenario(theme, 1, 0).initial_state
    assert find_state_faults(state, state) == []


def test_a_fault_of_the_plan_or_the_state_is_mended_by_a_repair() -> None:
    """The author, quoted what was found, answers the question it had answered wrongly."""
    asked = pose("blueprint", SAMPLE[0], 1)
    complaint = "The tool x is planned 2 times."
    right = render_reply(ask_blueprint(SAMPLE[0], 1))
    samples = [
        sample for sample in range(40) if author.planted("blueprint", asked, SEED, sample, 0.9)
    ]
    said = {sample: author.answer("blueprint", asked, SEED, sample, 0.9) for sample in samples}
    mended = [
        author.answer("blueprint", asked, SEED, sample, 0.9, [said[sample], complaint]) == right
        for sample in samples
    ]
    assert sum(mended) > len(mended) / 2
    for kind in ("missing_collection", "dangling_reference"):
        fault = author.plant("scenario", kind, pose("scenario", SAMPLE[0], 1), SEED, 0)
        assert fault is not None
        spoilt, clean = (
            ScenarioReply.model_validate_json(text).initial_state
            for text in (fault.text, fault.clean)
        )
        assert find_state_faults(spoilt, {name: spoilt.get(name, {}) for name in clean})
    assert BlueprintReply.model_validate_json(right)
