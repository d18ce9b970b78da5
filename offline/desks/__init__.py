"""The offline author of desks: places where an agent and a user with a thing mend faults together.

brief ──compose──► plan · program · tests · atoms · words ──mistakes──► reply text
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from offline.desks.compose import (
    TRADES,
    Desk,
    compose_desk,
    write_atoms,
    write_desk,
    write_program,
    write_tests,
    write_words,
)
from offline.desks.mistakes import MISTAKES
from offline.desks.policy import read_prose, write_prose
from offline.desks.reading import judge_call, write_calls
from offline.dice import make_dice
from offline.faults.repair import end_repair
from schemas.base import Contract, Json
from schemas.dialogue_prompts import PolicyProseInput, PolicyReadingInput, WordsInput
from schemas.prompts import CheckerInput, TesterInput
from schemas.seed import Brief

__all__ = ["MISTAKES", "TRADES", "WRITERS", "answer", "compose_desk", "is_asked", "planted"]

WRITERS: dict[str, Callable[[Desk, Json, int, int], Contract]] = {
    "desk": lambda desk, _inputs, _seed, _sample: write_desk(desk),
    "policy_prose": lambda _desk, inputs, _seed, _sample: write_prose(
        PolicyProseInput.model_validate(inputs)
    ),
    "policy_reading": lambda _desk, inputs, _seed, _sample: read_prose(
        PolicyReadingInput.model_validate(inputs)
    ),
    "desk_program": lambda desk, _inputs, _seed, _sample: write_program(desk),
    "desk_tests": lambda desk, _inputs, _seed, _sample: write_tests(desk),
    "atoms": lambda desk, _inputs, _seed, _sample: write_atoms(desk),
    "words": lambda _desk, inputs, seed, sample: write_words(
        WordsInput.model_validate(inputs), seed, sample
    ),
    "tester": lambda desk, inputs, _seed, _sample: write_calls(
        TesterInput.model_validate(inputs), desk
    ),
    "checker": lambda _desk, inputs, _seed, _sample: judge_call(
        CheckerInput.model_validate(inputs)
    ),
}
"""Prompt → what a faultless author answers."""


def is_asked(prompt: str, inputs: Json) -> bool:
    """Whether a prompt is about a place of this author."""
    return prompt in WRITERS and inputs.get("brief", {}).get("theme") in TRADES


def answer(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """The reply text, with a mistake by seed and rate. Same arguments, same bytes."""
    name, clean = (
        planted(prompt, inputs, seed, sample, mistakes, talk),
        _write(prompt, inputs, seed, sample),
    )
    if name == "unmended":
        return talk[-2]
    return (MISTAKES[prompt][name](clean) if name else clean).model_dump_json()


def planted(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """Name of the mistake that `answer` makes for the same arguments; empty where there is none."""
    known: Mapping[str, Any] = MISTAKES.get(prompt, {})
    if not known:
        return ""
    if not talk:
        first = make_dice("desk", prompt, inputs["brief"], inputs.get("number", 0), seed, sample)
        return first.choice(sorted(known)) if first.random() < mistakes else ""
    if not mistakes or talk[-2] == _write(prompt, inputs, seed, sample).model_dump_json():
        return ""
    again = make_dice("repair", prompt, inputs["brief"], list(talk), seed, sample)
    ending = end_repair(again)
    return {"mended": "", "unmended": "unmended", "mended_wrongly": again.choice(sorted(known))}[
        ending
    ]


def _write(prompt: str, inputs: Json, seed: int, sample: int) -> Contract:
    return WRITERS[prompt](
        compose_desk(Brief.model_validate(inputs["brief"])), inputs, seed, sample
    )
