"""Every hostile program is contained in every place, the sandbox works on, and each attack is
real."""

import json
import os
from functools import cache

import pytest

from tests.hostile.assault import Seen, find_breach
from tests.hostile.corpus import CORPUS, Attack
from tests.hostile.engine import OPEN, NoEngine
from tests.hostile.places import PLACES, Lacking, Scene, check_layers, play, start_engine
from tests.hostile.scene import choose
from tests.soak import count

EXTENT = ("brief", "all")[count(0, 1)]
"""Waiting for deadlines is the same everywhere: in one place all of it is waited for, elsewhere
under `make soak`."""


def extent_of(place: str) -> str:
    return "all" if place == "vendored" else EXTENT


def go_to(place: str) -> Scene:
    """The scene; where the machine cannot have it, a word about that, and in CI a failure."""
    try:
        return play(place, extent_of(place))
    except (Lacking, NoEngine) as error:
        return give_up(str(error))


def give_up(why: str) -> "Scene":
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.mark.long
@pytest.mark.soak(area="sandbox")
@pytest.mark.parametrize("place", PLACES)
def test_layers_are_those_the_place_is_for(place: str) -> None:
    scene = go_to(place)
    wrong = check_layers(PLACES[place], [name for name, held in scene.layers.items() if held])
    if wrong:
        give_up(f"other layers hold than {place} is for: {wrong}")


@pytest.mark.soak(area="sandbox")
@pytest.mark.parametrize(
    ("place", "name"),
    [
        pytest.param(
            place, name, id=f"{place}-{name}", marks=[pytest.mark.long] * (place == "container")
        )
        for place in PLACES
        for name in choose(extent_of(place))
    ],
)
def test_contained(place: str, name: str) -> None:
    assert find_breach(CORPUS[name], go_to(place).seen[name]) == ""


@cache
def suffer_bare() -> dict[str, list[str]]:
    """What each attack does to a runner without layers, in a throwaway container."""
    lines = map(json.loads, start_engine().run(OPEN, ["tests.hostile.bare"]).splitlines())
    return {line["name"]: line["harms"] for line in lines}


@pytest.mark.long
@pytest.mark.parametrize("name", CORPUS)
def test_real(name: str) -> None:
    try:
        harms = suffer_bare()
    except NoEngine as error:
        give_up(str(error))
    assert CORPUS[name].bare in harms[name]


@cache
def play_loosely() -> dict[str, Seen]:
    """What each attack gets from a sandbox without the layers that stop it, in a throwaway
    container."""
    lines = map(json.loads, start_engine().run(OPEN, ["tests.hostile.scene", "loose"]).splitlines())
    return {line["name"]: Seen(**line["seen"]) for line in lines}


@pytest.mark.parametrize("name", [name for name, attack in CORPUS.items() if attack.control])
def test_without_the_layers_that_stop_it_an_attack_gets_what_it_wants(name: str) -> None:
    try:
        seen = play_loosely()[name]
    except NoEngine as error:
        give_up(str(error))
    assert (seen.trouble, seen.parts) == ("", [{"type": "json", "value": True}])


HARMLESS = Seen(
    "ok", "", [{"type": "json", "value": None}], 0, [{"type": "json", "value": 1}], True
)


@pytest.mark.parametrize(
    ("attack", "changed"),
    [
        pytest.param(
            Attack("", (), "true"),
            {"parts": [{"type": "json", "value": True}]},
            id="got what it wanted",
        ),
        pytest.param(
            Attack("", ("crash",), "true"), {}, id="ended well where it should have failed"
        ),
        pytest.param(
            Attack("", ("crash",), "true"),
            {"outcome": "failure", "code": "build"},
            id="failed otherwise",
        ),
        pytest.param(
            Attack("", (), "true", own=True),
            {"worked": [{"type": "json", "value": 2}]},
            id="next session forged",
        ),
        pytest.param(
            Attack("", (), "true", own=True), {"clean": False}, id="next session elsewhere"
        ),
        pytest.param(Attack("", (), "true", own=True), {"touched": True}, id="outside"),
        pytest.param(Attack("", (), "true", own=True), {"words": 1 << 20}, id="journal"),
        pytest.param(
            Attack("", (), "true", own=True), {"trouble": "KeyError"}, id="sandbox broken"
        ),
    ],
)
def test_a_breach_is_seen(attack: Attack, changed: dict[str, object]) -> None:
    assert find_breach(Attack("", (), "true"), HARMLESS) == ""
    assert find_breach(attack, Seen(**{**HARMLESS.tell(), **changed}))
