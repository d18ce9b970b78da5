# pyright: basic, reportMissingImports=false
"""The task: a sample per row of a split."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser

from .playing import begin, close, play
from .scoring import passed
from .sessions import ScenarioRow, SetError
from .worlds import find_set

SPLITS = ("train", "validation", "test")
_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser}


@task
def envmill(
    split: str = "test",
    forms: str | list[str] = "single,conversation",
    scenarios: str | list[str] = "",
    folder: str = "",
) -> Task:
    """Scenarios of one split, or those that are named. A sample that breaks down is the sample's
    error, and the others go on."""
    return Task(
        dataset=MemoryDataset(load_samples(split, forms, scenarios, folder), name="envmill"),
        setup=begin(folder),
        solver=play(),
        scorer=passed(folder),
        cleanup=close,
        fail_on_error=False,
    )


def load_samples(
    split: str = "test",
    forms: str | list[str] = "single,conversation",
    scenarios: str | list[str] = "",
    folder: str = "",
) -> list[Sample]:
    """Samples without targets: what is expected is known to the judge alone."""
    found = find_set(folder)
    wanted = _read_list(forms)
    rows = [row for row in found.rows if row.split == split and row.form in wanted]
    if named := _read_list(scenarios):
        rows = [found.find(name) for name in named]
    elif split not in SPLITS:
        raise SetError(f"There is no split {split!r}: {', '.join(SPLITS)}.")
    if not rows:
        counts = ", ".join(f"{sum(row.split == one for row in found.rows)} {one}" for one in SPLITS)
        raise SetError(
            f"No row of split {split} and form {' or '.join(wanted)} is there. Rows by split: "
            f"{counts}."
        )
    return [_make_sample(row) for row in rows]


def _make_sample(row: ScenarioRow) -> Sample:
    metadata = {
        "scenario": row.scenario,
        "environment": row.environment,
        "kind": row.kind,
        "form": row.form,
        "split": row.split,
    }
    return Sample(
        id=row.id,
        input=[_MESSAGES[one["role"]](content=one["content"]) for one in row.prompt],
        metadata=metadata,
    )


def _read_list(told: str | list[str]) -> list[str]:
    """The command line gives text, or a list where there are commas."""
    return [one for one in (told.split(",") if isinstance(told, str) else told) if one]
