"""Mine: text → theme of an environment, if there is one in it, with scores; and of all themes, those that are worth a blueprint.

text ─► judged: stateful? of one field of work? useful? can it be modelled? ─► seed
seeds ─► near-duplicates out ─► clusters of like themes, a quota each ─► as many as the run wants
"""

import re
from collections.abc import Mapping, Sequence

from envmill.gates.base import Finding, drop, keep
from envmill.models.embedders.base import Vector
from envmill.models.embedders.lexical import Lexical, place_text
from envmill.models.gateway import ModelSession
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.corpus import Text
from schemas.prompts import ThemeReply
from schemas.seed import Seed

GATE = "theme"
CHOICE = "choice"
_DUPLICATE = 0.6
"""Similarity from which two themes are one. Counted by words alone: one world told in other words comes to 0.60 to 0.75, and no two of the
41 themes of the factory to more than 0.33. What is missed, W10 finds when it is built."""
_ALIKE = 0.3
"""Similarity from which two themes belong to one cluster."""
_THEME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+){0,5}")


async def mine_text(subject: Subject[Text], context: RunContext, models: ModelSession) -> Result:
    """Ask the recipe what environment a text comes from; what is none, or not worth building, says why. Without a corpus, grow themes."""
    if not context.config.corpus:
        return await _grow(subject, context, models)
    reply = await context.recipe.find_theme(subject.record.text, models)
    evidence = reply.model_dump(mode="json")
    if fault := _find_fault(reply, context.config.score):
        return Result(findings=(drop(GATE, *fault, evidence),))
    seed = context.recipe.make_seed(reply, subject.record.licence, subject.id, context.config)
    return Result((seed,), (keep(GATE, evidence),))


async def _grow(subject: Subject[Text], context: RunContext, models: ModelSession) -> Result:
    """Every theme becomes a seed, so that what is turned down later has a row of its own; what is no place of work scores lowest."""
    replies = await context.recipe.grow(subject.record.text, models)
    judged = [one if one.stateful and one.specific else one.model_copy(update={"usefulness": 1, "modelability": 1}) for one in replies]
    seeds = {
        seed.id: seed for seed in (context.recipe.make_seed(one, subject.record.licence, subject.id, context.config) for one in judged)
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
    if not _THEME.fullmatch(reply.theme) or not reply.description.strip():
        return "no_theme", f"{reply.theme!r} is no theme of one to six words in snake_case with a description"
    if reply.usefulness < least:
        return "not_useful", f"usefulness {reply.usefulness} of {least}: {reply.reason}"
    if reply.modelability < least:
        return "not_modelable", f"modelability {reply.modelability} of {least}: {reply.reason}"
    return None


def choose_seeds(seeds: Sequence[Seed], wanted: int, least: int = 0) -> Mapping[str, Finding]:
    """Seeds that go no further, by id. Better ones come first, among equals in id order, and clusters take turns."""
    found = {seed.id: drop(CHOICE, *fault) for seed in seeds if (fault := _find_seed_fault(seed, least))}
    ranked = sorted((seed for seed in seeds if seed.id not in found), key=lambda seed: (-(seed.usefulness + seed.modelability), seed.id))
    clusters: list[list[tuple[Seed, Vector]]] = []
    for seed in ranked:
        vector = place_text(f"{seed.brief.theme.replace('_', ' ')} {seed.brief.text}")
        likeness, like, cluster = _find_nearest(vector, clusters)
        if like is not None and (likeness >= _DUPLICATE or like.brief.theme == seed.brief.theme):
            found[seed.id] = drop(
                CHOICE, "near_duplicate", f"similarity {likeness:.2f} ({Lexical.label}) to {like.id} {like.brief.theme!r}"
            )
        elif cluster is not None and likeness >= _ALIKE:
            cluster.append((seed, vector))
        else:
            clusters.append([(seed, vector)])
    return found | _keep_quota(clusters, wanted)


def _find_seed_fault(seed: Seed, least: int) -> tuple[str, str] | None:
    """What a theme that was mined from a text has been asked already."""
    if not _THEME.fullmatch(seed.brief.theme) or not seed.brief.text.strip():
        return "no_theme", f"{seed.brief.theme!r} is no theme of one to six words in snake_case with a description"
    if seed.usefulness < least:
        return "not_useful", f"usefulness {seed.usefulness} of {least}"
    if seed.modelability < least:
        return "not_modelable", f"modelability {seed.modelability} of {least}"
    return None


def _find_nearest(
    vector: Vector, clusters: Sequence[list[tuple[Seed, Vector]]]
) -> tuple[float, Seed | None, list[tuple[Seed, Vector]] | None]:
    near = [(_multiply(vector, other), seed, cluster) for cluster in clusters for seed, other in cluster]
    return max(near, key=lambda one: one[0], default=(0.0, None, None))


def _multiply(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=False))


def _keep_quota(clusters: Sequence[list[tuple[Seed, Vector]]], wanted: int) -> dict[str, Finding]:
    """One of each cluster, then a second of each, until there are enough."""
    turns = sorted((turn, place) for place, cluster in enumerate(clusters) for turn in range(len(cluster)))
    told = f"{wanted} of {len(turns)} themes are wanted, and the {len(clusters)} clusters take turns"
    left = [(clusters[place][turn][0], turn + 1) for turn, place in turns[wanted:]]
    return {seed.id: drop(CHOICE, "over_quota", f"{told}: it is number {turn} of its cluster") for seed, turn in left}
