"""Choosing: of all themes that were mined or grown, as many as the run wants, judged against each
other and against earlier runs.

seeds ─► those without a name or below the score out ─► never used before used ─► one by one: worth, less what it shares with those before
                                                                                  └─ likeness of words, words of its name, field of work
With an embedder, themes are clustered first, and a cluster of which fewer were chosen comes before
the others.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envmill.gates.base import Finding, drop
from envmill.language.words import split_words
from envmill.models.embedding import Embed
from envmill.stages.clustering import find_clusters
from schemas.choice import NO_PAST, Past
from schemas.seed import Seed

CHOICE = "choice"
_FIELD = 0.3
"""What a field of work costs that was chosen before: as much as six points of usefulness or
modelability."""
_POINTS = 20
"""Most points of usefulness and modelability together."""
_THEME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+){0,5}")

_Words = Mapping[str, float]
"""Word → weight; the squares add up to 1."""


@dataclass
class _Rated:
    """A seed with what it shares with those that were chosen before it."""

    seed: Seed
    words: _Words
    likeness: float = 0.0
    like: str = ""
    """Theme that it is most like; empty where it is like none."""
    cluster: int = 0
    chosen: int = 0
    """Themes of its cluster that were chosen before it."""

    @property
    def rank(self) -> tuple[int, int, float, str]:
        """Least first: never used before used, then those of clusters that were chosen less, then
        the worthiest."""
        worth = (self.seed.usefulness + self.seed.modelability) / _POINTS - self.likeness
        return self.seed.brief.number, self.chosen, -worth, self.seed.id

    def compare(self, theme: str, words: _Words, field: str) -> None:
        """Count what it shares with a theme that comes before it."""
        likeness = max(_multiply(self.words, words), _share_name(self.seed.brief.theme, theme))
        likeness += _FIELD if field and field == self.seed.field else 0.0
        if likeness > self.likeness:
            self.likeness, self.like = likeness, theme


def choose_seeds(
    seeds: Sequence[Seed],
    wanted: int,
    least: int = 0,
    past: Past = NO_PAST,
    embed: Embed | None = None,
    per_field: int = 0,
) -> Mapping[str, Finding]:
    """Seeds that go no further, by id. What themes share only puts them in an order: none is left
    out for it while more are wanted.

    `embed` clusters the themes, into as many clusters as themes are wanted, and their clusters take turns.

    No more than `per_field` themes of one field of work are chosen, those of earlier runs counted;
    0 sets no limit.

    Of themes to which their author gave one name, the worthiest is chosen: a run has no theme
    twice.
    """
    found: dict[str, Finding] = {
        seed.id: drop(CHOICE, *fault) for seed in seeds if (fault := _find_seed_fault(seed, least))
    }
    left = sorted((seed for seed in seeds if seed.id not in found), key=lambda seed: seed.id)
    used = {theme: text for theme, text in past.named.items() if past.turns.get(theme)}
    weigh = _Weights([*map(_describe, left), *used.values()])
    rated: list[_Rated] = [_Rated(seed, weigh.place(_describe(seed))) for seed in left]
    for theme, text in used.items():
        words = weigh.place(f"{theme.replace('_', ' ')} {text}")
        for one in rated:
            if one.seed.brief.theme != theme:  # one that comes again is ranked by its number
                one.compare(theme, words, "")
    if embed is not None:
        _cluster(rated, wanted, embed)
    held = Counter(past.fields)
    for _ in range(wanted):
        if per_field:
            full = [
                one.seed for one in rated if one.seed.field and held[one.seed.field] >= per_field
            ]
            found |= {
                seed.id: drop(CHOICE, "full_field", _describe_field(seed, per_field))
                for seed in full
            }
            rated = [one for one in rated if one.seed not in full]
        if not rated:
            break
        best = min(rated, key=lambda one: one.rank)
        same = [
            one.seed
            for one in rated
            if one is not best and one.seed.brief.theme == best.seed.brief.theme
        ]
        found |= {
            seed.id: drop(CHOICE, "same_theme", f"its author gave {best.seed.id} the same name")
            for seed in same
        }
        rated = [one for one in rated if one.seed.brief.theme != best.seed.brief.theme]
        held[best.seed.field] += 1
        for one in rated:
            one.compare(best.seed.brief.theme, best.words, best.seed.field)
            one.chosen += embed is not None and one.cluster == best.cluster
    return found | {
        one.seed.id: drop(CHOICE, "over_quota", _describe_rank(one, wanted, len(left)))
        for one in rated
    }


def _cluster(rated: Sequence[_Rated], wanted: int, embed: Embed) -> None:
    numbers = find_clusters(embed([_describe(one.seed) for one in rated]), wanted)
    for one, number in zip(rated, numbers, strict=True):
        one.cluster = number


def is_theme(theme: str, description: str) -> bool:
    """Whether it has a name and a description."""
    return _THEME.fullmatch(theme) is not None and bool(description.strip())


def _find_seed_fault(seed: Seed, least: int) -> tuple[str, str] | None:
    """What a theme that was mined from a text has been asked already."""
    if not is_theme(seed.brief.theme, seed.brief.text):
        return (
            "no_theme",
            f"{seed.brief.theme!r} is no theme of one to six words in snake_case with a "
            "description",
        )
    if seed.usefulness < least:
        return "not_useful", f"usefulness {seed.usefulness} of {least}"
    if seed.modelability < least:
        return "not_modelable", f"modelability {seed.modelability} of {least}"
    return None


def _describe_field(seed: Seed, per_field: int) -> str:
    return (
        f"{per_field} themes of the field {seed.field!r} are chosen already, of this run or of "
        "earlier ones"
    )


def _describe_rank(one: _Rated, wanted: int, candidates: int) -> str:
    told = (
        f"{wanted} of {candidates} themes are wanted; usefulness {one.seed.usefulness}, "
        f"modelability {one.seed.modelability}"
    )
    again = f", used {one.seed.brief.number} times by earlier runs" if one.seed.brief.number else ""
    return f"{told}{again}" + (
        f", it shares {one.likeness:.2f} with {one.like!r}" if one.like else ""
    )


def _describe(seed: Seed) -> str:
    return f"{seed.brief.theme.replace('_', ' ')} {seed.brief.text}"


class _Weights:
    """Weights of words: what most texts say says little."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = len(texts)
        self._holding = Counter(word for text in texts for word in _list_words(text))

    def place(self, text: str) -> _Words:
        weights = {
            word: math.log(1 + self._texts / max(1, self._holding[word]))
            for word in _list_words(text)
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}


def _list_words(text: str) -> Iterable[str]:
    """Each word once, one and many alike."""
    return dict.fromkeys(word.rstrip("s") or word for word in split_words(text))


def _multiply(one: _Words, other: _Words) -> float:
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())


def _share_name(one: str, other: str) -> float:
    """Words in both names among those in either."""
    first, second = set(one.split("_")), set(other.split("_"))
    return len(first & second) / len(first | second)
