"""A home: the folder that holds one local server's state, and the surroundings its processes get.

home/port              port picked last, so that links stay good over restarts
home/server.json       who runs as server (flows/local/process.py)
home/worker.json       who runs as worker
home/watchdog.json     who keeps watch over both
home/runs/             leases of the runs under way (flows/local/lease.py)
home/remote            address of the server that is used instead of one of this home
home/logs/             what they print
home/prefect/          Prefect's own folder: database, profiles
home/lock              held while something is started or stopped
"""

import fcntl
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from envmill.errors import EnvMillError, SettingsError
from envmill.settings import ROOT, Settings

MARK = "ENVMILL_PROCESS_OF"
"""Environment variable that every process of a home inherits, so that orphans are found."""

PREFECT = {
    # Quiet: nothing leaves this machine.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",  # V2 asks a vendor for remote config on each page; V1 is silent
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_CLI_COLORS": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    # One record per message takes 0.1 s; when 10,000 wait the server drops them without a word.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",  # runs that ended 90 days ago, 200 MB per 10,000 tasks
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "PREFECT_WORKER_QUERY_SECONDS": "1",  # the default of 10 is what a Retry click would wait for
    # The default of 10 s ahead is as long as a run waits for a place: whoever waits would ask again each second.
    "PREFECT_WORKER_PREFETCH_SECONDS": "1",
    # A server that was killed still knows who holds which place; else a run that asks to keep its own would be ended.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    "PREFECT_DEPLOYMENT_CONCURRENCY_SLOT_WAIT_SECONDS": "10",  # the default of 30 is what the next run waits after a place is free
    "PREFECT_CLIENT_MAX_RETRIES": "6",  # two minutes: the watchdog needs one of them to bring a killed server back
    "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",  # the lake alone knows what is done
    "PREFECT__SERVER_FINAL": "1",
}


@dataclass(frozen=True)
class Home:
    """Settings of this process, and the environment it may hand on."""

    settings: Settings
    environ: Mapping[str, str]
    named: str = ""
    """Server that PREFECT_API_URL names; nobody goes there unless asked to."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Home":
        """The user's own Prefect variables stop here."""
        own = {name: value for name, value in environ.items() if not name.startswith("PREFECT_")}
        return cls(Settings.read(environ), own, environ.get("PREFECT_API_URL", "").rstrip("/").removesuffix("/api"))

    @property
    def folder(self) -> Path:
        return self.settings.home

    @property
    def prefect(self) -> Path:
        return self.folder / "prefect"

    @property
    def remote(self) -> str:
        """Server that `envmill up --remote` was told to use; empty when this home has one of its own."""
        path = self.folder / "remote"
        return path.read_text().strip() if path.exists() else ""

    def use_remote(self, url: str) -> None:
        """From now on; with no address, no more."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "remote").write_text(url)

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def child_environ(self, url: str) -> dict[str, str]:
        """What a process of this home sees: its own Prefect, its own lake, and never a proxy in between."""
        loopback = ",".join(filter(None, [self.environ.get("NO_PROXY", ""), "127.0.0.1,localhost"]))
        return {
            **self.environ,
            **PREFECT,
            "NO_PROXY": loopback,
            "no_proxy": loopback,
            "PWD": str(ROOT),  # prefect.yaml names the project root by it
            "PREFECT_HOME": str(self.prefect),
            "PREFECT_API_URL": f"{url}/api",
            "ENVMILL_HOME": str(self.settings.home),
            "ENVMILL_LAKE": str(self.settings.lake),
            "ENVMILL_BUNDLES": str(self.settings.bundles),
            "ENVMILL_AUTHOR_URL": self.settings.author_url,
            MARK: str(self.folder),
        } | ({"PREFECT_SERVER_DATABASE_CONNECTION_URL": database} if (database := self.settings.database.reveal()) else {})

    @contextmanager
    def lock(self, seconds: float = 180) -> Iterator[None]:
        """Starting and stopping take turns. The kernel frees the lock of a killed holder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + seconds
        with (self.folder / "lock").open("w") as file:
            while not _try_lock(file.fileno()):
                if time.monotonic() > deadline:
                    raise EnvMillError(
                        f"Another `envmill up` or `down` has held {self.folder}/lock for {seconds:.0f} s. End it, then try again."
                    )
                time.sleep(0.2)
            yield

    def claim_port(self) -> socket.socket:
        """Listen at once: handed to the server as an open socket, the port cannot be lost to a stranger in between."""
        remembered = self.folder / "port"
        asked = self.settings.port
        claimed = _listen(asked or int(remembered.read_text() if remembered.exists() else 0))
        if claimed is None and asked == 0:
            claimed = _listen(0)
        if claimed is None:
            raise SettingsError(
                f"Port {asked} is taken by another program. Set ENVMILL_PORT to a free port, or to 0 to have one picked.", port=asked
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        remembered.write_text(str(claimed.getsockname()[1]))
        return claimed


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _listen(port: int) -> socket.socket | None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError:
        listener.close()
        return None
    return listener
