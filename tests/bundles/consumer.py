"""A stranger with exported bundles, run by a bare interpreter: plays the episodes it is told, and writes the verdicts as JSON.

consumer.py FOLDER…  <  {folder name: [[scenario, [move, …]], …]}
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

episodes = json.load(sys.stdin)
verdicts: dict[str, list[object]] = {}
sys.path.insert(0, sys.argv[1])
envrun = import_module("envrun")
for place, folder in enumerate(map(Path, sys.argv[1:])):
    if place:
        # Each folder runs by what it carries itself.
        sys.path[0] = str(folder)
        for name in [name for name in sys.modules if name.split(".")[0] == "envrun"]:
            del sys.modules[name]
        envrun = import_module("envrun")
    with envrun.open() as bundle:
        assert bundle.folder == folder
        verdicts[folder.name] = [bundle.play(scenario, moves) for scenario, moves in episodes[folder.name]]
        layers = bundle.jail.layers
ours = sorted(name for name in sys.modules if name.split(".")[0] in ("envmill", "schemas", "pydantic", "orjson"))
sys.stdout.write(json.dumps({"verdicts": verdicts, "layers": layers, "ours": ours, "user": os.geteuid(), "path": sys.path}))
