"""Up and down: server, work pool, worker and deployments, each brought up only as far as it lacks.

    claim port ─► server healthy ─► work pool ─► worker ─► deployments of prefect.yaml ─► watchdog

Killed at any point, the next `up` goes on from what it finds.
"""

import contextlib
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from envmill.base.errors import EnvMillError, SettingsError
from envmill.base.settings import ROOT
from flows.local.api import Api, connect
from flows.local.errors import NoServer, ServerRefused
from flows.local.home import Home
from flows.local.pools import (
    PROFILES,
    Profile,
    ProfileName,
    check_profile,
    keep_profile,
    make_job,
    read_profile,
    write_prefect_file,
)
from flows.local.private import ensure_secret, forget_private, make_lake, read_secret, write_keys
from flows.local.process import Process, end, find_marked
from flows.local.runs import STOPPED, UNDER_WAY, close_lost_runs, is_walked, list_runs, name_worker
from flows.local.variables import CHOSEN

SERVER_DEADLINE = 300.0  # 16 s on an idle machine of two cores; others may want it too
WORKER_DEADLINE = 180.0
START_PATIENCE = 150.0
"""Of a server that has just begun: it compiles and makes its tables while its worker and others
start beside it."""
Say = Callable[[str], None]

SERVER = [
    "-m", "uvicorn", "--factory", "flows.local.serving:make_app", "--log-level", "warning", "--timeout-keep-alive", "5",
    "--no-proxy-headers", "--no-server-header",
]  # fmt: skip
WATCHDOG = ["-m", "flows.local.watchdog"]


def bring_up(home: Home, say: Say, remote: str = "", profile: ProfileName | None = None) -> str:
    """Make everything run; returns the server's address. A remote one is used as it is; worker and watchdog run here. Without a profile
    the home keeps the one it has."""
    with home.lock():
        chosen = PROFILES[profile] if profile else read_profile(home)
        check_profile(chosen.name)
        if keep_profile(home, chosen):
            _stop(home, "worker", 20, say)
        make_lake(home.settings.lake)
        url = _use_remote(home, remote, say) if remote else _ensure_server(home, say)
        with connect(home, url, START_PATIENCE) as api:
            _ensure_pool(home, api)
            write_keys(
                home.folder,
                home.environ,
                {endpoint.key_name for endpoint in home.settings.endpoints.values()},
            )
            _ensure_worker(home, api, say)
            _ensure_deployments(home, api, say)
            _wait_for_worker(home, api)
        _ensure_watchdog(home, url, say)
    return url


def keep_up(home: Home, say: Say) -> list[str]:
    """Start again what was up and died; its names. Nothing is waited for but the server, and an
    `up` or `down` under way goes first."""
    gone = [
        name
        for name in ("server", "worker")
        if (process := Process(home, name)).path.exists() and not process.running()
    ]
    if not gone:
        return []
    with home.lock():
        if Process(home, "watchdog").read() is None:  # a `down` came first
            return []
        url = home.remote or _ensure_server(home, say)
        with connect(home, url, START_PATIENCE) as api:
            _ensure_worker(home, api, say)
    return gone


def bring_down(home: Home, say: Say) -> None:
    """The watchdog first, or it would start the others again; then the worker: it ends its runs and
    still can tell the server so. Orphans
    of a killed worker end too."""
    with home.lock():
        _stop(home, "watchdog", 5, say)
        cut_off = _list_under_way(home)
        _stop(home, "worker", 20, say)
        _end_orphans(home, say)
        if url := _find_any(home):
            with (
                connect(home, url, patience=5) as api,
                contextlib.suppress(NoServer, ServerRefused),
            ):  # a sick server is stopped all the same
                _close_cut_off(api, cut_off)
                _close_lost_runs(home, api, say)
        _stop(home, "server", 15, say)
        forget_private(home.folder)
        home.use_remote("")


def find_server(home: Home) -> str:
    """Address of this home's own server, or of the one that `up --remote` chose; a stranger on the
    same port never counts."""
    if record := Process(home, "server").running():
        return record.url
    if home.remote:
        return home.remote
    raise NoServer(f"No server runs for {home.folder}. Start it with `envmill up`.")


