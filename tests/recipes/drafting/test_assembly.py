"""A program taken apart and put together is the same program, and whatever a model sends for a part
ends as text that can be judged."""

import ast

import pytest

import offline as author
from envmill.kinds.stateful import derive_tools
from envmill.recipes.drafting.assembly import ProgramParts, assemble, split_methods, strip_tools
from offline.faults import KINDS
from schemas.prompts import MethodsReply, ProgramReply
from tests.offline.questions import SAMPLE, SEED, ask_blueprint, ask_program, pose
from tests.specimens import EFFECTS, PROGRAM

LEND = "def lend(self) -> dict:\n    '''Lend.'''\n    return {}"


def is_same(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def test_taken_apart_and_put_together_it_is_the_same() -> None:
    parts = ProgramParts.read(PROGRAM, list(EFFECTS))
    assert parts is not None
    assert list(parts.methods) == list(EFFECTS)
    assert not [tool for tool in EFFECTS if f"def {tool}" in parts.skeleton]
    assert is_same(
        assemble(parts.skeleton, parts.class_name, list(parts.methods.values())), PROGRAM
    )
    assert is_same(assemble(PROGRAM, "Shed", list(parts.methods.values())), PROGRAM), (
        "each in the place of its own"
    )


@pytest.mark.parametrize("indent", ["", "    ", "        "])
def test_a_method_is_put_in_however_it_is_indented(indent: str) -> None:
    text = "\n".join(indent + line for line in LEND.split("\n"))
    source = assemble(PROGRAM, "Shed", [text])
    assert "Lend a free tool" not in source
    assert [tool.name for tool in derive_tools(source, "Shed", EFFECTS)] == list(EFFECTS)
    assert list(split_methods(f"@staticmethod\n{LEND}\n\n\ndef two(self):\n    pass")) == [
        "lend",
        "two",
    ]


@pytest.mark.parametrize(
    "text",
    ["def lend(self", "class Tools:\n    pass", "", "I cannot do that.", "def a(self):\nreturn 1"],
)
def test_what_cannot_be_read_stays_in_the_text(text: str) -> None:
    """Loading says where it breaks, and that goes back to the author."""
    parts = ProgramParts.read(PROGRAM, list(EFFECTS))
    assert parts is not None
    left = [line.strip() for line in assemble(parts.skeleton, "Shed", [text]).split("\n")]
    assert {line.strip() for line in text.split("\n")} <= {*left, ""}
    assert assemble("no program", "Shed", [LEND]).startswith("no program")
    assert strip_tools("no program (", "Shed") is None
    assert ProgramParts.read("no program (", ["lend"]) is None


@pytest.mark.parametrize("theme", SAMPLE[:3])
def test_the_author_s_parts_make_the_author_s_program(theme: str) -> None:
    skeleton = ProgramReply.model_validate_json(
        author.answer("skeleton", pose("skeleton", theme, 1), SEED, 0, 0.0)
    )
    names = [tool.name for tool in ask_blueprint(theme, 1).tools]
    chunks = [names[place : place + 4] for place in range(0, len(names), 4)]
    asked = [
        pose("skeleton", theme, 1) | {"skeleton": "", "class_name": "", "wanted": chunk}
        for chunk in chunks
    ]
    written = [
        MethodsReply.model_validate_json(author.answer("methods", one, SEED, 0, 0.0)).source
        for one in asked
    ]
    assert is_same(
        assemble(skeleton.source, skeleton.class_name, written), ask_program(theme, 1).source
    )


def test_every_mistake_in_a_part_leaves_text_that_the_line_can_judge() -> None:
    whole = ask_program(SAMPLE[0], 1)
    parts = ProgramParts.read(
        whole.source, [tool.name for tool in ask_blueprint(SAMPLE[0], 1).tools]
    )
    assert parts is not None
    planted = [
        author.plant("methods", kind, pose("methods", SAMPLE[0], 1), SEED, 0)
        for kind in KINDS["methods"]
    ]
    texts = [MethodsReply.model_validate_json(fault.text).source for fault in planted if fault]
    assert len(texts) > 6
    assert not [
        text
        for text in texts
        if is_clean(assemble(parts.skeleton, parts.class_name, [text]), whole.source)
    ]


def is_clean(source: str, whole: str) -> bool:
    try:
        return is_same(source, whole)
    except SyntaxError:
        return False
