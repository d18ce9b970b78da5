"""A plant: a home with a real server and worker, driven as a user drives it, by command line and
HTTP."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

from playwright.sync_api import Page

from envmill.base.settings import ROOT
from flows.cli import main
from flows.cli.question import ask
from flows.local.api import Api, connect
from flows.local.home import Home
from flows.local.process import Process, ProcessRecord
from flows.local.runs import find_walked

OTHER_SERVER = {
    "PREFECT_SERVER_API_PORT": "1",
    "PREFECT_SERVER_API_BASE_PATH": "/elsewhere",
    "prefect_server_api_csrf_protection_enabled": "true",
    "PREFECT_SERVER_DATABASE_CONNECTION_URL": "sqlite+aiosqlite:////nonexistent/elsewhere.db",
    "PREFECT_SERVER_UI_SERVE_BASE": "/elsewhere",
    "PREFECT_SERVER_UI": '{"serve_base": "/elsewhere"}',
    "PREFECT_SERVER_UI_API_URL": "http://elsewhere.example/api",
    "PREFECT_SERVER_FLOW_RUN_GRAPH_MAX_NODES": "9999",
}
"""Settings of another Prefect server in the shell. Most would break this one, and do not reach it;
the last does."""

ASKING = 1.0
"""Seconds between two questions to the server. One takes 10 ms of processor time: ten a second
would cost as much as the run that is waited for."""


@dataclass(frozen=True)
class Plant:
    """One home."""

    home: Home

    @classmethod
    def at(
        cls,
        folder: Path,
        author_url: str = "",
        port: int = 0,
        database: str = "",
        server: str = "http://127.0.0.1:1",
        besides: Mapping[str, str] = MappingProxyType({}),
    ) -> "Plant":
        """Hostile surroundings on purpose: no program on the PATH, called from elsewhere, and a
        user who works with another Prefect."""
        own = {
            "ENVMILL_HOME": folder,
            "ENVMILL_LAKE": folder / "lake",
            "ENVMILL_BUNDLES": folder / "bundles",
            "ENVMILL_PORT": port,
            "ENVMILL_AUTHOR_URL": author_url,
            "ENVMILL_DATABASE": database,
            "ENVMILL_ENDPOINT_BOX": f"{author_url or 'http://127.0.0.1:1'}/v1",
            "ENVMILL_ENDPOINT_BOX_KEY": "sk-of-this-plant",
            "PREFECT_API_URL": f"{server}/api",
            "PATH": "/nonexistent",
            "PWD": "/nonexistent",
        }
        return cls(
            Home.read(
                os.environ | {name: str(value) for name, value in own.items()} | dict(besides)
            )
        )

    @property
    def environ(self) -> dict[str, str]:
        """The user's environment variables."""
        named = {"PREFECT_API_URL": f"{self.home.named}/api"}
        return {**self.home.environ, **self.home.login, **OTHER_SERVER, **named}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.cli", *arguments],
            cwd=ROOT,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def envmill(self, *arguments: str, expect: int = 0) -> str:
        """Everything a command says; its exit code must be the expected one."""
        with self.start(*arguments) as command:
            out, err = command.communicate(timeout=900)
        return _check_end(arguments, command.returncode, out + err, expect)

    def call(self, *arguments: str, expect: int = 0) -> str:
        """The same in this process, which spares the command two seconds of imports."""
        out, err = io.StringIO(), io.StringIO()
        code: Any = 0
        with (
            mock.patch.dict(os.environ, self.environ, clear=True),
            mock.patch.object(sys, "argv", ["envmill", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
        return _check_end(arguments, code, out.getvalue() + err.getvalue(), expect)

    def record(self, name: str) -> ProcessRecord:
        record = Process(self.home, name).running()
        assert record, f"{name} does not run"
        return record

    def api(self) -> Api:
        return connect(self.home, self.record("server").url)

    def log_in(self, page: Page) -> None:
        """By a link, as a user does."""
        page.goto(self.call("open").strip())
        page.wait_for_url(lambda place: "/envmill/" not in place)

    def ask(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        return ask(self.home, question, values)[1]

    def begin(self, *flags: str, **options: Any) -> str:
        """Ask for a factory run without waiting; its id."""
        said = self.call(
            "run", "--no-wait", *flags, *(f"--{name}={value}" for name, value in options.items())
        )
        return said.split("run ")[1].split(":")[0]

    def wait_for(self, run: str, *states: str, seconds: float = 600) -> dict[str, Any]:
        """Until the flow run is in one of the states."""
        found: dict[str, Any] = {}

        def arrived() -> bool:
            found.update(api.get(f"/flow_runs/{run}"))
            return found["state_type"] in states

        with self.api() as api:
            wait_until(
                arrived,
                seconds,
                lambda: f"{found.get('state_name')}: {self.tail('worker')}",
                pace=ASKING,
            )
        return found

    def cancel(self, run: str) -> None:
        """At once, whatever it is doing."""
        with self.api() as api:
            api.post(f"/flow_runs/{run}/set_state", {"state": {"type": "CANCELLED"}, "force": True})

    def tail(self, name: str) -> str:
        return Process(self.home, name).last_words(60)

    def find_flow(self, run: str) -> int:
        """Pid of the process that walks a run."""
        return find_walked(self.home)[run]


def _check_end(arguments: tuple[str, ...], code: Any, said: str, expect: int) -> str:
    assert code == expect, f"envmill {' '.join(arguments)} ended with {code}\n{said}"
    return said


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def wait_until(
    condition: Callable[[], bool],
    seconds: float,
    describe: Callable[[], str] = lambda: "it never came true",
    pace: float = 0.1,
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(pace)
