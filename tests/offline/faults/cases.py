"""Which environments faults are planted in, and how one is asked for."""

import os
import random

import offline as author
from offline.faults import KINDS, PlantedFault
from tests.offline.questions import SEED, THEMES, pose
from tests.soak import count

EVERY = [(prompt, kind) for prompt, kinds in KINDS.items() for kind in kinds]
POLAR = {
    "silent_say": "refuse",
    "tell_in_the_request": "answer",
    "nothing_to_tell": "clarify",
    "wrong_answer": "answer",
    "recited_answer": "escalate",
    "common_words_asked_for": "refuse",
}
"""Kinds that only scenarios of another polarity than `achieve` have a place for."""


def pick_environments(number: int) -> list[tuple[str, int]]:
    """Other themes with every seed of the test run."""
    dice = random.Random(os.environ.get("ENVMILL_SEED", "0"))
    return [(dice.choice(sorted(THEMES)), dice.randrange(20)) for _ in range(number)]


def plant(prompt: str, kind: str, theme: str, number: int) -> PlantedFault | None:
    more = {"polarity": POLAR[kind]} if prompt == "scenario" and kind in POLAR else {}
    return author.plant(prompt, kind, pose(prompt, theme, number, **more), SEED, 0)


SURE = [
    ("tool_lending", 0),
    ("tool_lending", 1),
    ("clinic_scheduling", 0),
    ("clinic_scheduling", 1),
]
"""Here every kind has a place."""
ENVIRONMENTS = pick_environments(count(2, 60)) + SURE
