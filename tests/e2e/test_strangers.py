"""Strangers ask the server: pages of other origins in a real browser, and another user of this
machine. None of them starts a run."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from envmill.base.settings import ROOT
from flows.local.private import make_headers, read_secret
from flows.local.process import find_marked
from tests.cli.guarded import Guarded, guard
from tests.e2e.conftest import CHROMIUM, QUIET
from tests.e2e.plant import Plant

EVIL = "evil.example"
NOBODY = 65534
ATTACK = """async ([server, deployment]) => {
    const run = JSON.stringify({state: {type: "SCHEDULED"}, job_variables: {command: "sh -c 'id > PLACE'"}});
    const place = `${server}/api/deployments/${deployment}/create_flow_run`;
    const seen = [];
    const ask = (what, url, options) => fetch(url, options).then(
        async (answer) => seen.push([what, answer.type === "opaque" ? "opaque" : answer.ok ? await answer.text() : "refused"]),
        () => seen.push([what, "refused"]),
    );
    await ask("read", `${server}/api/health`, {});
    await ask("read with cookie", `${server}/api/health`, {credentials: "include"});
    await ask("json", place, {method: "POST", headers: {"Content-Type": "application/json"}, body: run});
    for (const credentials of ["omit", "include"]) {
        await ask(`no preflight, ${credentials}`, place, {method: "POST", mode: "no-cors", credentials, body: new Blob([run])});
    }
    for (const path of ["/api/events/out", "/api/events/in", "/api/logs/out"]) {
        seen.push([path, await new Promise((done) => {
            const socket = new WebSocket(server.replace("http", "ws") + path);
            socket.onopen = () => done("opened");
            socket.onerror = () => done("refused");
        })]);
    }
    seen.push(["frame", await new Promise((done) => {
        const frame = document.createElement("iframe");
        frame.onload = () => { try { done(frame.contentDocument ? "blank" : "loaded"); } catch { done("loaded"); } };
        frame.src = server + "/";
        document.body.append(frame);
        setTimeout(() => done("nothing"), 3000);
    })]);
    return seen;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium to which the foreign name is this machine, as its owner's DNS may say."""
    if not CHROMIUM.exists() and not os.environ.get("CI"):
        pytest.skip(f"{CHROMIUM} is missing: install Debian's chromium to test the UI")
    with sync_playwright() as playwright:
        rules = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=[*QUIET, rules])
        yield browser
        browser.close()


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    with guard() as served:
        yield served


class _Blank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title><body>")

    def do_POST(self) -> None:
        """`/307?PLACE` leads to a place."""
        code, _, place = self.path[1:].partition("?")
        self.send_response(int(code))
        self.send_header("Location", place)
        self.end_headers()

    def log_message(self, format: str, *values: Any) -> None:
        pass


@contextmanager
def serve_blank() -> Iterator[int]:
    """A server of pages that belong to somebody else; its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Blank) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def log_in(page: Page, guarded: Guarded) -> None:
    page.goto(f"{guarded.url}{guarded.make_link()}")
    page.wait_for_function("document.title === 'inside'")


@pytest.mark.parametrize("name", [EVIL, "127.0.0.1", "localhost"])
def test_a_page_of_another_origin_reaches_nothing(page: Page, guarded: Guarded, name: str) -> None:
    """One of another site, and one of another port, to which the browser sends the cookie along."""
    log_in(page, guarded)
    guarded.reached.asked.clear()
    with serve_blank() as port:
        page.goto(f"http://{name}:{port}/")
        seen = dict(page.evaluate(ATTACK, [guarded.url, "x"]))
    assert guarded.reached.asked == []
    assert {
        what: found for what, found in seen.items() if found not in ("refused", "opaque", "loaded")
    } == {}


VEHICLES = """async (server) => {
    const place = server + "/api/deployments/x/create_flow_run";
    const wait = (element, seconds) => new Promise((done) => {
        element.onload = element.onerror = done;
        setTimeout(done, 1000 * seconds);
    });
    const add = (name, values) => {
        const element = Object.assign(document.createElement(name), values);
        document.body.append(element);
        return element;
    };
    navigator.sendBeacon(place, new Blob(["{}"]));
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
        const frame = add("iframe", {name: enctype});
        add("form", {method: "POST", action: place, enctype, target: enctype}).submit();
        await wait(frame, 2);
    }
    for (const code of [301, 307, 308]) {
        await fetch(`/${code}?${place}`, {method: "POST", mode: "no-cors", credentials: "include", body: "{}"}).catch(() => 0);
    }
    for (const [name, values] of [["script", {src: place}], ["img", {src: place}], ["link", {rel: "stylesheet", href: place}],
                                  ["link", {rel: "prefetch", href: place}], ["object", {data: place}], ["embed", {src: place}]]) {
        await wait(add(name, values), 1);
    }
    const events = new EventSource(place, {withCredentials: true});
    await wait(events, 1);
    events.close();
    const worker = new Worker(URL.createObjectURL(new Blob([`fetch("${place}", {credentials: "include"}).finally(() => postMessage(1))`])));
    await new Promise((done) => { worker.onmessage = done; setTimeout(done, 2000); });
}"""


@pytest.mark.parametrize("name", [EVIL, "127.0.0.1"])
def test_no_other_vehicle_of_a_page_reaches_the_server(
    page: Page, guarded: Guarded, name: str
) -> None:
    """Forms, beacons, redirects, elements, event streams and workers; the cookie goes along from
    another port."""
    log_in(page, guarded)
    guarded.reached.asked.clear()
    with serve_blank() as port:
        page.goto(f"http://{name}:{port}/")
        page.evaluate(VEHICLES, guarded.url)
        page.wait_for_timeout(500)
    assert guarded.reached.asked == []


def test_the_vehicles_drive(page: Page, guarded: Guarded) -> None:
    """From the server's own page, else the test above could not fail."""
    log_in(page, guarded)
    guarded.reached.asked.clear()
    page.evaluate(VEHICLES, guarded.url)
    page.wait_for_timeout(500)
    place = "/api/deployments/x/create_flow_run"
    assert guarded.reached.asked.count(f"GET {place}") >= 4
    assert guarded.reached.asked.count(f"POST {place}") >= 1, "the beacon"


