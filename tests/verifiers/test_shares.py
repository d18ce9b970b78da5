"""Shares: what a trainer may weigh besides the reward, counted by hand on a few calls."""

from typing import Any, cast

import pytest

from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.shares import count_matched, list_free, share_steps
from schemas.database import Column, Table
from schemas.environment import Call, Environment, Tool
from schemas.scenario import Scenario, Verifier


class Paper:
    """As much of an environment, or of a scenario, as is looked at."""

    def __init__(self, **told: Any) -> None:
        self.__dict__.update(told)


def text(*names: str) -> Any:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }


FIND = Tool(name="find", description="", parameters=text("query"), effect="query", reads=["notes"])
WRITE = Tool(
    name="write",
    description="",
    parameters=text("note_id", "words"),
    effect="change",
    reads=["notes"],
    writes=["notes"],
)
NOTES = Table(
    name="notes", key=["id"], columns=[Column(name="id"), Column(name="words", policy="semantic")]
)
HOME = cast(Environment, Paper(tools=[FIND, WRITE], tables=[NOTES]))
ORACLE = [
    Call(name="find", arguments={"query": "milk"}),
    Call(name="write", arguments={"note_id": "n1", "words": "Buy milk"}),
    Call(name="write", arguments={"note_id": "n2", "words": "Buy bread"}),
]
TASK = cast(Scenario, Paper(oracle=ORACLE, verifier=Verifier(goals=[], guards=[], frame=[])))
NOBODY = Verifier(goals=[], guards=[], frame=[])
WHOLE = {"guards": 1.0, "frame": 1.0, "goals": 1.0}


def do(*calls: tuple[str, str], outcome: Any = "ok") -> list[CompletedCall]:
    return [
        CompletedCall(Call(name="write", arguments={"note_id": note, "words": words}), outcome)
        for note, words in calls
    ]


def test_a_text_that_goes_into_a_column_nobody_compares_is_free() -> None:
    assert list(list_free(WRITE, HOME, NOBODY)) == ["words"]
    assert list(list_free(FIND, HOME, NOBODY)) == []
    assert list(list_free(WRITE, HOME, NOBODY.model_copy(update={"free": ["notes.note_id"]}))) == [
        "note_id",
        "words",
    ]


@pytest.mark.parametrize(
    ("deeds", "components", "unread", "told"),
    [
        pytest.param(
            do(("n2", "Some bread"), ("n1", "Milk!")),
            WHOLE,
            0,
            (1.0, 1.0, 0.0, 0.0, 1.0),
            id="any order, other words",
        ),
        pytest.param(
            do(("n1", "Milk"), ("n1", "Milk")),
            WHOLE | {"goals": 0.5},
            0,
            (0.5, 0.5, 0.0, 0.0, 0.5),
            id="one for two",
        ),
        pytest.param(
            do(("n1", "Milk"), ("n2", "x"), outcome="rejection"),
            WHOLE,
            0,
            (0.0, 1.0, 0.0, 0.0, 0.5),
            id="refused",
        ),
        pytest.param(
            do(*[("n1", "x"), ("n2", "x")] * 3),
            WHOLE,
            2,
            (1.0, 1.0, 0.15, 0.1, 0.75),
            id="too long, unread",
        ),
        pytest.param(
            [], WHOLE | {"goals": 0.0}, 30, (0.0, 0.0, 0.0, 0.5, 0.0), id="never below nothing"
        ),
    ],
)
def test_shares_of_a_rollout(
    deeds: list[CompletedCall], components: dict[str, float], unread: int, told: tuple[float, ...]
) -> None:
    shares = share_steps(TASK, HOME, deeds, components, unread)
    assert tuple(shares.values()) == pytest.approx(told)  # pyright: ignore[reportUnknownMemberType]
    assert count_matched([], deeds) == 0
