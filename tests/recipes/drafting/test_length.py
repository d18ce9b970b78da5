"""Length: a path of another length than the brief asks for is sent back; without `calls` none
is."""

import pytest

from envmill.base.errors import SettingsError
from envmill.recipes import check_recipe
from envmill.recipes.drafting.length import find_length_fault
from schemas.environment import Call
from schemas.run import RunConfig
from schemas.scenario import Draft
from schemas.seed import Brief
from tests.specimens import make_environment, make_scenario

SCENARIO = make_scenario(make_environment())


def make_draft(calls: int, polarity: str = "achieve") -> Draft:
    told = SCENARIO.model_dump(include=set(Draft.model_fields)) | {
        "id": "",
        "changes": [],
        "gold_hash": "",
        "schema_version": 3,
    }
    return Draft.model_validate(
        told | {"oracle": [Call(name="look", arguments={})] * calls, "polarity": polarity}
    )


@pytest.mark.parametrize(
    ("wanted", "made", "code"),
    [
        (60, 44, "path_short"),
        (60, 45, ""),
        (60, 60, ""),
        (60, 75, ""),
        (60, 76, "path_long"),
        (120, 30, "path_short"),
        (None, 3, ""),
    ],
)
def test_a_path_has_as_many_calls_as_the_brief_says(
    wanted: int | None, made: int, code: str
) -> None:
    brief = Brief(theme="tool_lending", text="x", number=0, calls=wanted)
    fault = find_length_fault(brief, make_draft(made))
    assert (fault.code if fault else "") == code
    if fault:
        assert f"makes {made} calls" in fault.words
    assert find_length_fault(brief, make_draft(made, "answer")) is None, (
        "what only reads is as long as its lookups"
    )


def test_an_author_that_does_not_count_is_caught() -> None:
    """Sixty of three hundred paths are of the length that authors fall back to; honest ones are
    within a quarter."""
    brief = Brief(theme="tool_lending", text="x", number=0, calls=60)
    short = [3 + number % 23 for number in range(60)]
    honest = [46 + number % 29 for number in range(240)]
    assert sum(find_length_fault(brief, make_draft(calls)) is not None for calls in short) == 60
    assert not any(find_length_fault(brief, make_draft(calls)) for calls in honest)


def test_old_ids_stay() -> None:
    assert "calls" not in Brief(theme="t", text="x", number=0).model_dump()


def test_rollouts_must_have_room_for_the_path() -> None:
    check_recipe(RunConfig(calls=30))
    with pytest.raises(SettingsError, match="set `steps` to 90 or more, or `calls` to 32 or fewer"):
        check_recipe(RunConfig(calls=60))
    check_recipe(RunConfig(calls=60, steps=90))
