"""Our validator against `jsonschema`, over thousands of made-up pairs: inside the subset they say
the same of every value."""

import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from envmill.runtime.schema import KEYWORDS, TYPES, check_schema, compile_schema, find_fault, settle
from tests.soak import count

PAIRS = count(6_000, 200_000)
_TEXTS = ("", "a", "ab", "é", "😀😀", "1", "true", "long enough to be cut off")
_NUMBERS = (0, 1, -1, 2, 1.0, 0.0, -0.0, 2.5, 1e3, 10**15, -(2**53), 2**63 - 1, 1e300, 3.0000001)
_NAMES = ("a", "b", "type", "")


def draw_value(dice: random.Random, depth: int = 3) -> Any:
    roll = dice.random()
    if depth and roll < 0.2:
        return [draw_value(dice, depth - 1) for _ in range(dice.randrange(4))]
    if depth and roll < 0.45:
        return {dice.choice(_NAMES): draw_value(dice, depth - 1) for _ in range(dice.randrange(4))}
    return dice.choice(
        [None, True, False, dice.choice(_TEXTS), dice.choice(_NUMBERS), dice.choice(_NUMBERS)]
    )


def draw_schema(dice: random.Random, depth: int = 3) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if dice.random() < 0.7:
        names = dice.sample(list(TYPES), dice.choice([1, 1, 1, 2, 3]))
        schema["type"] = names[0] if len(names) == 1 and dice.random() < 0.8 else names
    for keyword in dice.sample(list(_DRAWN), dice.randrange(4)):
        if depth or keyword not in ("items", "properties", "anyOf", "additionalProperties"):
            schema[keyword] = _DRAWN[keyword](dice, depth)
    return schema


_DRAWN: dict[str, Any] = {
    "enum": lambda dice, depth: [draw_value(dice, 2) for _ in range(dice.randrange(1, 4))],
    "const": lambda dice, depth: draw_value(dice, 2),
    "minLength": lambda dice, depth: dice.randrange(4),
    "maxLength": lambda dice, depth: dice.randrange(4),
    "minItems": lambda dice, depth: dice.randrange(3),
    "maxItems": lambda dice, depth: dice.randrange(3),
    "minimum": lambda dice, depth: dice.choice(_NUMBERS),
    "maximum": lambda dice, depth: dice.choice(_NUMBERS),
    "exclusiveMinimum": lambda dice, depth: dice.choice(_NUMBERS),
    "exclusiveMaximum": lambda dice, depth: dice.choice(_NUMBERS),
    "items": lambda dice, depth: draw_schema(dice, depth - 1),
    "anyOf": lambda dice, depth: [
        draw_schema(dice, depth - 1) for _ in range(dice.randrange(1, 3))
    ],
    "properties": lambda dice, depth: {
        dice.choice(_NAMES): draw_schema(dice, depth - 1) for _ in range(dice.randrange(3))
    },
    "required": lambda dice, depth: dice.sample(_NAMES, dice.randrange(3)),
    "additionalProperties": lambda dice, depth: dice.choice(
        [True, False, draw_schema(dice, depth - 1)]
    ),
}


def test_every_keyword_that_checks_is_drawn() -> None:
    assert {*_DRAWN, "type"} == KEYWORDS.keys() - {"title", "description", "default"}


@pytest.mark.soak(area="sandbox")
def test_the_verdicts_agree() -> None:
    dice = random.Random(20_260_302)
    verdicts = {True: 0, False: 0}
    for _ in range(PAIRS // 6):
        schema = draw_schema(dice)
        Draft202012Validator.check_schema(schema)
        check_schema(schema)
        ours, theirs = compile_schema(schema), Draft202012Validator(schema)
        for value in (draw_value(dice) for _ in range(6)):
            fault = ours(value)
            assert (not fault) is theirs.is_valid(value), (schema, value, fault)
            verdicts[not fault] += 1
            if not fault:
                settled = settle(schema, value)
                assert settled == value
                assert not ours(settled), (schema, value, settled)
    assert min(verdicts.values()) > PAIRS / 10


def test_what_was_settled_holds_integers_where_they_are_asked_for() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "rows": {"type": "array", "items": {"type": ["integer", "null"]}},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "additionalProperties": {"type": "integer"},
    }
    settled = settle(schema, {"n": 1.0, "x": 2.0, "rows": [3.0, None], "either": 4.0, "other": 5.0})
    kinds = [
        type(settled["n"]),
        type(settled["x"]),
        type(settled["rows"][0]),
        type(settled["either"]),
        type(settled["other"]),
    ]
    assert kinds == [int, float, int, int, int]


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": []}, id="no-type"),
        pytest.param({"type": ["string", "string"]}, id="type-twice"),
        pytest.param({"enum": []}, id="empty-enum"),
        pytest.param({"minLength": -1}, id="negative"),
        pytest.param({"minLength": True}, id="bool-as-number"),
        pytest.param({"minimum": float("nan")}, id="nan"),
        pytest.param({"required": "a"}, id="required-text"),
        pytest.param({"properties": []}, id="properties-list"),
        pytest.param({"items": True}, id="bool-schema"),
        pytest.param({"anyOf": [{"pattern": "x"}]}, id="inside-any"),
        pytest.param({"additionalProperties": {"format": "date"}}, id="inside-rest"),
        pytest.param({"multipleOf": 2}, id="multiple"),
        pytest.param({"uniqueItems": True}, id="unique"),
    ],
)
def test_what_would_be_ignored_or_misread_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="JSON Schema"):
        check_schema(schema)


def test_depth_is_bounded() -> None:
    schema: dict[str, Any] = {}
    for _ in range(40):
        schema = {"items": schema}
    with pytest.raises(ValueError, match="deeper"):
        check_schema(schema)


def test_a_list_is_no_better_than_its_elements() -> None:
    # Python says [True] == [1]; JSON does not.
    assert find_fault({"enum": [[1]]}, [True])
    assert find_fault({"const": {"a": False}}, {"a": 0})
    assert not find_fault({"const": {"a": 1}}, {"a": 1.0})


def test_the_other_validator_knows_what_we_generate() -> None:
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema({"minLength": -1})
