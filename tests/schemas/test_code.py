"""One program, whatever stands around it."""

import pytest
from pydantic import ValidationError

from schemas.code import take_program
from schemas.prompts import ProgramReply

PROGRAM = 'class Shed:\n    """Lends.\n\n    ```\n    shed.lend("T1")\n    ```\n    """\n'


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```",
        "```\nx = 1\n```\n",
        "Here it is:\n\n```python\nx = 1\n```\nIt sets x.",
        "   ```py\nx = 1\n   ```",
    ],
)
def test_what_stands_around_one_program_is_taken_off(text: str) -> None:
    assert take_program(text) == "x = 1\n"


@pytest.mark.parametrize(
    "text",
    [PROGRAM, "x = 1", "", "x = = 1", "s = '''\n```\n'''\n", "```python\nnever closed", "x = ```"],
)
def test_what_is_a_program_or_holds_none_stays(text: str) -> None:
    assert take_program(text) == text


def test_a_program_with_a_fence_inside_and_one_around_it_keeps_what_it_can() -> None:
    with pytest.raises(ValueError, match="code blocks"):
        take_program("```python\nx = 1\n```\nand\n```python\ny = 1\n```")


def test_the_reply_says_what_was_wrong_with_the_field() -> None:
    with pytest.raises(ValidationError, match="it holds 2 code blocks"):
        ProgramReply(source="a\n```\nx\n```\nb\n```\ny\n```", class_name="A")
    assert (
        ProgramReply(source="```python\nclass A: ...\n```", class_name="A").source
        == "class A: ...\n"
    )


def test_a_deep_text_is_no_crash() -> None:
    text = "```\n" + "(" * 100_000 + "\n```"
    assert take_program(text).startswith("(((")