def make_link(home: Home) -> str:
    """A link that logs a browser in, once."""
    url = find_server(home)
    if home.remote:
        return url
    try:
        with httpx.Client(trust_env=False, headers=home.make_headers(url)) as client:
            answer = client.post(f"{url}/envmill/links")
    except httpx.HTTPError as error:
        raise NoServer(
            f"The server at {url} does not answer ({type(error).__name__}). Try `envmill down`, "
            "then `envmill up`."
        ) from error
    if answer.status_code != 200:
        raise ServerRefused(
            f"The server at {url} makes no link: {answer.status_code} {answer.text[:200]}",
            status=answer.status_code,
        )
    return f"{url}/envmill/login?token={answer.json()['token']}"


def read_named(home: Home) -> str:
    """Address of the server that PREFECT_API_URL names, for those who ask for it."""
    if not home.named.startswith(("http://", "https://")):
        raise SettingsError(
            "--remote uses the server that PREFECT_API_URL names: set it, like "
            "http://prefect.example:4200/api."
        )
    return home.named


def _use_remote(home: Home, url: str, say: Say) -> str:
    """A server of this home would be a second truth about its runs."""
    if Process(home, "server").running():
        raise SettingsError(
            f"A server of {home.folder} runs. Stop it with `envmill down` first, or leave out "
            "--remote."
        )
    with connect(home, url, patience=0) as api:
        api.get("/health")
    home.use_remote(url)
    say(f"server: {url}, not ours to start or stop")
    return url


def _ensure_server(home: Home, say: Say) -> str:
    home.use_remote("")
    server = Process(home, "server")
    if server.forget_stale():
        say("server: its process is gone; clearing its record")
    record = server.running()
    if record and not read_secret(home.folder):
        _stop(home, "server", 15, say)  # it was started without one, and asks for none
        record = None
    if record is None:
        ensure_secret(home.folder, home.login.get(CHOSEN, ""))
        with home.claim_port() as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            say(f"server: starting at {url} (about 20 s)")
            record = server.start(
                [*SERVER, "--fd", str(listener.fileno())], url, (listener.fileno(),)
            )
        state = "started"
    else:
        state = "already running"
    _wait_for_health(home, server, record.url)
    say(f"server: {state}, {record.url} (pid {record.pid})")
    return record.url


def _wait_for_health(home: Home, server: Process, url: str) -> None:
    deadline = time.monotonic() + SERVER_DEADLINE
    with connect(home, url, patience=0) as api:
        while True:
            try:
                return api.get("/health")
            except (NoServer, ServerRefused) as error:
                if server.running() is None:
                    raise EnvMillError(
                        f"The server ended while starting. {server.last_words()}"
                    ) from error
                if time.monotonic() > deadline:
                    raise EnvMillError(
                        f"The server is not healthy after {SERVER_DEADLINE:.0f} s: "
                        f"{error.message} {server.last_words()}\n"
                        "Try `envmill down`, then `envmill up`."
                    ) from error
            time.sleep(0.2)


def _ensure_pool(home: Home, api: Api) -> None:
    """A run's request must not choose a command, a folder or variables: this pool's jobs take no variables at all."""
    profile = read_profile(home)
    job = make_job(home, profile, api.url)
    try:
        api.post(
            "/work_pools/", {"name": profile.pool, "type": profile.name, "base_job_template": job}
        )
    except ServerRefused as error:
        if error.facts["status"] != 409:  # 409: it is there
            raise
        api.patch(f"/work_pools/{profile.pool}", {"base_job_template": job})


def _ensure_worker(home: Home, api: Api, say: Say) -> None:
    worker = Process(home, "worker")
    record = worker.running()
    if record and record.url == api.url:
        say(f"worker: already running (pid {record.pid})")
        return
    if record:
        worker.stop(20)
        say("worker: belonged to another address; stopped")
    if worker.forget_stale():
        say("worker: its process is gone; clearing its record")
    _close_lost_runs(home, api, say)
    record = worker.start(_make_worker(read_profile(home)), api.url)
    say(f"worker: started (pid {record.pid})")


def _make_worker(profile: Profile) -> list[str]:
    """No --limit: with a limit, the retry of a run whose process still lives kills the worker."""
    start = ["-m", "prefect", "worker", "start"]
    return [*start, "--pool", profile.pool, "--type", profile.name, "--name", name_worker()]


def _ensure_watchdog(home: Home, url: str, say: Say) -> None:
    watchdog = Process(home, "watchdog")
    record = watchdog.running()
    if record and record.url != url:
        watchdog.stop(5)
        record = None
    watchdog.forget_stale()
    say(
        f"watchdog: already running (pid {record.pid})"
        if record
        else f"watchdog: started (pid {watchdog.start(WATCHDOG, url).pid})"
    )