def test_the_servers_own_page_reaches_everything(page: Page, guarded: Guarded) -> None:
    """Else the test above could not fail."""
    log_in(page, guarded)
    guarded.reached.asked.clear()
    seen = dict(page.evaluate(ATTACK, [guarded.url, "x"]))
    assert seen["read"] == "<title>inside</title>secret"
    assert seen["/api/events/out"] == "opened"
    assert guarded.reached.asked.count("POST /api/deployments/x/create_flow_run") == 2, (
        "json, and with the cookie"
    )


def test_a_name_that_is_bound_to_this_machine_later_reaches_nothing(
    page: Page, guarded: Guarded
) -> None:
    """DNS rebinding: to the browser the page and the server are then of one origin."""
    answer = page.goto(f"http://{EVIL}:{guarded.port}/api/health")
    assert answer is not None
    assert answer.status == 421
    seen = dict(page.evaluate(ATTACK, [f"http://{EVIL}:{guarded.port}", "x"]))
    assert guarded.reached.asked == []
    assert not {"opened", "<title>inside</title>secret"} & set(seen.values())


def test_the_address_of_a_link_goes_to_nobody(page: Page, guarded: Guarded) -> None:
    """Neither into the address of the page that is open afterwards, nor as a referrer to a page
    that it links to."""
    link = guarded.make_link()
    page.goto(f"{guarded.url}{link}")
    page.wait_for_function("document.title === 'inside'")
    assert "token" not in page.url
    assert page.evaluate("document.referrer") == ""


def test_a_link_that_another_page_opened_logs_in_all_the_same(page: Page, guarded: Guarded) -> None:
    """As from a file that `envmill open --browser` writes: a strict cookie is not sent with what
    follows a foreign page."""
    with serve_blank() as port:
        page.goto(f"http://{EVIL}:{port}/")
        page.evaluate("place => { location.href = place }", f"{guarded.url}{guarded.make_link()}")
        page.wait_for_function("document.title === 'inside'")


def test_no_stranger_starts_a_run_on_the_real_server(
    plant: Plant, page: Page, tmp_path: Path
) -> None:
    url, place = plant.record("server").url, tmp_path / "ran"
    with plant.api() as api:
        deployment = api.find_deployment("factory/factory")
        before = api.post("/flow_runs/count", {})
    plant.log_in(page)
    with serve_blank() as port:
        for name in (EVIL, "127.0.0.1"):
            page.goto(f"http://{name}:{port}/")
            page.evaluate(ATTACK.replace("PLACE", str(place)), [url, deployment])
    body = json.dumps(
        {"state": {"type": "SCHEDULED"}, "job_variables": {"command": f"sh -c 'id > {place}'"}}
    )
    assert (
        ask_as_nobody(
            int(url.rpartition(":")[2]), f"/api/deployments/{deployment}/create_flow_run", body
        )
        == 401
    )
    with plant.api() as api:
        assert api.post("/flow_runs/count", {}) == before
    assert not place.exists()


