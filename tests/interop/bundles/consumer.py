"""A stranger with exported bundles, run by a bare interpreter: plays the episodes it is told, and
writes the verdicts as JSON.

consumer.py FOLDER…  <  {folder name: [[scenario, [move, …]], …]}
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

episodes = json.load(sys.stdin)
verdicts: dict[str, list[object]] = {}
hashes: dict[str, list[str]] = {}


def play(bundle, name, moves):
    """The verdict, and the hash of the state that the last call left behind."""
    episode = bundle.begin(name)
    for move in moves:
        import_module("envrun.episode").make_move(episode, move)
    left, verdict = episode.state_hash, episode.score()
    episode.close()
    return verdict, left


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
        played = [play(bundle, scenario, moves) for scenario, moves in episodes[folder.name]]
        verdicts[folder.name], hashes[folder.name] = (
            [one for one, _ in played],
            [one for _, one in played],
        )
        layers = bundle.jail.layers
ours = sorted(
    name
    for name in sys.modules
    if name.split(".")[0] in ("envmill", "schemas", "pydantic", "orjson")
)
sys.stdout.write(
    json.dumps(
        {
            "verdicts": verdicts,
            "hashes": hashes,
            "layers": layers,
            "ours": ours,
            "user": os.geteuid(),
            "path": sys.path,
        }
    )
)
