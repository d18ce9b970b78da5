"""Input that a real author's recorded tasks cost with today's prompts, beside the prompts of
405286e (`prompt_tasks/`).

Input is what is not cached and a tenth of what is. The tasks of a recipe are one run, sent in the
recorded order. A reply schema that the server enforces is counted before the text, as it is sent.
Repairs, agents and judges are in neither side.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from schemas.base import Json, canonical_json
from tests.bench.prompt_tasks.sent import Sent, read_sent
from tests.bench.prompt_tasks.today import Asked, render_today
from tests.bench.prompt_tasks.tokens import split, weigh


def rows() -> Iterator[dict[str, Any]]:
    """Overall, then each prompt of each recipe."""
    tasks = read_sent()
    today = render_today(tasks)
    assert not (missing := [task.id for task in tasks if task.id not in today]), (
        f"not asked for today: {missing}"
    )
    before, after = (
        weigh_runs(tasks, {task.id: Asked(task.text, task.schema) for task in tasks}),
        weigh_runs(tasks, today),
    )
    yield _row("input", f"input of {len(tasks)} recorded tasks", before, after, tasks)
    for name in sorted({(task.recipe, task.kind) for task in tasks}):
        chosen = [task for task in tasks if (task.recipe, task.kind) == name]
        yield _row("/".join(name), f"input of {len(chosen)}", before, after, chosen)


def weigh_runs(tasks: Sequence[Sent], prompts: Mapping[str, Asked]) -> dict[str, float]:
    """Id of a task → what its input costs."""
    found: dict[str, float] = {}
    for _, run in groupby(tasks, key=lambda task: task.recipe):
        sent = list(run)
        texts = [
            _split_schema(prompts[task.id].schema) + split(prompts[task.id].text) for task in sent
        ]
        found |= {task.id: cost for task, cost in zip(sent, weigh(texts), strict=True)}
    return found


def _split_schema(schema: Json) -> list[str]:
    return split(canonical_json(schema)) if schema else []


def _row(
    name: str,
    what: str,
    before: Mapping[str, float],
    after: Mapping[str, float],
    tasks: Sequence[Sent],
) -> dict[str, Any]:
    measured, baseline = (sum(side[task.id] for task in tasks) for side in (after, before))
    return {"id": name, "what": what, "measured": measured, "baseline": baseline, "unit": "tokens"}
