"""A consumer of an export, run by a bare interpreter: opens the folder it is given, plays, and
writes what came of it as JSON."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
from jail import Environment  # noqa: E402  # pyright: ignore[reportMissingImports]

SCENARIO = {"initial_state": {"items": {}}, "clock": "2026-03-01T09:00:00Z", "seed": 7}

with Environment(folder) as environment:
    session = environment.session()
    replies = [
        session.reset(SCENARIO),
        session.call("add", {"name": "saw"}),
        session.call("add", {"name": ""}),
    ]
    taken = session.snapshot()
    replies += [
        session.call("crash", {}),
        session.call("add", {"name": 3}),
        session.advance(60),
        session.call("add", {"name": "axe"}),
    ]
    replies += [
        session.restore(taken),
        session.state(),
        session.changes(),
        session.call("vanish", {}),
        session.call("add", {}),
    ]
    report = {
        "tools": [tool["name"] for tool in environment.tools()],
        "layers": environment.jail.layers,
        "replies": replies,
        "ours": sorted(name for name in sys.modules if name.startswith("envmill")),
    }
sys.stdout.write(json.dumps(report))