def _wait_for_worker(home: Home, api: Api) -> None:
    """Until the pool has heard from it."""
    worker = Process(home, "worker")
    deadline = time.monotonic() + WORKER_DEADLINE
    pool = read_profile(home).pool
    while not api.post(
        f"/work_pools/{pool}/workers/filter", {"workers": {"status": {"any_": ["ONLINE"]}}}
    ):
        if worker.running() is None or time.monotonic() > deadline:
            raise EnvMillError(
                f"The worker does not work. {worker.last_words()}\nTry `envmill down`, then "
                "`envmill up`."
            )
        time.sleep(0.2)


def _ensure_deployments(home: Home, api: Api, say: Say) -> None:
    """Prefect's own command deploys prefect.yaml, but it takes 10 s: only when something it depends
    on changed or went missing."""
    stamp = home.prefect / "deployed.json"
    digest = _digest_deployments(home, api.url)
    if has_deployments(home, api):
        say(f"deployments: {len(json.loads(stamp.read_text())['names'])}, unchanged")
        return
    file = write_prefect_file(home, read_profile(home))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "prefect",
            "--no-prompt",
            "deploy",
            "--all",
            "--prefect-file",
            str(file),
        ],
        env=home.child_environ(api.url),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EnvMillError(
            f"prefect.yaml could not be deployed:\n{(done.stdout + done.stderr)[-2000:]}"
        )
    names = _list_deployments(api)
    stamp.write_text(json.dumps({"digest": digest, "names": names}))
    say(f"deployments: {len(names)} made from prefect.yaml")


def has_deployments(home: Home, api: Api) -> bool:
    """Whether the server still has those of prefect.yaml as it is now."""
    stamp = home.prefect / "deployed.json"
    made = json.loads(stamp.read_text()) if stamp.exists() else {}
    return made.get("digest") == _digest_deployments(home, api.url) and set(made["names"]) <= set(
        _list_deployments(api)
    )


def _list_deployments(api: Api) -> list[str]:
    return [deployment["name"] for deployment in api.post("/deployments/filter", {})]


def _digest_deployments(home: Home, url: str) -> str:
    """What a deployment is made of: the server, the file, the flows, and the form their parameter is drawn from."""
    sources = [
        ROOT / "prefect.yaml",
        ROOT / "schemas/run.py",
        ROOT / "schemas/upkeep.py",
        *sorted((ROOT / "flows").glob("*.py")),
    ]
    own = [url.encode(), bytes(ROOT), read_profile(home).name.encode()]
    return hashlib.blake2b(b"\0".join([*own, *map(Path.read_bytes, sources)])).hexdigest()


def _list_under_way(home: Home) -> list[str]:
    if not (url := _find_any(home)):
        return []
    with connect(home, url, patience=0) as api, contextlib.suppress(NoServer, ServerRefused):
        return [
            flow_run["id"]
            for flow_run in list_runs(api, UNDER_WAY)
            if is_walked(home, flow_run["id"])
        ]
    return []


def _find_any(home: Home) -> str:
    """Address of the server, empty when there is none."""
    try:
        return find_server(home)
    except NoServer:
        return ""


def _close_cut_off(api: Api, cut_off: list[str]) -> None:
    """Say of runs whose worker was just stopped that this was meant: no watchdog resumes them."""
    for flow_run in cut_off:
        if api.get(f"/flow_runs/{flow_run}")["state_type"] not in (
            "COMPLETED",
            "FAILED",
            "CANCELLED",
        ):
            state = {"type": "CRASHED", "message": f"{STOPPED} Retry goes on where it stopped."}
            api.post(f"/flow_runs/{flow_run}/set_state", {"state": state, "force": True})


def _close_lost_runs(home: Home, api: Api, say: Say) -> None:
    for flow_run in close_lost_runs(home, api):
        say(f"run {flow_run}: its process is gone; it can be retried")


def _stop(home: Home, name: str, grace: float, say: Say) -> None:
    stopped = Process(home, name).stop(grace)
    say(f"{name}: {'stopped' if stopped else 'was not running'}")


def _end_orphans(home: Home, say: Say) -> None:
    server = Process(home, "server").running()
    orphans = [pid for pid in find_marked(home) if server is None or pid != server.pid]
    if orphans:
        end(orphans, grace=10)
        say(f"flow runs: ended {len(orphans)} process(es) that were left")
