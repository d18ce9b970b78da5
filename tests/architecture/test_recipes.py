"""Recipes stand side by side: none knows another, and nothing outside knows one by its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from envmill.base.settings import ROOT
from envmill.recipes import RECIPES
from schemas.run import RecipeName
from tests.architecture.floors import PACKAGES
from tests.architecture.imports import read_imports
from tests.architecture.sources import find_sources, parse_file

HOME = "envmill/recipes/"
NAMED = {
    "schemas/run.py": "the form of a run lists the recipes, and says which one it takes where none is named",
    "flows/cli/foreign.py": "importers bear the names of published systems, as recipes do",
    "envmill/interop/importers/": "likewise",
    "flows/cli/protect.py": "layouts of benchmarks bear their names",
    "envmill/gates/protecting/": "likewise",
    "flows/cli/run.py": "help shows how several recipes are asked for",
}
"""File or folder outside `recipes/` that may hold a recipe's name → why."""
_NAME = re.compile(rf"\b({'|'.join(RECIPES)})\b")
_PATH = re.compile(r"(^|/)recipes(/|$)")


def find_named(root: Path) -> Iterator[str]:
    """Texts outside of `recipes/` that hold a recipe's name, or a path into its folder."""
    for name, path in find_sources(root, PACKAGES):
        if name.startswith((HOME, *NAMED)):
            continue
        for node in ast.walk(parse_file(path)):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and (_NAME.search(node.value) or _PATH.search(node.value))
            ):
                yield f"{name}:{node.lineno}"


def find_reached(root: Path) -> Iterator[str]:
    """Imports of a recipe's module: by another recipe or a shared module, or from outside. The
    table in `__init__` imports them all."""
    members = {f"envmill.recipes.{name}" for name in RECIPES}
    for module, targets in read_imports(root, PACKAGES).items():
        if module != "envmill.recipes":
            yield from (f"{module} -> {target}" for target in sorted(targets & members))


def find_subclasses(root: Path) -> Iterator[str]:
    """Classes in `recipes/` that build on one of ours."""
    for path in sorted((root / HOME).glob("*.py")):
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} - {
                "Protocol"
            }:
                yield f"{path.name}: {node.name}"


def find_breaches(root: Path) -> list[str]:
    return [*find_named(root), *find_reached(root), *find_subclasses(root)]


def test_recipes_stand_side_by_side() -> None:
    assert find_breaches(ROOT) == []


def test_the_form_of_a_run_lists_every_recipe() -> None:
    assert get_args(RecipeName) == tuple(RECIPES)


def test_every_exception_is_needed() -> None:
    texts = {
        name: [path for path in [ROOT / name, *(ROOT / name).rglob("*.py")] if path.is_file()]
        for name in NAMED
    }
    assert [
        name
        for name, paths in texts.items()
        if not any(_NAME.search(path.read_text(encoding="utf-8")) for path in paths)
    ] == []


OTHER = "from envmill.recipes import scaleenv\n"
BREACHES = {
    "name-in-a-stage": (
        "envmill/stages/collect.py",
        "SIFTED = {'awm'}\n",
        "envmill/stages/collect.py:1",
    ),
    "name-in-a-docstring": ("schemas/seed.py", "'''Seeds of envscaler.'''\n", "schemas/seed.py:1"),
    "path": (
        "envmill/gates/w4.py",
        "HERE = ROOT / 'recipes' / 'prompts'\n",
        "envmill/gates/w4.py:1",
    ),
    "recipe": ("envmill/recipes/awm.py", OTHER, "envmill.recipes.awm -> envmill.recipes.scaleenv"),
    "shared": (
        "envmill/recipes/tables.py",
        OTHER,
        "envmill.recipes.tables -> envmill.recipes.scaleenv",
    ),
    "outside": (
        "envmill/stages/context.py",
        OTHER,
        "envmill.stages.context -> envmill.recipes.scaleenv",
    ),
    "subclass": ("envmill/recipes/awm.py", "class Awm(Base): ...\n", "awm.py: Awm"),
}


@pytest.mark.parametrize(("name", "text", "breach"), BREACHES.values(), ids=BREACHES)
def test_a_breach_is_seen(tmp_path: Path, name: str, text: str, breach: str) -> None:
    files = {
        f"envmill/recipes/{one}.py": "from envmill.recipes.base import Recipe\n" for one in RECIPES
    }
    honest = {
        "envmill/stages/collect.py": "'''Perturbs and drawn maps of several recipes.'''\n",
        "envmill/recipes/base.py": "class Recipe: ...\n",
    }
    for path, told in {**files, **honest}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(told)
    assert find_breaches(tmp_path) == []
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert find_breaches(tmp_path) == [breach]
