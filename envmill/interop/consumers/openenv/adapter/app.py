# pyright: basic, reportMissingImports=false
"""The server: `python -m envmill_openenv.app`, or `uvicorn server.app:app` in the folder."""

import argparse

import uvicorn
from openenv.core.env_server import create_app
from openenv.core.env_server.types import ConcurrencyConfig
from starlette.config import Config

from .environment import OpenEnvEnvironment
from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState
from .sessions.guard import LOOPBACK, MOST, Guard

IDLE = 1800.0
"""Seconds after which a session that nobody uses ends."""

settings = Config()
token: str = settings("ENVMILL_OPENENV_TOKEN", default="")
sessions: int = settings("ENVMILL_OPENENV_SESSIONS", cast=int, default=64)
served = create_app(
    OpenEnvEnvironment,
    OpenEnvAction,
    OpenEnvObservation,
    env_name="envmill",
    concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=IDLE),
    state_cls=OpenEnvState,
)
app = Guard(served, token, "ENVMILL_OPENENV_TOKEN")


def main() -> None:
    """Serve on this machine alone, unless another address is named and a token is set."""
    parser = argparse.ArgumentParser(description="Serve the environments of this folder to OpenEnv's clients.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    if args.host not in LOOPBACK and not token:
        parser.error(f"{args.host} can be reached from elsewhere: set ENVMILL_OPENENV_TOKEN to a secret of your own first.")
    uvicorn.run(app, host=args.host, port=args.port, ws_max_size=MOST, log_level="warning")


if __name__ == "__main__":
    main()
