"""Harbor folders of environments of tools for tests, and what policies do in them."""

from collections.abc import Sequence

import orjson

from envmill.interop.consumers.harbor import export_worlds
from envmill.interop.harbor.tree import FolderFile, Tree
from schemas.environment import Call, Environment
from schemas.scenario import Scenario
from tests.interop.consumers.folders import make_export_set


def make_world(scenario: Scenario, environment: Environment, **changes: str | None) -> Tree:
    """The folder; a file is replaced, added, or left out, its name written with `__` for `/` and
    `_DOT_` for a dot."""
    (parcel,) = export_worlds(make_export_set([(scenario, environment)]))
    home = f"tasks/{scenario.id}/"
    files = {
        path.removeprefix(home): FolderFile(content)
        for path, content in parcel.files.items()
        if path.startswith(home)
    }
    for name, text in changes.items():
        path = name.replace("__", "/").replace("_DOT_", ".")
        files.pop(path, None)
        if text is not None:
            files[path] = FolderFile(text.encode())
    return Tree("world", files)


def write_steps(calls: Sequence[Call], said: Sequence[str]) -> dict[str, str]:
    """The change that makes the solution play a policy."""
    steps = {
        "calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
        "said": list(said),
    }
    return {"solution__calls_DOT_json": orjson.dumps(steps).decode()}
