"""A verifier may pay for parts outside where nobody is paid who has not read the request, and where
that was measured."""

import json
from typing import Any

import pytest

from envmill.stages.partial import find_partial
from tests.specimens import VERIFIER, make_environment, make_scenario

SHED = make_environment()
PARTS = make_scenario(SHED, verifier=VERIFIER.model_copy(update={"partial": True}))
WHOLE = make_scenario(SHED)
CALM: dict[str, Any] = {"nothing": [0.0], "scatter": [0.0, 0.25, 0.0, 0.0, 0.0]}


def judge(*dossiers: tuple[str, Any]) -> str:
    """Why the verifier may not pay for parts; empty where it may."""
    allowed, left = find_partial(
        [PARTS, WHOLE], [(PARTS.id, gate, json.dumps(finding)) for gate, finding in dossiers]
    )
    assert allowed == ({PARTS.id} if not left else frozenset())
    assert WHOLE.id not in left
    return left.get(PARTS.id, "")


def test_where_nobody_earns_blindly_parts_may_be_paid() -> None:
    assert judge(("S2", CALM), ("S13", {"blind": {"mean": 0.05, "best": 0.9}})) == ""


@pytest.mark.parametrize(
    ("attackers", "mean", "words"),
    [
        (CALM, 0.06, "a blind search earns 0.060 on average"),
        (CALM | {"recite": [0.0, 0.2]}, 0.0, "the attacker recite earns 0.100 on average"),
    ],
)
def test_where_somebody_does_it_is_said_who(
    attackers: dict[str, Any], mean: float, words: str
) -> None:
    assert words in judge(("S2", attackers), ("S13", {"blind": {"mean": mean}}))


def test_the_worst_of_several_runs_counts() -> None:
    assert "earns 0.200" in judge(
        ("S2", CALM), ("S13", {"blind": {"mean": 0.2}}), ("S13", {"blind": {"mean": 0.0}})
    )


@pytest.mark.parametrize(
    ("dossiers", "words"),
    [
        ([("S2", CALM)], "no blind search was made"),
        ([("S2", CALM), ("S13", {"blind": {"best": 0.0}})], "no blind search was made"),
        ([("S2", CALM), ("S13", {"replayed": 3})], "no blind search was made"),
        ([("S13", {"blind": {"mean": 0.0}})], "no attacker was tried"),
        ([("S2", None), ("S13", {"blind": {"mean": 0.0}})], "no attacker was tried"),
    ],
)
def test_what_was_not_measured_may_not(dossiers: list[tuple[str, Any]], words: str) -> None:
    assert words in judge(*dossiers)
