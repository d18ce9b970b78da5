"""What stands before OpenEnv's server, without OpenEnv; and the papers of its folder."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from envmill.interop.consumers.openenv import CONSUMER, VERSIONS
from envmill.interop.consumers.sessions.guard import MOST, Guard
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import LOCKS
from tests.interop.exporters.specimens import make_export_set

HOME = {"host": "127.0.0.1:8000"}
TOKEN = {"authorization": "Bearer secret"}


async def _serve(scope: Any, receive: Any, send: Any) -> None:
    """The application inside: it reads everything, and says 200 when the last of it came."""
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass
    await send(
        {
            "type": "http.response.start",
            "status": 200 if message["type"] in ("http.request", "websocket.receive") else 499,
        }
    )


def ask(
    token: str,
    headers: dict[str, str],
    kind: str = "http",
    path: str = "/reset",
    bodies: tuple[Any, ...] = ({},),
    **scope: Any,
) -> Any:
    """The first thing that is sent back."""
    sent: list[Any] = []
    waiting = iter(bodies)

    async def receive() -> Any:
        return {"type": "http.request" if kind == "http" else "websocket.receive", **next(waiting)}

    async def send(message: Any) -> None:
        sent.append(message)

    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(
        Guard(_serve, token)({"type": kind, "path": path, "headers": told, **scope}, receive, send)
    )
    return sent[0]


@pytest.mark.parametrize(
    ("token", "headers", "path", "status"),
    [
        pytest.param("", HOME, "/reset", 200, id="this machine"),
        pytest.param("", {"host": "[::1]:8000"}, "/reset", 200, id="this machine by IPv6"),
        pytest.param("", {"host": "localhost"}, "/reset", 200, id="this machine by name"),
        pytest.param("", {"host": "evil.example"}, "/reset", 403, id="another name"),
        pytest.param(
            "", {"host": "127.0.0.1.evil.example"}, "/reset", 403, id="a name that begins alike"
        ),
        pytest.param("", {}, "/reset", 403, id="no name"),
        pytest.param("", {"host": "["}, "/reset", 403, id="no host"),
        pytest.param(
            "",
            {**HOME, "origin": "http://evil.example"},
            "/reset",
            403,
            id="a page of another site",
        ),
        pytest.param("", {**HOME, "origin": "null"}, "/reset", 403, id="a page of nowhere"),
        pytest.param(
            "", {**HOME, "origin": "http://127.0.0.1:9"}, "/reset", 200, id="a page of this machine"
        ),
        pytest.param("secret", {"host": "mill.example", **TOKEN}, "/reset", 200, id="token"),
        pytest.param("secret", HOME, "/reset", 401, id="no token"),
        pytest.param(
            "secret", {**HOME, "authorization": "Bearer secre"}, "/reset", 401, id="part of a token"
        ),
        pytest.param("secret", {**HOME, "authorization": "secret"}, "/reset", 401, id="no bearer"),
        pytest.param(
            "secret", {**HOME, "authorization": "Bearer \u00fc"}, "/reset", 401, id="odd token"
        ),
        pytest.param("secret", HOME, "/health", 200, id="health"),
        pytest.param("secret", HOME, "/health/x", 401, id="below health"),
        pytest.param(
            "secret",
            {**TOKEN, "host": "a.example", "origin": "http://evil.example"},
            "/reset",
            403,
            id="token and page",
        ),
        pytest.param("", {**HOME, "content-length": str(MOST)}, "/reset", 200, id="long"),
        pytest.param("", {**HOME, "content-length": str(MOST + 1)}, "/reset", 413, id="too long"),
        pytest.param("", {**HOME, "content-length": "x"}, "/reset", 413, id="no length"),
    ],
)
def test_who_is_let_in(token: str, headers: dict[str, str], path: str, status: int) -> None:
    assert ask(token, headers, path=path)["status"] == status


def test_a_body_without_a_length_is_bounded() -> None:
    part = {"body": b"x" * (MOST // 2), "more_body": True}
    assert ask("", HOME, bodies=(part, {"body": b"x"}))["status"] == 200
    assert ask("", HOME, bodies=(part, part, part))["status"] == 499


def test_a_socket_is_let_in_and_refused_as_a_request_is() -> None:
    refusing = {"websocket.http.response": {}}
    assert ask("secret", {**HOME, **TOKEN}, "websocket", bodies=({"text": "{}"},))["status"] == 200
    told = ask("secret", HOME, "websocket", extensions=refusing)
    assert (told["type"], told["status"]) == ("websocket.http.response.start", 401)
    assert ask("secret", HOME, "websocket") == {"type": "websocket.close"}
    assert ask("", HOME, "websocket", bodies=({"text": "x" * (MOST + 1)},))["status"] == 499


def test_the_papers_name_the_version_and_count_the_rows(tmp_path: Path) -> None:
    folder = write_consumer(CONSUMER, make_export_set(), tmp_path)
    paper = yaml.safe_load((folder / "openenv.yaml").read_text())
    rows = [
        json.loads(line)
        for line in (folder / CONSUMER.package / "public/rows.jsonl").read_text().splitlines()
    ]
    counts = paper["validation"]["capabilities"]["declared_task_count"]
    assert counts == {
        split: sum(row["split"] == split for row in rows)
        for split in {row["split"] for row in rows}
    }
    assert {row["form"] for row in rows} == {"single", "conversation"}
    version = f"openenv=={VERSIONS['openenv']}"
    assert version in (folder / "pyproject.toml").read_text()
    assert version in (LOCKS / "openenv.txt").read_text().splitlines()
    assert f'TESTED = "{VERSIONS["openenv"]}"' in (CONSUMER.adapter / "__init__.py").read_text()
    module, _, name = paper["app"].partition(":")
    source = (folder / f"{module.replace('.', '/')}.py").read_text()
    assert f"import {name}\n" in source
