"""What is for evaluation only: scenarios that repeat a protected benchmark never leave for
training, and no split holds a task of another.

Gate F3 drops such scenarios when they are made. Runs from before a benchmark was protected, and
imported environments, never met it.
"""

from collections.abc import Iterable, Sequence

from envmill.gates.f3 import list_scenario_texts
from envmill.gates.protected_texts import Protected, find_match
from envmill.gates.protecting.reading import Benchmark, BenchmarkTask
from envmill.gates.protecting.same_task import AskedTask, find_same_task
from envmill.gates.protecting.sketch import BenchmarkSource, sketch_benchmark
from schemas.scenario import Scenario


def find_eval_only(scenarios: Iterable[Scenario], protected: Protected | None) -> frozenset[str]:
    """Scenarios outside split `test` that repeat a text or a task of a protected set."""
    if protected is None:
        return frozenset()
    return frozenset(
        one.id for one in scenarios if one.split != "test" and _repeats(one, protected)
    )


def _repeats(scenario: Scenario, protected: Protected) -> bool:
    if any(protected.find(text) for text in list_scenario_texts(scenario).values()):
        return True
    match = protected.find_task(AskedTask.of(scenario))
    return match is not None and match.reason == "same_task"


def find_crossings(
    scenarios: Sequence[Scenario], said: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """Pairs of a scenario of split `train` and one that is held out, which are the same task.
    Templates make sentences alike in many
    domains, so runs of words decide nothing here: it takes the same words from end to end, the same
    solution, or a reader who said so."""
    held = [one for one in scenarios if one.split != "train"]
    if not held or len(held) == len(scenarios):
        return []
    train, out = (
        {one.id for one in scenarios if (one.split == "train") == trained}
        for trained in (True, False)
    )
    read = [
        pair
        for one in said
        for pair in (one, (one[1], one[0]))
        if pair[0] in train and pair[1] in out
    ]
    return sorted({*_compare_splits(scenarios, held), *read})


def _compare_splits(
    scenarios: Sequence[Scenario], held: Sequence[Scenario]
) -> list[tuple[str, str]]:
    sketch = sketch_benchmark(_as_benchmark(held), BenchmarkSource("held out"))
    found: list[tuple[str, str]] = []
    for one in sorted(scenarios, key=lambda one: one.id):
        if one.split == "train":
            same, task = find_match(sketch, one.request), find_same_task(sketch, AskedTask.of(one))
            if same is not None and same.reason == "same_text":
                found.append((one.id, same.source.rpartition(":")[0]))
            elif task is not None and task.reason == "same_task":
                found.append((one.id, task.source))
    return found


def _as_benchmark(scenarios: Sequence[Scenario]) -> Benchmark:
    made = Benchmark({f"{one.id}:1": one.request for one in scenarios})
    for one in scenarios:
        asked = AskedTask.of(one)
        changes = tuple((list(path), op, value) for path, op, value in asked.changes)
        made.tasks.append(
            BenchmarkTask(
                one.id,
                one.request,
                tuple((name, dict(arguments)) for name, arguments in asked.calls),
                changes,
            )
        )
    return made
