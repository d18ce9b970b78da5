"""Run in a process of its own: the adapter's reset on a withdrawn scenario, with stand-ins for
OpenEnv's classes.

`python refusing.py FOLDER FEED VERSION`: prints the observations of a reset before and after the recall.
"""

import importlib.metadata
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel


class Environment:
    def __class_getitem__(cls, _: Any) -> type:
        return cls


class Observation(BaseModel):
    done: bool = False
    reward: float | None = None
    metadata: dict[str, Any] = {}


class State(BaseModel):
    episode_id: str | None = None
    step_count: int = 0


class Named(BaseModel):
    name: str = ""
    description: str = ""
    version: str = ""


def stand_in() -> None:
    found = {
        name: ModuleType(name) for name in ("openenv", "openenv.core", "openenv.core.env_server")
    }
    interfaces, types = (
        ModuleType("openenv.core.env_server.interfaces"),
        ModuleType("openenv.core.env_server.types"),
    )
    interfaces.__dict__["Environment"] = Environment
    types.__dict__.update(
        Action=BaseModel, Observation=Observation, State=State, EnvironmentMetadata=Named
    )
    client = ModuleType("envmill_openenv.client")
    client.__dict__["OpenEnvClient"] = Environment
    importlib.metadata.version = lambda _: sys.argv[3]
    sys.modules.update(
        found | {interfaces.__name__: interfaces, types.__name__: types, client.__name__: client}
    )


def main() -> None:
    folder, feed = Path(sys.argv[1]), Path(sys.argv[2])
    stand_in()
    os.environ |= {"ENVMILL_RECALLS": str(feed), "ENVMILL_RECALLS_SECONDS": "0"}
    sys.path.insert(0, str(folder))
    environment = __import__(
        "envmill_openenv.environment", fromlist=["OpenEnvEnvironment"]
    ).OpenEnvEnvironment()
    health = __import__("envmill_openenv.shared", fromlist=["describe_health"]).describe_health
    told = [environment.reset().model_dump() | {"health": health()}]
    written = json.loads(feed.read_text())
    feed.write_text(
        json.dumps(
            written
            | {
                "seq": 1,
                "withdrawn": [{"seq": 1, "subject": told[0]["scenario"], "reason": "S8: bad"}],
            }
        )
    )
    told.append(environment.reset().model_dump())
    feed.write_text("{")
    environment.reset()
    told.append({"about": environment.get_metadata().description, "health": health()})
    environment.close()
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
