"""The environment driven as SkyRL's generator drives it, with SkyRL-gym or what stands for it, and
nothing of ours.

driver.py FOLDER [STUB]  <  {"plays": [[row, [text, …], most turns or null], …], "break": play whose
jail is ended, "page": program that registers the environment before anything else does}
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

asked = json.load(sys.stdin)
sys.path[:0] = sys.argv[1:3]
skyrl_gym = import_module("skyrl_gym")
envmill_skyrl = import_module("envmill_skyrl")


def run_page(page: str) -> list[Any]:
    """With what stands for Ray and for SkyRL's trainer, which is told which environments there
    are."""
    found: list[Any] = []

    class Experiment:
        def __init__(self, cfg: Any) -> None:
            self._cfg = cfg

        def run(self) -> None:
            found.append([self._cfg, sorted(skyrl_gym.registry)])

    ray, base = ModuleType("ray"), ModuleType("skyrl.train.entrypoints.main_base")
    ray.remote = lambda **_: lambda function: function  # type: ignore[attr-defined]
    base.BasePPOExp = Experiment  # type: ignore[attr-defined]
    sys.modules |= {"ray": ray, base.__name__: base}
    sys.modules |= {
        name: ModuleType(name) for name in ("skyrl", "skyrl.train", "skyrl.train.entrypoints")
    }
    names: dict[str, Any] = {}
    exec(compile(page, "docs/consumers/skyrl.md", "exec"), names)
    names["train"]("settings")
    return found


trained = run_page(asked["page"]) if "page" in asked else []
for _ in range(2):
    envmill_skyrl.register_environment()
lines = [
    json.loads(line)
    for path in sorted(Path(sys.argv[1], "data").glob("*.jsonl"))
    for line in path.read_text().splitlines()
]
rows = {line["extra_info"]["scenario"]: line for line in lines}
told = []
for place, (row, texts, turns) in enumerate(asked["plays"]):
    found = (
        dict(rows[row])
        if row in rows
        else {"prompt": [], "env_class": "envmill", "extra_info": {"scenario": row}}
    )
    prompt, env_class = found.pop("prompt"), found.pop("env_class")
    env = skyrl_gym.make(
        env_class, env_config={}, extras=found | ({"max_turns": turns} if turns else {})
    )
    messages, _ = env.init(prompt)
    assert messages == prompt
    replies, rewards = list[str](), list[float]()
    step: Any = {"done": False}
    for number, text in enumerate([*texts, ""]):
        if asked.get("break") == place and number == 1:
            import_module("envmill_skyrl.environment")._open_once().lanes.shared[
                0
            ].engine.jail.close()
        step = env.step(text)
        rewards.append(step["reward"])
        replies += [one["content"] for one in step["observations"]]
        if step["done"]:
            break
    assert step["done"]
    told.append(
        {"rewards": rewards, "replies": replies, **step["metadata"], "metrics": env.get_metrics()}
    )
    env.close()
ours = sorted(
    name
    for name in sys.modules
    if name.split(".")[0] in ("envmill", "schemas", "pydantic", "orjson")
)
sys.stdout.write(
    json.dumps(
        {
            "told": told,
            "ours": ours,
            "lines": lines,
            "from": str(skyrl_gym.__file__),
            "trained": trained,
        }
    )
)
