"""Rows to write to a lake."""

from collections.abc import Callable
from pathlib import Path

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from schemas.ledger import Attrition
from schemas.seed import Brief, Seed


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def make_seed() -> Callable[[int], Seed]:
    return lambda number: Seed(recipe="envscaler", brief=Brief(theme="clinic", text="A clinic.", number=number), licence="CC0-1.0")


@pytest.fixture
def make_exit() -> Callable[..., Attrition]:
    def make(subject: str, outcome: str, try_number: int, cost: float | None = 0.0) -> Attrition:
        return Attrition.model_validate(
            {
                "lap": "environments", "stage": "generate", "gate": "exit", "subject": subject, "parent": "", "try_number": try_number,
                "outcome": outcome, "reason": "", "detail": "", "evidence": "", "children": 1, "recipe": "envscaler", "theme": "clinic",
                "seconds": 1.0, "tokens": 10, "cost": cost,
            }
        )  # fmt: skip

    return make


@pytest.fixture
def make_stamp() -> Callable[..., Stamp]:
    def make(try_number: int = 1, bucket: int = 0, fingerprint: str = "f" * 20, run: str = "r1") -> Stamp:
        return Stamp(run, "environments-generate", fingerprint, bucket, try_number, "0", "2026-01-01T00:00:00+00:00")

    return make
