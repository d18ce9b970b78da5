"""A model's summary of what went wrong so far, which the author of the next version reads before
the complaints (AWM)."""

from collections.abc import Sequence
from dataclasses import replace

from envmill.base.errors import BadReply
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from schemas.environment import Blueprint
from schemas.table_prompts import ErrorsInput, ErrorsReply

MANY = 5
"""Complaints about one version from which they are summed up; of several versions any are."""


def load_errors() -> Prompt:
    return Prompt.load(PROMPTS / "awm" / "errors.md", ErrorsInput, ErrorsReply)


async def sum_errors(
    prompt: Prompt, plan: Blueprint, failed: Sequence[Sequence[Complaint]], repair: Repair, models: ModelSession
) -> Repair:  # fmt: skip
    """The repair with a summary; as it was where there is little to sum up, or nobody can read the
    summary."""
    if len(failed) < 2 and len(repair.complaints) < MANY:
        return repair
    about = plan.model_dump(include={"name", "rules", "tools"})
    versions = [[complaint.render() for complaint in complaints] for complaints in failed]
    try:
        reply = await models.ask(
            prompt,
            ErrorsInput.model_validate({"brief": plan.brief, **about, "versions": versions}),
            ErrorsReply,
        )
    except BadReply:
        return repair
    return replace(repair, summary=reply.summary.strip())
