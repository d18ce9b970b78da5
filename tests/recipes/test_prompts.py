"""Every prompt of every recipe: linted against the records it is asked with, and shown with an
example that fits."""

import json
import re
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.kinds import KINDS
from envmill.kinds.docstring import ToolWords, fill_docstrings
from envmill.models.lint import lint
from envmill.models.parse import parse_reply
from envmill.models.prompt import Prompt
from envmill.models.showing import show_request
from envmill.recipes import RECIPES
from envmill.recipes.drafting.assembly import ProgramParts, assemble, strip_tools
from envmill.recipes.drafting.hardening import PROMPT as HARDER
from envmill.recipes.drafting.themes import read_themes
from schemas.environment import Kind
from schemas.prompts import MethodsReply, ProgramReply
from tests.recipes.reading import fill

FOLDER = ROOT / "envmill/recipes/prompts"
RECIPE = {name: make(read_themes()) for name, make in RECIPES.items()}
PROMPTS = [
    pytest.param(one, id=f"{name}/{one.name}")
    for name, made in RECIPE.items()
    for asked in made.prompts.values()
    for one in asked
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_uses_what_it_is_given_and_says_what_it_wants(prompt: Prompt) -> None:
    assert prompt.takes is not None, "load it with its records: Prompt.load(path, Input, Reply)"
    assert lint(prompt.text, prompt.takes, prompt.gives) == []


@pytest.mark.parametrize("prompt", PROMPTS)
def test_its_example_fills_every_slot(prompt: Prompt) -> None:
    """What may be empty is announced as such on its own line, or the sentence around it reads
    broken."""
    example = prompt.exemplify().model_dump(mode="json")
    lines = prompt.text.splitlines()
    empty = [name for name in example if example[name] in ("", [], {})]
    assert [
        name
        for name in empty
        if not any(f"{{{{{name}}}}}" in line and "empty" in line for line in lines)
    ] == []
    assert "{{" not in show_request(prompt).messages[0].text


@pytest.mark.parametrize(("recipe", "folder"), [(name, FOLDER / name) for name in RECIPES])
def test_every_file_of_a_recipe_is_asked(recipe: str, folder: Path) -> None:
    """A prompt nobody asks would never be linted."""
    asked = {one.name for prompts in RECIPE[recipe].prompts.values() for one in prompts}
    own = {path.stem for path in folder.glob("*.md")}
    others = {
        path.stem for path in (ROOT / "envmill").rglob("prompts/**/*.md") if path.parent != folder
    }
    assert own == asked - (others - own), "recipes may ask what others ask"
    assert {
        path.name.removesuffix(".example.json") for path in folder.glob("*.example.json")
    } <= asked


@pytest.mark.parametrize("folder", ["shared", "documents"])
def test_what_is_shared_is_asked_by_several_recipes(folder: str) -> None:
    """What one recipe alone asks lies in its own folder. What the steps ask for every recipe is
    shared by all."""
    texts = {path.stem: Prompt.load(path).text for path in (FOLDER / folder).glob("*.md")}
    asking = {
        name: [
            recipe
            for recipe, made in RECIPE.items()
            if any(one.text == text for asked in made.prompts.values() for one in asked)
        ]
        for name, text in texts.items()
    }
    assert texts
    assert {
        name: recipes
        for name, recipes in asking.items()
        if len(recipes) < 2 and name != HARDER.name
    } == {}
    assert {path.parent.name for path in FOLDER.rglob("*.md")} <= {
        *RECIPES,
        "shared",
        "documents",
        "parts",
    }


def test_what_several_prompts_say_stands_in_one_page(tmp_path: Path) -> None:
    """A page is part of the prompt's text and hash. A page that is not there is named."""
    for page in (FOLDER / "parts").glob("*.md"):
        text = page.read_text(encoding="utf-8").strip()
        asking = [
            one
            for made in RECIPE.values()
            for asked in made.prompts.values()
            for one in asked
            if text in one.text
        ]
        assert len(asking) > 1, f"{page.name} is included by no two prompts"
    (tmp_path / "parts").mkdir()
    (tmp_path / "one").mkdir()
    asked = tmp_path / "one/ask.md"
    asked.write_text("Write.\n{{> rules}}\nEnd.\n")
    with pytest.raises(SettingsError, match="includes 'rules'"):
        Prompt.load(asked)
    (tmp_path / "parts/rules.md").write_text("Be brief.\n")
    first = Prompt.load(asked)
    assert first.text == "Write.\nBe brief.\nEnd.\n"
    (tmp_path / "parts/rules.md").write_text("Be long.\n")
    assert Prompt.load(asked).hash != first.hash


def test_the_examples_tell_one_world() -> None:
    """Whoever reads two of them must not find that they contradict each other."""
    told = {
        name: fill(name)[2].model_dump()
        for name in (
            "program",
            "skeleton",
            "methods",
            "tests",
            "scenario",
            "checks",
            "tester",
            "checker",
        )
    }
    program, tests = told["program"], told["tests"]
    effects = {tool["name"]: tool["effect"] for tool in program["tools"]}
    derived = [
        tool.model_dump()
        for tool in KINDS["stateful"].derive_tools(tests["source"], "ToolShed", effects)
    ]
    assert (
        ProgramParts.read(tests["source"], [tool["name"] for tool in program["tools"]]) is not None
    )
    bare = strip_tools(tests["source"], "ToolShed")
    assert bare is not None
    assert bare.partition("def __init__")[2].strip() in told["methods"]["skeleton"], (
        "with helpers, which tests do not need"
    )
    for name, one in told.items():
        assert (one["brief"], one["rules"]) == (program["brief"], program["rules"])
        assert one.get("source", tests["source"]) == tests["source"]
        assert name in ("program", "skeleton", "methods") or all(
            tool in derived for tool in one.get("tools", [one.get("tool")])
        )
        for collection, rows in one.get("state", one.get("initial_state", {})).items():
            assert all(
                list(row) == program["collections"][collection] and row["id"] == key
                for key, row in rows.items()
            )


def test_the_example_of_methods_uses_what_its_class_has() -> None:
    prompt = Prompt.load(FOLDER / "envscaler/methods.md")
    used = set(
        re.findall(r"self\.(\w+)", prompt.text.partition("For example")[2].partition("## ")[0])
    )
    skeleton = fill("methods")[2].model_dump()["skeleton"]
    assert used
    assert {
        name for name in used if f"def {name}(" not in skeleton and f"self.{name} =" not in skeleton
    } == set()


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_is_constant_stands_first_and_a_cache_can_keep_it(prompt: Prompt) -> None:
    """Nothing that inputs fill stands before the reply's schema or in the same section."""
    before, schema, after = prompt.text.partition("{{reply_schema}}")
    assert schema
    assert "{{" not in before
    text = show_request(prompt).messages[0].text
    parts = prompt.cut(text)
    assert "".join(parts) == text
    assert len(parts) > 1
    assert after.partition("\n## ")[0].strip() in parts[0]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_it_shows_one_complete_example_that_is_read_as_a_reply(prompt: Prompt) -> None:
    """Judges of programs (W4) reply with a verdict or a list of calls and need none."""
    assert prompt.gives is not None
    answer = prompt.text.partition("{{reply_schema}}")[2].partition("\n## ")[0]
    _, found, example = answer.partition("For example")
    if prompt.name in ("tester", "checker"):
        return
    assert found
    if "{" in (shown := example.partition("```python")[0]):
        json.JSONDecoder().raw_decode(
            shown[shown.index("{") :]
        )  # plain JSON: what is mended in a reply is no example
    read = parse_reply(example, prompt.gives)
    assert not isinstance(read, str), read


@pytest.mark.parametrize(
    ("kind", "name"), [("sql", "code"), ("stateful", "program"), ("stateful", "methods")]
)
def test_the_program_that_a_prompt_shows_is_one(kind: Kind, name: str) -> None:
    """Tools and parameters without docstrings are described by the plan."""
    prompt = next(
        one
        for made in RECIPE.values()
        for asked in made.prompts.values()
        for one in asked
        if one.name == name
    )
    assert prompt.gives is not None
    source = parse_reply(
        prompt.text.partition("{{reply_schema}}")[2]
        .partition("For example")[2]
        .partition("\n## ")[0],
        prompt.gives,
    )
    assert isinstance(source, ProgramReply | MethodsReply)
    written = (
        source.source
        if isinstance(source, ProgramReply)
        else assemble("class ToolShed:\n    pass\n", "ToolShed", [source.source])
    )
    assert '"""' not in written
    filled = fill_docstrings(
        written, "ToolShed", {"break_tool": ToolWords("Marks a tool as broken.", {})}
    )
    (tool,) = KINDS[kind].derive_tools(filled, "ToolShed", {"break_tool": "change"})
    assert tool.description == "Marks a tool as broken."
    assert tool.parameters["properties"]["tool_id"]["description"] == "Id of the tool."
