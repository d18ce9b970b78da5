# pyright: basic, reportMissingImports=false
"""An OpenEnv environment that does nothing: what the framework costs by itself.

bare_server.py --port PORT
"""

import sys

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app


class BareAction(Action):
    text: str = ""


class BareObservation(Observation):
    reply: str = ""


class BareEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, **_):
        return BareObservation()

    def step(self, action, **_):
        return BareObservation(reply='{"ok":true,"parts":[]}')

    @property
    def state(self):
        return State()


app = create_app(BareEnvironment, BareAction, BareObservation, max_concurrent_envs=8)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
