"""A stranger with a consumer's folder, run by a bare interpreter: plays what it is told, and writes
the judgements as JSON.

stranger.py FOLDER PACKAGE  <  [[row id, [move, …]], …]

A move is a call, with its arguments as an object or as text, or words.
"""

import json
import sys
from dataclasses import asdict
from importlib import import_module

asked = json.load(sys.stdin)
sys.path.insert(0, sys.argv[1])
sessions = import_module(f"{sys.argv[2]}.sessions")
told = []
with sessions.open_set() as scenarios:
    for row, moves in asked:
        with scenarios.begin(row) as session:
            replies = [
                session.say(move["say"])
                if "say" in move
                else sessions.render_reply(session.call(move["name"], move["arguments"]))
                for move in moves
            ]
            judged = session.judge()
        again = scenarios.judge_moves(row, json.loads(json.dumps(session.moves)), judged.state_hash)
        told.append(
            {**asdict(judged), "replies": replies, "ended": session.ended, "again": asdict(again)}
        )
ours = sorted(
    name
    for name in sys.modules
    if name.split(".")[0] in ("envmill", "schemas", "pydantic", "orjson")
)
sys.stdout.write(json.dumps({"told": told, "ours": ours}))
