"""TRL's environment classes driven as its trainer drives them, by a bare interpreter: no TRL,
nothing of ours.

driver.py FOLDER  <  [[row, [[tool, arguments], …], [word, …] or null], …]
"""

import inspect
import json
import sys
from importlib import import_module

asked = json.load(sys.stdin)
sys.path.insert(0, sys.argv[1])
envmill_trl = import_module("envmill_trl")
classes = envmill_trl.load_environments()
pool = {environment: cls() for environment, cls in classes.items()}
told = []
for row, calls, said in asked:
    environment = pool[row["environment"]]
    environment.reset(**row)
    tools = dict(inspect.getmembers(type(environment), inspect.isfunction))
    replies, last = [], {"role": "assistant", "content": " ".join(said or ())}
    for name, arguments in calls:
        if name in tools and not name.startswith("_") and name not in ("reset", "get_reward"):
            replies.append(getattr(environment, name)(**arguments))
        else:
            replies.append(f"Tool {name} not found.")
    completion = [{"role": "user", "content": "x"}, last]
    heard = (
        None
        if said is None
        else envmill_trl.read_last_words(completions=[completion], environments=[environment])
    )
    reward = environment.get_reward()
    told.append(
        {
            "reward": reward,
            "state_hash": environment._session.state_hash,
            "replies": replies,
            "heard": heard,
        }
    )
ours = sorted(
    name
    for name in sys.modules
    if name.split(".")[0] in ("envmill", "schemas", "pydantic", "orjson", "trl", "torch")
)
described = {
    environment: {
        name: [inspect.getdoc(tool), {key: str(hint) for key, hint in tool.__annotations__.items()}]
        for name, tool in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and name not in ("reset", "get_reward")
    }
    for environment, cls in classes.items()
}
sys.stdout.write(json.dumps({"told": told, "ours": ours, "described": described}))
