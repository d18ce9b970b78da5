"""What is for evaluation only: scenarios that repeat a protected benchmark never leave for
training, and no split holds a task of another.

Gate F3 drops such scenarios when they are made. Runs from before a benchmark was protected, and
imported environments, never met it.
"""

from collections.abc import Iterable, Iterator, Sequence

from envmill.gates.f3 import list_scenario_texts
from envmill.gates.protected_texts import Protected, find_same_text
from envmill.gates.protecting.reading import Benchmark, BenchmarkTask
from envmill.gates.protecting.same_task import AskedTask, find_same_task
from envmill.gates.protecting.sketch import BenchmarkSource, sketch_benchmark
from schemas.scenario import Scenario
from schemas.stored import order


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
    splits = {one.id: one.split for one in scenarios}
    train = {name for name, split in splits.items() if split == "train"}
    if not train or len(train) == len(splits):
        return []
    read = [
        pair
        for one in said
        for pair in (one, (one[1], one[0]))
        if pair[0] in train and pair[1] in splits.keys() - train
    ]
    return sorted({*_compare_splits(scenarios), *read})


def _compare_splits(scenarios: Sequence[Scenario]) -> Iterator[tuple[str, str]]:
    held = _as_benchmark(one for one in scenarios if one.split != "train")
    sketch = sketch_benchmark(held, BenchmarkSource("held out"))
    for one in order(scenarios):
        if one.split == "train":
            same, task = (
                find_same_text(sketch, one.request),
                find_same_task(sketch, AskedTask.of(one)),
            )
            if same:
                yield one.id, same.rpartition(":")[0]
            elif task is not None and task.reason == "same_task":
                yield one.id, task.source


def _as_benchmark(scenarios: Iterable[Scenario]) -> Benchmark:
    """Of each scenario only what is compared is kept."""
    made = Benchmark({})
    for one in scenarios:
        asked = AskedTask.of(one)
        changes = tuple((list(path), op, value) for path, op, value in asked.changes)
        calls = tuple((name, dict(arguments)) for name, arguments in asked.calls)
        made.texts[f"{one.id}:1"] = one.request
        made.tasks.append(BenchmarkTask(one.id, one.request, calls, changes))
    return made
