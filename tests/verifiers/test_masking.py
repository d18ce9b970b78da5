"""A read that is asked for by itself is matched by any call that asks the same."""

from typing import Any

import pytest

from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.masking import mask_call
from envmill.verifiers.procedure import is_meant
from schemas.environment import Call, Tool

PARAMETERS: Any = {
    "type": "object",
    "properties": {
        "words": {"type": "string"},
        "status": {"type": ["string", "null"], "enum": ["open", "done", None]},
        "shelf": {"type": "integer"},
        "limit": {"type": "integer"},
        "with_old": {"type": "boolean", "default": False},
    },
    "required": ["words"],
}
FIND = Tool(name="find", description="Finds.", parameters=PARAMETERS, effect="query")
MASKED = mask_call(
    Call(
        name="find",
        arguments={
            "words": "Road tube",
            "status": "open",
            "shelf": 3,
            "limit": 5,
            "with_old": False,
        },
    ),
    FIND,
)
RIGHT: dict[str, Any] = {"words": "Road tube", "status": "open", "shelf": 3}


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        pytest.param(RIGHT, True, id="the same"),
        pytest.param(RIGHT | {"words": " road  TUBE"}, True, id="spelled otherwise"),
        pytest.param(RIGHT | {"limit": 50, "with_old": True}, True, id="told otherwise, and more"),
        pytest.param(RIGHT | {"words": "tube"}, False, id="other words"),
        pytest.param(RIGHT | {"status": "Open"}, False, id="a choice is no text"),
        pytest.param(RIGHT | {"shelf": "3"}, False, id="'3' is not 3"),
        pytest.param({"words": "Road tube", "shelf": 3}, False, id="a filter left out"),
    ],
)
def test_a_masked_call(arguments: Any, meant: bool) -> None:
    assert (
        is_meant(MASKED, CompletedCall(Call(name="find", arguments=arguments), "ok"), {}) is meant
    )
