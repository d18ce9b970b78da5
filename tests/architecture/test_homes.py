"""A public class name means one thing: it is defined in one file, or stands here with its
reason."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES
from tests.architecture.sources import find_sources, parse_file

SEVERAL = {
    "Bundle": "the record of what left the factory, and in `envrun`, which goes out alone, the folder "
    "itself",
    "Environment": "the record, and in the jail's client, which goes out alone, a folder that was opened",
    "Session": "one live environment, seen from the sandbox, from the jail's client and from inside the "
    "jail",
    "World": "clock, ids and chance of a session, and in each text of `tau2/domains`, which the jail alone "
    "runs, the class that is its program",
}
"""Names with several homes, at most ten."""


def find_homes(root: Path) -> Mapping[str, set[str]]:
    """Files that define a public class, by its name."""
    homes: dict[str, set[str]] = defaultdict(set)
    for name, path in find_sources(root, PACKAGES):
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name)
    return homes


def find_several(root: Path) -> set[str]:
    return {name for name, homes in find_homes(root).items() if len(homes) > 1}


def test_a_class_name_has_one_home() -> None:
    assert find_several(ROOT) == SEVERAL.keys()
    assert len(SEVERAL) <= 10


def test_a_second_home_is_seen(tmp_path: Path) -> None:
    for name in ("one", "two"):
        path = tmp_path / "envmill" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("class Thing:\n    class _Own: ...\n", encoding="utf-8")
    assert find_several(tmp_path) == {"Thing"}
