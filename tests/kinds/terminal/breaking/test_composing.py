"""Compositions: places apart, requests that say what is noticed and nothing else."""

import itertools
import random

import pytest

from envmill.base.errors import SettingsError
from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.composing import (
    compose,
    find_leaks,
    find_shared,
    find_underivable,
    rate,
    write_request,
)
from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from schemas.system import BrokenSystem, Fault, Proof


@pytest.mark.parametrize("count", [1, 2, 3])
def test_faults_are_in_places_of_their_own(count: int) -> None:
    for name in list_systems():
        broken = compose(load_system(name), count, random.Random(count))
        assert [
            find_shared(*pair)
            for pair in itertools.combinations(broken.faults, 2)
            if find_shared(*pair)
        ] == []
        assert rate(broken)["faults"] == count


def test_the_same_dice_give_the_same_composition() -> None:
    healthy = load_system("proxy", 1)
    assert compose(healthy, 3, random.Random(5)) == compose(healthy, 3, random.Random(5))
    assert (
        len({compose(healthy, 3, random.Random(each)).model_dump_json() for each in range(8)}) > 4
    )


def test_too_many_faults_are_refused_with_how_many_there_can_be() -> None:
    with pytest.raises(SettingsError, match="at most"):
        compose(load_system("website"), 40, random.Random(0))


@pytest.mark.parametrize("name", list_systems())
def test_no_complaint_gives_any_cause_away(name: str) -> None:
    for variation in range(3):
        healthy = load_system(name, variation)
        everything = Proof(
            symptoms={probe: f"{probe} is bad" for probe in healthy.system.complaints}
        )
        request = write_request(healthy, everything, random.Random(variation))
        faults = list(list_faults(healthy, random.Random(variation)))
        assert (
            find_leaks(
                request, healthy, BrokenSystem(system=name, variation=variation, faults=faults)
            )
            == []
        )


def test_what_nobody_could_tell_is_not_complained_of() -> None:
    healthy = load_system("mailqueue")
    broken = Proof(
        symptoms={
            probe: "`/usr/local/bin/postroom` ends with 126: no"
            for probe in ("refuses", "large", "right", "delivers")
        }
    )
    request = write_request(healthy, broken, random.Random(0))
    assert healthy.system.complaints["delivers"] in request
    assert not any(
        healthy.system.complaints[probe] in request for probe in ("refuses", "large", "right")
    )


@pytest.mark.parametrize("said", ["wrong owner", "/etc/ferry/app.ini", "root:root"])
def test_a_leak_is_seen(said: str) -> None:
    healthy = load_system("proxy", 1)
    faults = [
        each
        for each in list_faults(healthy, random.Random(0))
        if (each.operator, each.handle) == ("wrong_owner", "settings")
    ]
    request = f"ferry is down, I think of {said}."
    assert find_leaks(
        request, healthy, BrokenSystem(system="proxy", variation=1, faults=faults)
    ) == [said]


def test_what_cannot_be_read_anywhere_is_named() -> None:
    fault = Fault(
        operator="wrong_port",
        handle="listen",
        places=["/x"],
        break_script="a",
        mend_script="b",
        right=["31337"],
    )
    found = find_underivable(
        load_system("website"), BrokenSystem(system="website", variation=0, faults=[fault])
    )
    assert found == ["wrong_port at listen: 31337"]
