"""Rewards that verifiers of several versions gave are written by no exporter; everything else
leaves."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.pipeline.entering import score_attempt
from envmill.pipeline.exporting import pack
from envmill.stages.context import ExportInput, Subject
from envmill.stages.export import count_versions, export_bundles
from schemas.lock import ExportOptions
from schemas.quality import Reverification
from schemas.rollout import Bundle, Rollout
from schemas.run import RunConfig
from tests.interop.exporters.specimens import make_export_set
from tests.quality.specimen import make_rollout


def judge(
    rollout: Rollout, outcome: str, reward: float | None, version: str = "b"
) -> Reverification:
    told = {
        "gate": "verifier",
        "reason": "",
        "judged_at": "2026-11-21",
        "verifier_version": version,
    }
    return Reverification.model_validate(
        {"subject": rollout.id, "outcome": outcome, "reward": reward} | told
    )


def attempt_all(versions: list[str], rewards: list[float | None]) -> ExportInput:
    """An export set whose attempts were judged by these versions."""
    export_set = make_export_set()
    rollouts = [
        make_rollout(export_set.scenarios[0], number, True) for number in range(len(versions))
    ]
    attempts = [
        replace(score_attempt(one), verifier_version=version, reward=reward)
        for one, version, reward in zip(rollouts, versions, rewards, strict=True)
    ]
    return ExportInput(replace(export_set, attempts=tuple(attempts)))


def export(load: ExportInput, folder: Path, *exporters: str) -> tuple[set[str], dict[str, Any]]:
    """Exporters that wrote something, and what the ledger is told of verifiers."""
    settings = Settings.read(
        {
            "ENVMILL_HOME": str(folder),
            "ENVMILL_BUNDLES": str(folder / "bundles"),
            "ENVMILL_PORT": "0",
        }
    )
    context = SimpleNamespace(
        run="r1",
        config=RunConfig.model_validate({"exporters": exporters, "scripted": True}),
        settings=settings,
    )
    result = asyncio.run(
        export_bundles(Subject("run:r1", "", "", load), cast(Any, context), cast(Any, None))
    )
    told = {one.gate: one.evidence for one in result.findings}
    return {one.exporter for one in result.records if isinstance(one, Bundle)}, cast(
        Any, told.get("verifiers")
    )


@pytest.mark.parametrize(
    ("versions", "rewards", "mixed"),
    [
        pytest.param(["a", "a"], [1.0, 0.0], False, id="one"),
        pytest.param(["a", "b"], [1.0, 0.0], True, id="two"),
        pytest.param(["", "b"], [1.0, 0.0], True, id="old rows"),
        pytest.param(["", ""], [1.0, 0.0], False, id="old rows alone"),
        pytest.param(["a", "b"], [1.0, None], False, id="masked"),
    ],
)
def test_rewards_of_several_versions_are_not_written(
    versions: list[str], rewards: list[float | None], mixed: bool, tmp_path: Path
) -> None:
    load = attempt_all(versions, rewards)
    written, told = export(load, tmp_path, "sft", "rl", "bundle")
    assert written == ({"sft", "bundle"} if mixed else {"sft", "rl", "bundle"})
    assert bool(told) is mixed
    if mixed:
        assert told == {"mixed": count_versions(load.export_set, ["rl"]), "not_written": ["rl"]}
        with pytest.raises(SettingsError, match="envmill rescore RUN"):
            pack(load.export_set, ExportOptions(exporters=("rl",)))
    assert {
        one.exporter
        for one in pack(load.export_set, ExportOptions(exporters=("sft",), scripted=True))
    } == {"sft"}


def test_an_attempt_that_was_judged_again_counts_under_the_version_that_did() -> None:
    rollout = make_rollout(make_export_set().scenarios[0], 0, True).model_copy(
        update={"verifier_version": "a"}
    )
    plain, same = score_attempt(rollout), score_attempt(rollout, judge(rollout, "pass", 1.0))
    assert (plain.verifier_version, plain.reward, plain.mask) == ("a", 1.0, "")
    assert (same.verifier_version, same.reward, same.mask) == ("b", 1.0, "")
    other = score_attempt(rollout, judge(rollout, "fail", 0.0))
    assert (other.reward, other.mask) == (None, "rejudged")


@pytest.mark.parametrize(
    ("termination", "mask"),
    [
        ("outage", "outage"),
        ("user_fault", "user_fault"),
        ("environment_error", "environment_error"),
        ("done", "unjudged"),
    ],
)
def test_a_masked_attempt_says_why(termination: str, mask: str) -> None:
    told = {"outcome": "error", "reward": None, "termination": termination}
    assert (
        score_attempt(
            make_rollout(make_export_set().scenarios[0], 0, True).model_copy(update=told)
        ).mask
        == mask
    )
