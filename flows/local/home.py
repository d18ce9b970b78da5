"""A home: the folder that holds one local server's state, and the surroundings its processes get.

home/port              port picked last, so that links stay good over restarts
home/server.json       who runs as server (flows/local/process.py)
home/worker.json       who runs as worker
home/watchdog.json     who keeps watch over both
home/runs/             leases of the runs under way (flows/local/lease.py)
home/remote            address of the server that is used instead of one of this home
home/secret            what the server asks of every request (flows/local/private.py)
home/keys.json         keys of models, for flow runs
home/logs/             what they print
home/prefect/          Prefect's own folder: database, profiles
home/lock              held while something is started or stopped
"""

import fcntl
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from envmill.base.errors import EnvMillError, SettingsError
from envmill.base.settings import ROOT, Settings
from flows.local.private import is_secret, make_headers, read_secret, secure_folder
from flows.local.variables import CHOSEN, LOGIN, PREFECT, list_server_settings

MARK = "ENVMILL_PROCESS_OF"
"""Environment variable that every process of a home inherits, so that orphans are found."""


@dataclass(frozen=True)
class Home:
    """Settings of this process, and the environment it may hand on."""

    settings: Settings
    environ: Mapping[str, str]
    named: str = ""
    """Server that PREFECT_API_URL names; used only where --remote asks for it."""
    login: Mapping[str, str] = field(default_factory=dict[str, str])
    """The user's variables of LOGIN, and CHOSEN."""
    server: Mapping[str, str] = field(default_factory=dict[str, str])
    """The user's settings of a server, for the server of this home."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Home":
        """The user's own Prefect variables stop here, but for those of a login and of a server."""
        own = {
            name: value
            for name, value in environ.items()
            if not name.upper().startswith("PREFECT_")
        }
        login = {name: environ[name] for name in (*LOGIN, CHOSEN) if environ.get(name)}
        named = environ.get("PREFECT_API_URL", "").rstrip("/").removesuffix("/api")
        return cls(Settings.read(environ), own, named, login, list_server_settings(environ))

    @property
    def folder(self) -> Path:
        return self.settings.home

    @property
    def prefect(self) -> Path:
        return self.folder / "prefect"

    @property
    def remote(self) -> str:
        """Server that `envmill up --remote` was told to use; empty when this home has one of its
        own."""
        path = self.folder / "remote"
        return path.read_text().strip() if path.exists() else ""

    def use_remote(self, url: str) -> None:
        """From now on; with no address, no more."""
        secure_folder(self.folder)
        (self.folder / "remote").write_text(url)

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def make_headers(self, url: str) -> dict[str, str]:
        """Headers with the credential for a server. Neither server is told the credential of the
        other."""
        if self._owns(url):
            return make_headers(read_secret(self.folder))
        key = self.login.get("PREFECT_API_KEY", "")
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        return (
            bearer
            | make_headers(self.login.get("PREFECT_API_AUTH_STRING", ""))
            | self._read_custom()
        )

    def child_environ(self, url: str, name: str = "worker") -> dict[str, str]:
        """What a process of this home sees: its own Prefect, its own lake, and never a proxy in
        between. Keys of models are
        in a file, which flow runs read."""
        loopback = ",".join(filter(None, [self.environ.get("NO_PROXY", ""), "127.0.0.1,localhost"]))
        return {
            **{
                variable: value
                for variable, value in self.environ.items()
                if not is_secret(variable)
            },
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
            **self._own_part(url, name),
        }

    def _own_part(self, url: str, name: str) -> dict[str, str]:
        """What one process needs and the others must not see."""
        database = self.settings.database.reveal()
        if name == "server":
            chosen = {"PREFECT_SERVER_CORS_ALLOWED_ORIGINS": url} | dict(self.server)
            return chosen | (
                {"PREFECT_SERVER_DATABASE_CONNECTION_URL": database} if database else {}
            )
        remote = (
            {}
            if self._owns(url)
            else {variable: value for variable, value in self.login.items() if variable in LOGIN}
        )
        if name == "watchdog":  # it starts the server again
            return (
                remote
                | dict(self.server)
                | ({"ENVMILL_DATABASE": self.environ["ENVMILL_DATABASE"]} if database else {})
            )
        if self._owns(url):
            # Of Prefect's ways to log in the only one that its WebSockets use from their first
            # request on.
            return {"PREFECT_CLIENT_CUSTOM_HEADERS": json.dumps(self.make_headers(url))}
        return remote

    def _owns(self, url: str) -> bool:
        """Whether the server of this home was started at an address."""
        try:
            return (
                url != self.remote
                and json.loads((self.folder / "server.json").read_text())["url"] == url
            )
        except (OSError, ValueError, KeyError):
            return False

    def _read_custom(self) -> dict[str, str]:
        try:
            return {
                str(name): str(value)
                for name, value in json.loads(
                    self.login.get("PREFECT_CLIENT_CUSTOM_HEADERS", "{}")
                ).items()
            }
        except (ValueError, AttributeError):
            raise SettingsError(
                'PREFECT_CLIENT_CUSTOM_HEADERS is not a JSON object: write it like {"X-Name": '
                '"value"}.'
            ) from None

    @contextmanager
    def lock(self, seconds: float = 180) -> Iterator[None]:
        """Starting and stopping take turns. The kernel frees the lock of a killed holder."""
        secure_folder(self.folder)
        deadline = time.monotonic() + seconds
        with (self.folder / "lock").open("w") as file:
            while not _try_lock(file.fileno()):
                if time.monotonic() > deadline:
                    raise EnvMillError(
                        f"Another `envmill up` or `down` has held {self.folder}/lock for "
                        f"{seconds:.0f} s. End it, then try again."
                    )
                time.sleep(0.2)
            yield

    def claim_port(self) -> socket.socket:
        """Listen at once: handed to the server as an open socket, the port cannot be lost to a
        stranger in between."""
        remembered = self.folder / "port"
        asked = self.settings.port
        claimed = _bind(
            asked or int(remembered.read_text() if remembered.exists() else 0), self.settings.listen
        )
        if claimed is None and asked == 0:
            claimed = _bind(0, self.settings.listen)
        if claimed is None:
            raise SettingsError(
                f"Port {asked} is taken by another program. Set ENVMILL_PORT to a free port, or "
                "to 0 to have one picked.",
                port=asked,
            )
        secure_folder(self.folder)
        remembered.write_text(str(claimed.getsockname()[1]))
        return claimed


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _bind(port: int, address: str) -> socket.socket | None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(128)
    except OSError:
        listener.close()
        return None
    return listener
