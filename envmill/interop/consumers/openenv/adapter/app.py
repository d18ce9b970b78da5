# pyright: basic, reportMissingImports=false
"""The server: `python -m envmill_openenv.app`, or `uvicorn server.app:app` in the folder."""

import argparse
import logging
import resource
from typing import Any

import uvicorn
from openenv.core.env_server import create_app
from openenv.core.env_server.types import ConcurrencyConfig
from starlette.config import Config
from starlette.responses import PlainTextResponse

from .environment import METRICS, OpenEnvEnvironment
from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState
from .sessions import JailError, JudgeError
from .sessions.guard import LOOPBACK, MOST, Guard
from .shared import describe_health, open_shared

EACH = 2
"""Open files that a session may take, and as many more as a server needs anyway."""
IDLE = 1800.0
"""Seconds after which a session that nobody uses ends."""

settings = Config()
token: str = settings("ENVMILL_OPENENV_TOKEN", default="")
sessions: int = settings("ENVMILL_OPENENV_SESSIONS", cast=int, default=1024)
served = create_app(
    OpenEnvEnvironment,
    OpenEnvAction,
    OpenEnvObservation,
    env_name="envmill",
    concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=IDLE),
    state_cls=OpenEnvState,
)
app = Guard(served, token, "ENVMILL_OPENENV_TOKEN")


# OpenEnv's own answer says nothing of the recall feed.
served.router.routes[:] = [
    route for route in served.router.routes if getattr(route, "path", "") != "/health"
]


@served.get("/health")
async def render_health() -> dict[str, Any]:
    """That it answers, and whether recalls are read."""
    return describe_health()


@served.get("/metrics", include_in_schema=False)
async def render_metrics() -> PlainTextResponse:
    """Sessions, answers, verdicts, errors and latencies."""
    lanes = open_shared().lanes
    gauges = {
        "sessions_most": sessions,
        "lanes": len(lanes.shared),
        "lanes_replaced": lanes.replaced,
    }
    recalls = open_shared().recalls.describe()
    gauges |= {
        "recalls_seq": recalls["seq"],
        "recalls_withdrawn": recalls["withdrawn"],
        "recalls_unreadable": bool(recalls["problem"]),
    }
    return PlainTextResponse(METRICS.render(**gauges, quarantined=len(lanes.quarantined)))


def raise_files() -> int:
    """A soft limit of 1,024 open files is usual, and less than as many sessions need; how many may
    be open now."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1 << 16 if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def main() -> None:
    """Serve on this machine alone, unless another address is named and a token is set."""
    parser = argparse.ArgumentParser(
        description="Serve the environments of this folder to OpenEnv's clients."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    if args.host not in LOOPBACK and not token:
        parser.error(
            f"{args.host} can be reached from elsewhere: set ENVMILL_OPENENV_TOKEN to a secret of "
            "your own first."
        )
    files = raise_files()
    if files < EACH * sessions:
        parser.error(
            f"{sessions} sessions need {EACH * sessions} open files, and {files} are allowed: "
            "raise `ulimit -Hn`, or set fewer."
        )
    try:
        open_shared().warm()
    except (JailError, JudgeError) as error:
        logging.getLogger(__name__).warning("No session could be played: %s", error)
    # Compression would take memory for each connection, and time for each message.
    plain = {"ws_per_message_deflate": False, "ws_max_size": MOST}
    uvicorn.run(app, host=args.host, port=args.port, backlog=4096, log_level="warning", **plain)


if __name__ == "__main__":
    main()
