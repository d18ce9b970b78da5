"""A job: one errand with everything that a faultless author would write for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from offline.dice import make_dice
from offline.errands.base import (
    ErrandGoal,
    ErrandWorld,
    WorldSite,
    code,
    load_deeds,
    load_words,
    render,
)
from offline.errands.worlds import WORLDS
from schemas.cell import Cell
from schemas.errand import Errand, Image
from schemas.seed import Brief

_ALWAYS = '''"""{about}"""

import json
import re
import subprocess
import time
from pathlib import Path


def run(*words, folder="/", text=""):
    """Exit code and output of a program."""
    done = subprocess.run(words, input=text, capture_output=True, text=True, cwd=folder, timeout=20, check=False)
    return done.returncode, done.stdout + done.stderr


def read(path):
    return Path(path).read_bytes().decode()
'''
_CONTENTS = """

def test_files_are_as_told():
    for path, text in {contents!r}.items():
        assert Path(path).is_file(), f"{{path}} is not there"
        assert read(path) == text, f"{{path}} holds something else"
"""
CONTRADICTION = "That file must not be there when you are done."
"""What a mistaken request ends with."""


@dataclass(frozen=True)
class Job:
    """Errand, tests, image, solution; and the world that they were rendered from."""

    world: ErrandWorld
    deeds: tuple[ErrandGoal, ...]
    errand: Errand
    initial_test: str
    final_test: str
    image: Image
    commands: tuple[str, ...]


def compose_job(brief: Brief, seed: int, request: str = "") -> Job:
    """The same brief is the same job, whichever prompt asks; `request` is what was wished for,
    where that is known already."""
    assert brief.cell is not None
    return compose_deeds(
        brief, seed, choose_deeds(load_deeds(brief.theme), brief.cell.steps, brief.number), request
    )


def compose_deeds(brief: Brief, seed: int, deeds: Sequence[ErrandGoal], request: str = "") -> Job:
    """A job of these deeds."""
    assert brief.cell is not None
    dice = make_dice("errand", brief.model_dump(mode="json"), seed)
    words = load_words()
    spot = WorldSite(dice.choice(words["folders"][brief.cell.persona]), dice, words)
    world = WORLDS[brief.theme](spot)
    errand = _write_errand(world, deeds, brief.cell, spot)
    asked = list_asked(deeds)
    final = _write_test("What was asked for.", [*_list_helpers(world, asked), *asked], world)
    if CONTRADICTION in request:
        final += (
            "\n\ndef test_nothing_is_left():\n    assert not "
            f'Path({errand.places[0]!r}).exists(), "it is still there"\n'
        )
    standing = {path: text for path, text in world.files.items() if path not in world.gone}
    return Job(
        world,
        tuple(deeds),
        errand,
        _write_test(
            "The machine before anybody acts.",
            [_CONTENTS.format(contents=standing), world.initial],
            world,
        ),
        final,
        _write_image(world),
        tuple(render(step, world.values) for each in deeds for step in each.steps),
    )


def choose_deeds(deeds: Sequence[ErrandGoal], steps: int, number: int) -> tuple[ErrandGoal, ...]:
    """Every choice of so many before one comes again."""
    choices = list(combinations(deeds, min(steps, len(deeds))))
    return choices[number * 3 % len(choices) if len(choices) % 3 else number % len(choices)]


def _write_errand(
    world: ErrandWorld, deeds: Sequence[ErrandGoal], cell: Cell, spot: WorldSite
) -> Errand:
    who = {"persona": cell.persona, "about": cell.about}
    opening, closing = (
        render(spot.dice.choice(spot.words["openings"]), who),
        spot.dice.choice(spot.words["closings"]),
    )
    asks = [render(each.ask, world.values) for each in deeds]
    wanted = [
        asks[0],
        *(
            f"{spot.words['links'][place % 3]}{each[0].lower()}{each[1:]}"
            for place, each in enumerate(asks[1:])
        ),
    ]
    files = "\n".join(f"{path}:\n{text}" for path, text in world.files.items())
    places = [render(place, world.values) for each in deeds for place in each.places]
    return Errand(
        request="\n\n".join([opening, *wanted, closing]),
        at_first=f"{render(world.first, world.values)}\n{files}".strip(),
        at_the_end="\n".join(render(each.end, world.values) for each in deeds),
        places=list(dict.fromkeys(places)),
        answers=[render(answer, world.values) for each in deeds for answer in each.answers],
        restarts=list(
            dict.fromkeys(render(name, world.values) for each in deeds for name in each.restarts)
        ),
    )


def list_asked(deeds: Sequence[ErrandGoal]) -> list[str]:
    """What each wants, and that it was not taken for another one that nobody wants here."""
    wanted = {each.name for each in deeds}
    return [
        *(each.test for each in deeds),
        *(test for each in deeds for other, test in each.unless.items() if other not in wanted),
    ]


def _list_helpers(world: ErrandWorld, asked: Sequence[str]) -> list[str]:
    """Functions of the world's own test that those of the deeds call."""
    functions = [
        each.strip("\n")
        for each in world.initial.split("\n\n\n")
        if not each.strip("\n").startswith("def test_")
    ]
    return [
        each
        for each in functions
        if any(f"{each.split('(')[0].removeprefix('def ')}(" in test for test in asked)
    ]


def _write_test(about: str, parts: Sequence[str], world: ErrandWorld) -> str:
    functions = [function.strip("\n") for part in parts for function in part.split("\n\n\n")]
    told = [
        _ALWAYS.format(about=about).rstrip("\n"),
        *(code(each, world.values) for each in functions if each),
    ]
    return "\n\n\n".join(dict.fromkeys(told)) + "\n"


def _write_image(world: ErrandWorld) -> Image:
    lines = [
        "FROM envmill/base:1",
        *(["COPY root/ /"] if world.files else []),
        *(f"RUN {render(each, world.values)}" for each in world.runs),
    ]
    return Image(
        recipe="\n".join([*lines, ""]),
        files={f"root{path}": text for path, text in world.files.items()},
        services=dict(world.services),
        volatile=list(world.volatile),
    )
