"""The offline author of errands: worlds with things to do in them, composed by seed into request,
truth, tests, image and solution.

brief ──compose──► world, deeds ──► errand · initial test · final test · image · solution ──mistakes──► reply text
"""

from collections.abc import Callable, Sequence

from offline.dice import make_dice
from offline.errands.compose import Job, compose_job
from offline.errands.mistakes import MISTAKES
from offline.faults.repair import end_repair
from schemas.base import Contract, Json
from schemas.errand import ExamReply, SolutionReply
from schemas.seed import Brief

__all__ = ["MISTAKES", "WRITERS", "answer", "compose_job", "planted"]

WRITERS: dict[str, Callable[[Job], Contract]] = {
    "errand": lambda job: job.errand,
    "initial_test": lambda job: ExamReply(source=job.initial_test),
    "final_test": lambda job: ExamReply(source=job.final_test),
    "image": lambda job: job.image,
    "solution": lambda job: SolutionReply(commands=list(job.commands)),
}
"""Prompt → what a faultless author answers."""


def answer(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """The reply text, with a mistake by seed and rate. Same arguments, same bytes."""
    name = planted(prompt, inputs, seed, sample, mistakes, talk)
    if name == "unmended":
        return talk[-2]
    job = _compose(inputs, seed)
    return _write(prompt, MISTAKES[prompt][name](job) if name else job)


def planted(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """Name of the mistake that `answer` makes for the same arguments; empty where there is none.
    `talk`: see `offline.answer`."""
    if not talk:
        first = make_dice("errand", prompt, inputs["brief"], seed, sample)
        return first.choice(sorted(MISTAKES[prompt])) if first.random() < mistakes else ""
    # Sent back for what was another's fault it is as it was.
    if not mistakes or talk[-2] == _write(prompt, _compose(inputs, seed)):
        return ""
    again = make_dice("repair", prompt, inputs["brief"], list(talk), seed, sample)
    ending = end_repair(again)
    return {
        "mended": "",
        "unmended": "unmended",
        "mended_wrongly": again.choice(sorted(MISTAKES[prompt])),
    }[ending]


def _compose(inputs: Json, seed: int) -> Job:
    return compose_job(Brief.model_validate(inputs["brief"]), seed, inputs.get("request", ""))


def _write(prompt: str, job: Job) -> str:
    return WRITERS[prompt](job).model_dump_json()
