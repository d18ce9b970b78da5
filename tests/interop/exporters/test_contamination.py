"""What is for evaluation only leaves for training by no exporter; a task in two splits stops the
export; cards say what was compared."""

import tracemalloc
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Self

import pytest

from envmill.gates.protected_texts import Protected, make_sketch
from envmill.gates.protecting.reading import Benchmark, BenchmarkTask
from envmill.gates.protecting.sketch import BenchmarkSource
from envmill.interop.consumers import CONSUMERS, export_for
from envmill.interop.exporters import EXPORTERS, ExportSet
from envmill.interop.exporters.base import ContaminationReport, OutputFolder
from envmill.stages.context import ExportInput
from envmill.stages.eval_only import find_crossings, find_eval_only
from envmill.stages.export import choose_export_set, pack_outputs, unite_loads, unite_reports
from envmill.stages.review import name_pair
from schemas.environment import Call
from schemas.scenario import Scenario, Split
from schemas.stored import StoredRows
from tests.gates.specimens.filtering import PROTECTED
from tests.interop.exporters.specimens import make_export_set

WAY = [
    Call(name="list_tools"),
    Call(name="find", arguments={"name": "Ada Moss", "shelf": "N-417"}),
    Call(name="look", arguments={"tool_id": "T-9083"}),
    Call(name="lend", arguments={"tool_id": "T-9083", "member": "Ada Moss"}),
]
REPORT = ContaminationReport({"bfcl 1": 12}, {"copied": 1.0, "reworded": 0.97}, {})


@pytest.fixture
def protected() -> Protected:
    calls = tuple((call.name, call.arguments) for call in WAY)
    bench = Benchmark({f"tasks:{number}.1": text for number, text in enumerate(PROTECTED, start=1)})
    bench.tasks.append(BenchmarkTask("tasks:9", PROTECTED[0], calls))
    return Protected([make_sketch(bench, BenchmarkSource("bench"))])


def copy(scenario: Scenario, **changes: Any) -> Scenario:
    return Scenario.model_validate(scenario.model_dump(exclude={"id"}) | changes)


def change(export_set: ExportSet, place: int, **changes: Any) -> tuple[ExportSet, Scenario]:
    """One scenario of the export set is another, and what was made of it belongs to that one."""
    old = export_set.scenarios[place]
    new = copy(old, **changes)

    def move(row: Any) -> Any:
        return row.model_copy(update={"scenario": new.id}) if row.scenario == old.id else row

    scenarios = tuple(new if one is old else one for one in export_set.scenarios)
    changed = replace(
        export_set,
        scenarios=scenarios,
        trajectories=tuple(map(move, export_set.trajectories)),
        pairs=tuple(map(move, export_set.pairs)),
    )
    return changed, new


def holds(output: OutputFolder, word: str) -> bool:
    return word in output.scenarios or any(
        word.encode() in content for content in output.files.values()
    )


@pytest.mark.parametrize("name", [*EXPORTERS, *CONSUMERS])
def test_no_exporter_writes_what_is_for_evaluation_only(name: str, protected: Protected) -> None:
    export_set, copied = change(make_export_set(), 0, request=PROTECTED[1])
    export_set, _ = choose_export_set(
        ExportInput(export_set), provisional=True, suspected=True, protected=protected
    )
    chosen = CONSUMERS.get(name)
    outputs = (
        list(export_for(chosen, export_set))
        if chosen
        else pack_outputs(export_set, [name], scripted=True)
    )
    assert not [
        output.name
        for output in outputs
        if holds(output, copied.id) or holds(output, PROTECTED[1][:60])
    ]
    whole, _ = choose_export_set(
        ExportInput(change(make_export_set(), 0, request=PROTECTED[1])[0]), provisional=True
    )
    let_out = (
        list(export_for(chosen, whole)) if chosen else pack_outputs(whole, [name], scripted=True)
    )
    assert name == "harbor" or any(holds(output, copied.id) for output in let_out), (
        "without the protected set it leaves"
    )


def test_a_paraphrase_with_the_same_way_is_for_evaluation_only_and_the_test_split_may_have_it(
    protected: Protected,
) -> None:
    _, same = change(make_export_set(), 0, request="Ada Moss wants what lies on N-417.", oracle=WAY)
    assert find_eval_only([same], protected) == {same.id}
    assert not find_eval_only([copy(same, split="test")], protected)
    assert not find_eval_only(make_export_set().scenarios, protected)
    assert not find_eval_only([same], None)


