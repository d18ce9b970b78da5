"""A program stands in a fenced block behind the JSON object, or in the object, as older recordings
have it."""

import json

import pytest

from envmill.models.dialect import ModelTerms, pick_form
from envmill.models.parse import parse_reply
from envmill.models.structured import make_schema
from schemas.prompts import MethodsReply, ProgramReply
from schemas.table_prompts import SchemaReply
from tests.models.test_dialects import make_request

SOURCE = (
    'class Shed:\n    """A shed; `{"id": 1}` is a record."""\n\n    def list_tools(self) -> '
    'list:\n        return [{"id": "tool_1"}]\n'
)
WHOLE = ProgramReply(source=SOURCE, class_name="Shed")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{{"class_name": "Shed"}}\n```python\n{SOURCE}```\n', id="object-then-block"),
        pytest.param(f'```python\n{SOURCE}```\n\n{{"class_name": "Shed"}}', id="block-then-object"),
        pytest.param(
            f'Here it is.\n\n```json\n{{"class_name": "Shed"}}\n```\n\n```python\n{SOURCE}```\n'
            "Done.",
            id="both-fenced",
        ),
        pytest.param(f'{{"class_name": "Shed",}}\n```\n{SOURCE}```', id="slip-and-no-language"),
        pytest.param(json.dumps(WHOLE.model_dump()), id="all-in-the-object"),
        pytest.param(
            f"```json\n{json.dumps(WHOLE.model_dump())}\n```", id="all-in-a-fenced-object"
        ),
    ],
)
def test_a_program_is_read_wherever_it_stands(text: str) -> None:
    assert parse_reply(text, ProgramReply) == WHOLE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            f'{{"class_name": "Shed"}}\n```python\n{SOURCE}```\n```python\n{SOURCE}```',
            "2 code blocks",
            id="two-blocks",
        ),
        pytest.param(f"```python\n{SOURCE}```", "class_name", id="no-object"),
        pytest.param(
            f'{{"class_name": "Shed"}} {{"class_name": "Barn"}}\n```python\n{SOURCE}```',
            "2 JSON objects",
            id="two-objects",
        ),
        pytest.param('{"class_name": "Shed"}', "source", id="no-block"),
        pytest.param("", "empty", id="nothing"),
    ],
)
def test_what_is_missing_or_double_is_named(text: str, words: str) -> None:
    complaint = parse_reply(text, ProgramReply)
    assert isinstance(complaint, str)
    assert words in complaint


def test_a_block_alone_is_a_reply_that_has_no_other_field() -> None:
    assert parse_reply("```python\ndef a(self):\n    return 1\n```", MethodsReply) == MethodsReply(
        source="def a(self):\n    return 1\n"
    )
    assert parse_reply(
        "```sql\nCREATE TABLE a (id TEXT PRIMARY KEY);\n```", SchemaReply
    ) == SchemaReply(ddl="CREATE TABLE a (id TEXT PRIMARY KEY);\n")


def test_the_block_is_no_part_of_the_schema_and_no_vendor_enforces_one() -> None:
    schema = make_schema(ProgramReply)
    assert (list(schema["properties"]), schema["required"]) == (["class_name"], ["class_name"])
    assert pick_form(make_request(reply=ProgramReply), ModelTerms()) == ("prompt", None)
