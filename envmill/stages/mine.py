"""Mine: text → theme of an environment, if there is one in it, with scores.

text ─► of a protected benchmark? ─► judged: stateful? of one field of work? useful? can it be modelled? ─► seed
"""

from envmill.gates.base import drop, keep
from envmill.gates.protected_texts import read_protected
from envmill.models.gateway import ModelSession
from envmill.stages.choosing import is_theme
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.corpus import Text
from schemas.prompts import ThemeReply

GATE = "theme"


async def mine_text(subject: Subject[Text], context: RunContext, models: ModelSession) -> Result:
    """Ask the recipe what environment a text comes from; what is none, or not worth building, says
    why. Without a corpus, grow themes."""
    if not context.config.corpus:
        return await _grow(subject, context, models)
    protected = read_protected(context.settings.protected, context.settings.sketches)
    if protected is not None and (match := protected.find(subject.record.text)) is not None:
        return Result(
            findings=(
                drop(
                    GATE,
                    "protected",
                    f"the text repeats {match.source}, which is for evaluation only",
                    vars(match),
                ),
            )
        )
    reply = await context.recipe.find_theme(subject.record.text, models)
    evidence = reply.model_dump(mode="json")
    if fault := _find_fault(reply, context.config.score):
        return Result(findings=(drop(GATE, *fault, evidence),))
    seed = context.recipe.make_seed(
        reply, subject.record.licence, subject.id, context.config, context.past
    )
    return Result((seed,), (keep(GATE, evidence),))


async def _grow(subject: Subject[Text], context: RunContext, models: ModelSession) -> Result:
    """Every theme becomes a seed, so that what is turned down later has a row of its own; what is
    no place of work scores lowest."""
    replies = await context.recipe.grow(subject.record.text, models)
    judged = [
        one
        if one.stateful and one.specific
        else one.model_copy(update={"usefulness": 1, "modelability": 1})
        for one in replies
    ]
    make, licence = context.recipe.make_seed, subject.record.licence
    seeds = {
        seed.id: seed
        for seed in (make(one, licence, subject.id, context.config, context.past) for one in judged)
    }
    evidence = [one.model_dump(mode="json") for one in replies]
    if not seeds:
        return Result(findings=(drop(GATE, "no_theme", "no place of work was named", evidence),))
    return Result(tuple(seeds.values()), (keep(GATE, evidence),))


def _find_fault(reply: ThemeReply, least: int) -> tuple[str, str] | None:
    if not reply.stateful:
        return "not_stateful", f"nothing is kept that could be read and changed: {reply.reason}"
    if not reply.specific:
        return "not_specific", f"it belongs to no one field of work: {reply.reason}"
    if not is_theme(reply.theme, reply.description):
        return (
            "no_theme",
            f"{reply.theme!r} is no theme of one to six words in snake_case with a description",
        )
    if reply.usefulness < least:
        return "not_useful", f"usefulness {reply.usefulness} of {least}: {reply.reason}"
    if reply.modelability < least:
        return "not_modelable", f"modelability {reply.modelability} of {least}: {reply.reason}"
    return None