def test_where_nothing_else_is_left_the_export_says_why(protected: Protected) -> None:
    export_set = make_export_set()
    alone = replace(
        export_set, scenarios=export_set.scenarios[:1], environments=export_set.environments[:1]
    )
    alone, _ = change(alone, 0, request=PROTECTED[1])
    _, findings = choose_export_set(ExportInput(alone), provisional=True, protected=protected)
    assert (findings[-1].outcome, findings[-1].gate, findings[-1].reason) == (
        "dropped",
        "protected",
        "nothing_to_export",
    )


@pytest.mark.parametrize(
    ("train", "held"),
    [
        pytest.param(
            {"request": PROTECTED[0]}, {"request": PROTECTED[0].upper()}, id="the same words"
        ),
        pytest.param(
            {"request": "Ada Moss wants what lies on N-417.", "oracle": WAY},
            {"request": PROTECTED[2], "oracle": WAY},
            id="the same way",
        ),
    ],
)
def test_a_task_in_two_splits_stops_the_export(train: dict[str, Any], held: dict[str, Any]) -> None:
    export_set, one = change(make_export_set(), 0, **train)
    export_set, other = change(export_set, 3, **held)
    assert find_crossings(export_set.scenarios) == [(one.id, other.id)]
    _, findings = choose_export_set(ExportInput(export_set), provisional=True)
    assert (findings[-1].outcome, findings[-1].gate, findings[-1].reason) == (
        "dropped",
        "splits",
        "same_task",
    )
    assert one.id in findings[-1].detail


@pytest.mark.parametrize("order", [1, -1])
def test_a_pair_across_splits_that_a_reader_calls_the_same_task_stops_the_export(
    order: int,
) -> None:
    export_set = make_export_set()
    train = next(one for one in export_set.scenarios if one.split == "train")
    held = next(one for one in export_set.scenarios if one.split != "train")
    said = name_pair(*[train.id, held.id][::order])
    _, findings = choose_export_set(
        ExportInput(export_set, accepted={said: "one errand in two words"}), provisional=True
    )
    assert (findings[-1].outcome, findings[-1].gate, findings[-1].reason) == (
        "dropped",
        "splits",
        "same_task",
    )
    assert findings[-1].evidence == {"pairs": [(train.id, held.id)]}
    _, findings = choose_export_set(ExportInput(export_set), provisional=True)
    assert findings[-1].outcome == "kept", "nobody said so"


def test_a_pair_within_a_split_or_of_what_is_not_exported_stops_nothing() -> None:
    export_set = make_export_set()
    train = [one.id for one in export_set.scenarios if one.split == "train"]
    said = [
        name_pair(train[0], train[1]),
        name_pair(train[0], "scn_of_another_run"),
        "run:r1",
        train[0],
    ]
    _, findings = choose_export_set(
        ExportInput(export_set, accepted=dict.fromkeys(said, "so")), provisional=True
    )
    assert findings[-1].outcome == "kept"


