"""The offline author of errands: worlds with things to do in them, composed by seed into request, truth, tests, image and solution.

brief ──compose──► world, deeds ──► errand · initial test · final test · image · solution ──mistakes──► reply text
"""

from collections.abc import Callable

from envmill.author.dice import make_dice
from envmill.author.errands.compose import Job, compose_job
from envmill.author.errands.mistakes import MISTAKES
from envmill.author.faults.repair import end_repair
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


def answer(prompt: str, inputs: Json, seed: int, sample: int, mistakes: float) -> str:
    """The reply text, with a mistake by seed and rate. Same arguments, same bytes."""
    job = compose_job(Brief.model_validate(inputs["brief"]), seed, inputs.get("request", ""))
    if name := planted(prompt, inputs, seed, sample, mistakes):
        job = MISTAKES[prompt][name](job)
    return WRITERS[prompt](job).model_dump_json()


def planted(prompt: str, inputs: Json, seed: int, sample: int, mistakes: float) -> str:
    """Name of the mistake that `answer` makes for the same arguments; empty where there is none."""
    first = make_dice("errand", prompt, inputs["brief"], seed, sample)
    before = first.choice(sorted(MISTAKES[prompt])) if first.random() < mistakes else ""
    if not inputs.get("failure"):
        return before
    # Sent back for what was another's fault it is as it was.
    again = make_dice("repair", prompt, inputs["brief"], inputs["failure"], seed, sample)
    ending = end_repair(inputs["failure"], again) if before else "mended"
    return {"mended": "", "unmended": before, "mended_wrongly": again.choice(sorted(MISTAKES[prompt]))}[ending] if mistakes else ""