def ask_as_nobody(port: int, path: str, body: str) -> int:
    """Status of a request by another user of this machine. What he imports he imports first: he may
    not read where it lies."""
    asked = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
        f"Connection: close\r\n\r\n{body}"
    )
    program = (
        "import encodings.idna, os, socket, sys\n"
        f"if os.geteuid() == 0: os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "with socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=60) as server:\n"
        "    server.sendall(sys.argv[2].encode())\n"
        "    print(os.geteuid(), server.recv(100).split()[1].decode())\n"
    )
    told = subprocess.run(
        [sys.executable, "-S", "-c", program, str(port), asked],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    user, status = told.stdout.split()
    assert user != "0"
    return int(status)


def test_another_user_is_refused(guarded: Guarded) -> None:
    assert ask_as_nobody(guarded.port, "/api/deployments/x/create_flow_run", "{}") == 401
    assert guarded.reached.asked == []


@pytest.mark.parametrize(
    "variables",
    [
        {"command": "id"},
        {"env": {"X": "1"}},
        {"env.X": "1"},
        {"working_dir": "/tmp"},
        {"image": "x"},
        {"name": "x"},
    ],
)
def test_the_operator_names_no_command_either(plant: Plant, variables: dict[str, Any]) -> None:
    with plant.api() as api:
        deployment = api.find_deployment("factory/factory")
        with pytest.raises(Exception, match="Additional properties are not allowed"):
            api.post(
                f"/deployments/{deployment}/create_flow_run",
                {"state": {"type": "SCHEDULED"}, "job_variables": variables},
            )


def list_descriptors(pid: int) -> Iterator[str]:
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield str(path.readlink())


def list_listening(plant: Plant) -> dict[str, int]:
    """Addresses at which the plant's processes listen, each with how often, as the kernel tells."""
    found: dict[str, int] = {}
    for pid in find_marked(plant.home):
        sockets = set(list_descriptors(pid))
        for table in ("tcp", "tcp6"):
            rows = [
                line.split()
                for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            ]
            for row in rows:
                if row[3] == "0A" and f"socket:[{row[9]}]" in sockets:
                    address = row[1].partition(":")[0]
                    found[address] = found.get(address, 0) + 1
    return found


def test_every_process_listens_on_this_machine_alone(plant: Plant) -> None:
    """The server, and the worker's port for cancelling runs."""
    listening = list_listening(plant)
    assert set(listening) == {"0100007F"}
    assert listening["0100007F"] >= 2


def test_a_setting_of_the_operator_reaches_the_server(plant: Plant) -> None:
    """The plant's shell also has settings that would break it; they do not reach it."""
    with plant.api() as api:
        assert api.get("/admin/settings")["server"]["flow_run_graph"]["max_nodes"] == 9999


CLIENTS = """
import asyncio
from prefect.events.clients import get_events_client, get_events_subscriber
from prefect.logging.clients import get_logs_subscriber
from prefect.client.orchestration import get_client

async def main():
    async with get_client() as client, get_events_client(), get_events_subscriber(), get_logs_subscriber():
        print("known", (await client.read_work_pool("envmill")).name)

asyncio.run(main())
"""


def test_prefects_own_clients_are_known_on_every_socket(plant: Plant) -> None:
    """Those that run in worker and flow runs; without one of them a Cancel or a page would be late,
    and nothing would say why."""
    environ = plant.home.child_environ(plant.record("server").url)
    told = subprocess.run(
        [sys.executable, "-c", CLIENTS],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert told.stdout == "known envmill\n", told.stderr
    stripped = {
        name: value for name, value in environ.items() if name != "PREFECT_CLIENT_CUSTOM_HEADERS"
    }
    told = subprocess.run(
        [sys.executable, "-c", CLIENTS],
        env=stripped,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert told.returncode == 1


def test_keys_and_secret_are_where_they_are_needed(plant: Plant) -> None:
    """As the kernel tells: what each process was started with, and what the logs hold."""
    secret = read_secret(plant.home.folder)
    header = make_headers(secret)["Authorization"]
    for name in ("server", "worker", "watchdog"):
        environ = Path(f"/proc/{plant.record(name).pid}/environ").read_text()
        assert "sk-of-this-plant" not in environ
        assert (header in environ) is (name == "worker"), "the others read the file"
    assert len(find_marked(plant.home)) >= 3, "so that the right ones were read"
    for log in (plant.home.folder / "logs").iterdir():
        assert secret.partition(":")[2] not in log.read_text()
        assert header not in log.read_text()
    assert "sk-of-this-plant" in (plant.home.folder / "keys.json").read_text()