@pytest.mark.parametrize(
    ("splits", "outcome"),
    [
        pytest.param(("train", "test"), "dropped", id="the-same-scenario-in-two-splits"),
        pytest.param(("train", "train"), "kept", id="alike"),
        pytest.param(("validation", "test"), "kept", id="held-out-in-both"),
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_an_environment_in_train_and_held_out_of_two_runs_stops_the_export(
    splits: tuple[Split, Split], outcome: str, number: int
) -> None:
    """Of the same scenario in both runs only the last row is left: it is not seen among the rows
    that are compared."""
    first, second = make_export_set(), make_export_set()
    home = first.scenarios[0].environment
    loads = [
        ExportInput(
            replace(
                part,
                scenarios=(
                    part.scenarios[0 if at == 0 else number].model_copy(update={"split": split}),
                ),
            )
        )
        for at, (part, split) in enumerate(zip((first, second), splits, strict=True))
    ]
    for order in (loads, loads[::-1]):
        _, findings = choose_export_set(unite_loads(order), provisional=True)
        assert findings[-1].outcome == outcome
        if outcome == "dropped":
            assert (findings[-1].gate, findings[-1].reason) == ("splits", "two_splits")
            assert findings[-1].evidence == {"environments": [home]}
    gone = replace(unite_loads(loads), refused=frozenset({home}))
    _, findings = choose_export_set(gone, provisional=True)
    assert findings[-1].reason == "nothing_to_export", "what does not leave stops nothing"


def test_alike_tasks_in_two_splits_and_the_same_task_within_one_stop_nothing() -> None:
    """Templates write the same sentences everywhere; repeats within a split are the business of
    F4."""
    export_set, _ = change(make_export_set(), 0, request=PROTECTED[0])
    export_set, _ = change(
        export_set,
        3,
        request=PROTECTED[0].replace("Raj Sankar", "Mia Hofer").replace("4417", "9083"),
    )
    assert find_crossings(export_set.scenarios) == []
    export_set, _ = change(make_export_set(), 0, request=PROTECTED[0])
    export_set, _ = change(export_set, 1, request=PROTECTED[0])
    assert find_crossings(export_set.scenarios) == []


@pytest.mark.parametrize("name", [*EXPORTERS, *CONSUMERS])
def test_every_folder_says_what_it_was_compared_with_and_the_power_of_that(name: str) -> None:
    export_set = make_export_set()
    near = {export_set.environments[0].id: ["bfcl/ticket_api"]}
    export_set = replace(export_set, contamination=replace(REPORT, near=near))
    chosen = CONSUMERS.get(name)
    for output in (
        export_for(chosen, export_set)
        if chosen
        else pack_outputs(export_set, [name], scripted=True)
    ):
        papers = [
            content.decode()
            for path, content in {**output.files, **output.beside}.items()
            if path.endswith((".json", ".md"))
        ]
        assert any('"compared_with"' in paper and "bfcl 1" in paper for paper in papers), (
            output.name
        )
        cards = [
            paper for paper in papers if "bfcl 1 (12 texts)" in paper and "reworded 97%" in paper
        ]
        assert cards or "README.md" not in {*output.files, *output.beside}
        if export_set.environments[0].id in output.environments:
            assert any("bfcl/ticket_api" in paper for paper in papers)


def test_a_card_without_a_comparison_says_so() -> None:
    (output,) = pack_outputs(make_export_set(), ["dataset"])
    assert "Contamination: not measured." in output.beside["README.md"].decode()


def test_several_runs_have_the_least_power_of_all_and_none_where_one_was_not_compared() -> None:
    other = ContaminationReport(
        {"bfcl 1": 12, "mine": 3}, {"copied": 0.99, "reworded": 0.98}, {"env_x": ["mine/shop"]}
    )
    assert unite_reports([REPORT, other]) == ContaminationReport(
        REPORT.sets, {"copied": 0.99, "reworded": 0.97}, other.near
    )
    assert unite_reports([REPORT, None]) is None
    export_set = replace(make_export_set(), contamination=REPORT)
    assert (
        unite_loads([ExportInput(export_set), ExportInput(export_set)]).export_set.contamination
        == REPORT
    )


class _Large(StoredRows[Scenario]):
    """Scenarios of 100 kB, each made when it is read."""

    def __init__(self, base: Scenario, count: int) -> None:
        splits = ("train", "validation", "test")
        made = {
            name: base.model_copy(
                update={"id": name, "number": number, "split": splits[number % 3]}
            )
            for number in range(count)
            for name in [f"scn_{number:020}"]
        }
        self._made, self.ids = made, [*made]

    def get(self, name: str) -> Scenario:
        state = {"notes": ["x" * 1_000 + str(number) for number in range(100)]}
        return self._made[name].model_copy(update={"initial_state": state})

    def of(self, owner: str) -> Sequence[Scenario]:
        raise NotImplementedError

    def owners(self) -> dict[str, str]:
        raise NotImplementedError

    def keep(self, names: Collection[str]) -> Self:
        raise NotImplementedError

    def where(self, wanted: Callable[[Any], bool]) -> Self:
        raise NotImplementedError


def test_splits_are_compared_without_holding_the_scenarios() -> None:
    scenarios = _Large(make_export_set().scenarios[0], 300)
    find_crossings(_Large(make_export_set().scenarios[0], 3))  # what is loaded once
    tracemalloc.start()
    try:
        find_crossings(scenarios)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000, "of 30 MB"
