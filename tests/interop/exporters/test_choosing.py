"""What may leave: nothing of unknown licence, nothing unmeasured unless asked for, one split at a
time; and every refusal is told."""

from dataclasses import replace

import pytest

from envmill.gates.base import Finding
from envmill.interop.exporters import ExportSet
from envmill.stages.context import ExportInput
from envmill.stages.export import (
    choose_export_set,
    keep_splits,
    list_scripted,
    pack_outputs,
    unite_loads,
)
from tests.interop.exporters.specimens import make_export_set, make_trajectory
from tests.specimens import make_environment


def count(export_set: ExportSet) -> tuple[int, ...]:
    return tuple(
        len(part)
        for part in (
            export_set.environments,
            export_set.tests,
            export_set.scenarios,
            export_set.trajectories,
            export_set.pairs,
        )
    )


def test_everything_leaves_that_may() -> None:
    export_set, findings = choose_export_set(ExportInput(make_export_set()), provisional=False)
    assert export_set == make_export_set()
    assert findings == [Finding("licence", "kept")]


@pytest.mark.parametrize("licence", ["", "unknown"])
def test_what_is_of_unknown_licence_stays_with_all_that_was_made_in_it(licence: str) -> None:
    barn = make_export_set().environments[1]
    whole = make_export_set((make_environment(licence=licence), barn))
    export_set, (finding,) = choose_export_set(ExportInput(whole), provisional=True)
    assert count(export_set) == (1, 0, 2, 2, 0)
    assert finding.evidence == {"left_at_home": sorted(one.id for one in whole.scenarios[:2])}


def test_what_is_provisional_leaves_when_it_is_asked_for() -> None:
    whole = make_export_set()
    load = ExportInput(whole, frozenset({whole.environments[1].id, whole.scenarios[0].id}))
    stayed = sorted(one.id for one in (whole.scenarios[0], *whole.scenarios[2:]))
    export_set, (_, finding) = choose_export_set(load, provisional=False)
    assert (count(export_set), finding.evidence) == ((1, 9, 1, 1, 0), {"left_at_home": stayed})
    export_set, (_, finding) = choose_export_set(load, provisional=True)
    assert (export_set, finding.evidence) == (whole, {"exported": stayed})


def test_what_was_rejected_or_recalled_stays_even_when_everything_else_is_asked_for() -> None:
    whole = make_export_set()
    gone = frozenset({whole.environments[1].id, whole.scenarios[0].id})
    export_set, (_, finding) = choose_export_set(ExportInput(whole, refused=gone), provisional=True)
    assert (finding.gate, finding.evidence) == (
        "review",
        {"left_at_home": sorted(one.id for one in (whole.scenarios[0], *whole.scenarios[2:]))},
    )
    assert count(export_set) == (1, 9, 1, 1, 0)


def test_what_was_only_observed_never_leaves() -> None:
    """Whatever else is asked for. It would have been dropped."""
    whole = make_export_set()
    seen = frozenset({whole.environments[1].id, whole.scenarios[0].id})
    load = ExportInput(whole, observed=seen, suspected=seen, provisional=seen)
    export_set, (_, finding) = choose_export_set(load, provisional=True, suspected=True)
    stayed = sorted(one.id for one in (whole.scenarios[0], *whole.scenarios[2:]))
    assert (finding.gate, finding.evidence, count(export_set)) == (
        "observed",
        {"left_at_home": stayed},
        (1, 9, 1, 1, 0),
    )
    nothing, findings = choose_export_set(
        unite_loads([replace(load, observed=frozenset(one.id for one in whole.scenarios))]),
        provisional=True,
    )
    assert (nothing.scenarios, findings[-1].gate, findings[-1].reason) == (
        (),
        "observed",
        "nothing_to_export",
    )


def test_what_scripts_did_in_a_models_world_is_trained_on_only_when_it_is_asked_for() -> None:
    shed = make_environment()
    written = shed.model_copy(
        update={"origin": shed.origin.model_copy(update={"provider": "openai", "model": "m"})}
    )
    export_set = make_export_set((written, make_export_set().environments[1]))
    acted, offline, model = (
        export_set.trajectories[0],
        export_set.trajectories[2],
        make_trajectory("rol_9", policy="m"),
    )
    export_set = replace(
        export_set,
        trajectories=(
            acted,
            offline,
            model.model_copy(update={"scenario": acted.scenario, "environment": written.id}),
        ),
    )
    assert list_scripted(export_set) == [acted.scenario]
    (left,), (whole,) = (
        pack_outputs(export_set, ["sft"]),
        pack_outputs(export_set, ["sft"], scripted=True),
    )
    assert (left.rows, whole.rows) == (2, 3)
    assert acted.id not in str(left.files["manifest.json"])
    assert all(
        one.id in str(left.files["manifest.json"]) for one in (offline, export_set.trajectories[2])
    )


@pytest.mark.parametrize("reason", ["licence", "review", "provisional"])
def test_nothing_left_is_dropped_with_the_reason(reason: str) -> None:
    whole = make_export_set()
    if reason == "licence":
        whole = replace(whole, environments=())
    homes = frozenset(one.id for one in whole.environments)
    load = ExportInput(whole, homes, homes if reason == "review" else frozenset())
    export_set, findings = choose_export_set(load, provisional=False)
    assert (export_set.scenarios, findings[-1].gate, findings[-1].outcome, findings[-1].reason) == (
        (),
        reason,
        "dropped",
        "nothing_to_export",
    )
    assert len(findings[-1].evidence["left_at_home"]) == 4


def test_a_split_leaves_without_what_others_were_made_of() -> None:
    assert count(keep_splits(make_export_set(), ("train",))) == (1, 9, 2, 2, 1)
    assert count(keep_splits(make_export_set(), ("validation", "test"))) == (1, 0, 2, 2, 0)


def test_runs_are_united_without_doubles() -> None:
    load = ExportInput(make_export_set(), frozenset({"x"}))
    both = unite_loads([load, ExportInput(make_export_set(), frozenset({"y"}))])
    assert (count(both.export_set), both.provisional) == (
        count(load.export_set),
        frozenset({"x", "y"}),
    )
