"""Ray as a runner: a cluster that is there, or processes of this machine. Every request bears a token, and no page is served.

ENVMILL_RAY=host:6379   joins it; its token is Ray's own (~/.ray/auth_token), and RAY_USE_TLS=1 is asked for off this machine
(unset)                 starts one on loopback with a token of its own

A Ray worker takes one bucket at a time, so that a cluster has as many buckets in work as it has cores.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import os
import secrets
import tempfile
from typing import Any

from prefect.task_runners import TaskRunner

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def make_ray_runner(settings: Settings) -> TaskRunner[Any]:
    """Its cluster begins with the block that enters it."""
    # Ray reads these when it is imported.
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    if not settings.ray:
        # Ray takes 127.0.0.1 for a mistake and listens on all addresses, unless it is told that this machine is never one of several.
        os.environ |= {
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }
    elif settings.ray.rpartition(":")[0] not in _LOOPBACK and os.environ.get("RAY_USE_TLS") != "1":
        raise SettingsError(
            f"ENVMILL_RAY is {settings.ray!r}, another machine: the token would be sent there unencrypted. Give Ray certificates, and "
            "set RAY_USE_TLS=1."
        )
    from prefect_ray import RayTaskRunner

    if settings.ray:
        return RayTaskRunner(address=settings.ray, init_kwargs={"log_to_driver": False})
    return RayTaskRunner(
        init_kwargs={
            "num_cpus": os.cpu_count() or 1,
            "include_dashboard": False,
            "log_to_driver": False,
            "_node_ip_address": "127.0.0.1",
            "object_store_memory": 100_000_000,  # ids travel, and nothing larger
            "_temp_dir": tempfile.mkdtemp(prefix="envmill-ray-"),  # Ray's sockets need a short path
        }
    )
