"""Dask as a runner: a cluster that is there, or worker processes of this machine. Every connection
is TLS with a certificate on both sides.

ENVMILL_DASK=tls://scheduler:8786   joins it; certificates come from Dask's own configuration
(unset)                             starts one on loopback, with certificates that live as long as it does
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import os
import tempfile
from typing import Any

import dask
from distributed.security import Security
from prefect.task_runners import TaskRunner
from prefect_dask import DaskTaskRunner

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings

_BUCKETS = 40


def make_dask_runner(settings: Settings) -> TaskRunner[Any]:
    """Its cluster begins with the block that enters it."""
    dask.config.set({"distributed.logging": {"distributed": "warning"}})
    if address := settings.dask:
        if not address.startswith("tls://"):
            raise SettingsError(
                f"ENVMILL_DASK is {address!r}: a process that reaches a scheduler can run code on "
                "its cluster, so give an address that begins with tls://."
            )
        security = Security()  # as Dask's configuration says
        return DaskTaskRunner(address=address, client_kwargs={"security": security})
    # Pages of scheduler and workers would be open to every user of this machine: they serve
    # nothing.
    dask.config.set({"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []})
    workers = os.cpu_count() or 1
    return DaskTaskRunner(
        cluster_kwargs={
            "n_workers": workers,
            "threads_per_worker": -(-_BUCKETS // workers),
            "processes": True,
            "host": "127.0.0.1",
            "scheduler_port": 0,
            "dashboard_address": "127.0.0.1:0",
            "worker_dashboard_address": None,
            "security": Security.temporary(),
            "memory_limit": 0,
            "local_directory": tempfile.gettempdir(),
            "silence_logs": 30,
        }
    )
