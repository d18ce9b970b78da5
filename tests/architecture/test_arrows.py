"""Arrows point down, circles do not exist, and the reader that says so sees what it must."""

import sys
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES, find_wrong_arrows
from tests.architecture.imports import Imports, find_cycle, read_imports

STDLIB = sys.stdlib_module_names | {"__future__"}
ENGINE_WITHOUT = {"prefect", "typer", "rich", "great_expectations"}


@pytest.fixture(scope="module")
def imports() -> Imports:
    return read_imports(ROOT, PACKAGES)


def test_every_arrow_goes_down(imports: Imports) -> None:
    assert len(imports) > 50
    assert list(find_wrong_arrows(imports)) == []


def test_no_circle(imports: Imports) -> None:
    assert find_cycle(imports) == []


def test_runtime_imports_only_the_standard_library(imports: Imports) -> None:
    """It is copied into exports, where nothing else is installed."""
    targets = {
        target
        for module, found in imports.items()
        if module.startswith("envmill.runtime")
        for target in found
    }
    assert {
        name
        for name in targets
        if name.split(".")[0] not in STDLIB and not name.startswith("envmill.runtime")
    } == set()


def test_what_an_exported_folder_opens_by_imports_only_the_standard_library(
    imports: Imports,
) -> None:
    """But for ours that it carries: the jail's client, what an agent is told first, the MCP server,
    and what the judge loads by name."""
    house = "envmill.interop.bundles.envrun"
    own = {
        module: found for module, found in imports.items() if f"{module}.".startswith(f"{house}.")
    }
    strangers = {
        name
        for found in own.values()
        for name in found
        if name.split(".")[0] not in STDLIB and not f"{name}.".startswith(f"{house}.")
    }
    assert own
    assert strangers == {
        "envmill.runtime.jail.client",
        "envmill.runtime.mcp",
        "envmill.runtime.briefing",
        "schemas.environment",
    }


def test_engine_knows_nothing_of_prefect_or_terminals(imports: Imports) -> None:
    below = {
        module: found
        for module, found in imports.items()
        if module.split(".")[0] in ("envmill", "offline", "schemas")
    }
    assert [
        (m, name)
        for m, found in below.items()
        for name in found
        if name.split(".")[0] in ENGINE_WITHOUT
    ] == []


def _read_tree(root: Path, files: dict[str, str]) -> Imports:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_imports(root, PACKAGES)


RIGHT = {
    "schemas/seed.py": "",
    "envmill/__init__.py": "",
    "envmill/base/errors.py": "",
    "envmill/lake/lake.py": "from envmill.base.errors import X\n",
}


@pytest.mark.parametrize(
    ("name", "text", "arrow"),
    [
        pytest.param(
            "envmill/base/errors.py",
            "import envmill.lake.lake\n",
            "envmill.base.errors -> envmill.lake.lake",
            id="upward",
        ),
        pytest.param(
            "schemas/seed.py",
            "from envmill.base import errors\n",
            "schemas.seed -> envmill.base.errors",
            id="upward-from",
        ),
        pytest.param(
            "schemas/seed.py",
            "def f():\n    import tasks.build\n",
            "schemas.seed -> tasks.build",
            id="in-a-function",
        ),
        pytest.param(
            "envmill/base/errors.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from envmill.lake.lake "
            "import Lake\n",
            "envmill.base.errors -> envmill.lake.lake",
            id="type-checking",
        ),
        pytest.param(
            "envmill/base/errors.py",
            "import_module('flows.factory')\n",
            "envmill.base.errors -> flows.factory",
            id="by-name",
        ),
        pytest.param(
            "envmill/base/errors.py",
            "from ..lake import lake\n",
            "envmill.base.errors -> envmill.lake.lake",
            id="relative",
        ),
        pytest.param(
            "envmill/sandbox/jail.py",
            "import envmill.lake.lake\n",
            "envmill.sandbox.jail -> envmill.lake.lake",
            id="sideways",
        ),
        pytest.param(
            "quality/suite.py",
            "import envmill.base.errors\n",
            "quality.suite -> envmill.base.errors",
            id="quality-to-engine",
        ),
        pytest.param(
            "envmill/runtime/session.py",
            "import schemas.seed\n",
            "envmill.runtime.session -> schemas.seed",
            id="runtime-to-schemas",
        ),
        pytest.param(
            "flows/factory.py",
            "import flows.cli.run\n",
            "flows.factory -> flows.cli.run",
            id="flow-to-command-line",
        ),
        pytest.param(
            "envmill/stray.py",
            "",
            "envmill.stray: on no floor; give it one in floors.py",
            id="unlisted",
        ),
        pytest.param(
            "envmill/__init__.py",
            "import envmill.base.errors\n",
            "envmill -> envmill.base.errors",
            id="package-root",
        ),
    ],
)
def test_a_wrong_arrow_is_seen(tmp_path: Path, name: str, text: str, arrow: str) -> None:
    assert list(find_wrong_arrows(_read_tree(tmp_path / "right", RIGHT))) == []
    assert arrow in list(find_wrong_arrows(_read_tree(tmp_path / "wrong", RIGHT | {name: text})))


def test_a_circle_is_seen(tmp_path: Path) -> None:
    """Within one room no arrow is wrong, so only the circle tells."""
    circle = {
        f"envmill/lake/{a}.py": f"def f():\n    from envmill.lake import {b}\n"
        for a, b in ("xy", "yz", "zx")
    }
    imports = _read_tree(tmp_path, RIGHT | {"envmill/lake/__init__.py": ""} | circle)
    assert list(find_wrong_arrows(imports)) == []
    assert find_cycle(imports) == [
        "envmill.lake.x",
        "envmill.lake.y",
        "envmill.lake.z",
        "envmill.lake.x",
    ]
