"""What a client is answered: in every revision, by every tool, and for everything that is no
message."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.bundles.envrun.files import FolderError
from envmill.interop.bundles.envrun.recording import read_recording
from envmill.runtime.jail.client import Jail
from envmill.runtime.mcp.connection import McpConnection
from envmill.runtime.mcp.host import CannotStart, JailHost
from envmill.runtime.mcp.messages import LIMIT, MODERN, VERSIONS, RpcError, read
from envmill.runtime.mcp.offer import PAGE
from envmill.sandbox.vendor import RUNTIME
from tests.runtime.mcp.clients import REVISION, WHO, make_request
from tests.runtime.mcp.conftest import TOOLS, make_offer, make_tool


def begin(host: JailHost, revision: str = REVISION, **more: Any) -> McpConnection:
    opened = host.open(**more)
    assert (
        opened.answer(make_request(0, "initialize", {"protocolVersion": revision, **WHO}))[
            "result"
        ]["protocolVersion"]
        in VERSIONS
    )
    return opened


def call(connection: McpConnection, name: str, arguments: Any = None) -> Any:
    return connection.answer(
        make_request(1, "tools/call", {"name": name, "arguments": arguments or {}})
    )["result"]


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [*((one, one) for one in VERSIONS), ("1999-01-01", REVISION), (MODERN, REVISION)],
)
def test_a_revision_is_agreed_on(host: JailHost, asked: str, agreed: str) -> None:
    opened = host.open()
    told = opened.answer(make_request("a", "initialize", {"protocolVersion": asked, **WHO}))[
        "result"
    ]
    assert (told["protocolVersion"], opened.version) == (agreed, agreed)
    assert (told["serverInfo"]["title"], told["instructions"], told["capabilities"]) == (
        "Yard",
        "Be kind.",
        {"tools": {}},
    )
    assert opened.answer({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
    opened.close()


def modern(method: str, **params: Any) -> dict[str, Any]:
    return make_request(
        1, method, params | {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
    )


def test_the_revision_without_sessions_is_spoken_where_the_line_is_one(host: JailHost) -> None:
    opened = host.open(whole=True)
    assert MODERN in opened.answer(modern("server/discover"))["result"]["supportedVersions"]
    assert opened.version == ""
    listed = opened.answer(modern("tools/list"))["result"]
    assert (listed["resultType"], listed["ttlMs"], len(listed["tools"])) == (
        "complete",
        0,
        len(TOOLS) - 1,
    )
    assert opened.answer(modern("tools/call", name="motto"))["result"]["resultType"] == "complete"
    opened.close()


def test_elsewhere_it_is_refused_in_its_own_terms(host: JailHost) -> None:
    opened = host.open()
    for message in (
        modern("server/discover"),
        modern("tools/list"),
        make_request(1, "server/discover"),
    ):
        error = opened.answer(message)["error"]
        assert (error["code"], error["data"]["supported"]) == (-32022, [*VERSIONS])
    begun = opened.answer(make_request(2, "initialize", {"protocolVersion": REVISION, **WHO}))
    assert begun["result"]["protocolVersion"] == REVISION
    opened.close()


def test_tools_are_listed_as_the_interface_has_them(host: JailHost) -> None:
    opened = begin(host)
    listed = {
        tool["name"]: tool
        for tool in opened.answer(make_request(1, "tools/list"))["result"]["tools"]
    }
    mine = [tool for tool in TOOLS if tool.actors == ["agent"]]
    assert {name: tool["inputSchema"] for name, tool in listed.items()} == {
        tool.name: tool.parameters for tool in mine
    }
    hints = {
        name: (tool["annotations"]["readOnlyHint"], tool["annotations"]["destructiveHint"])
        for name, tool in listed.items()
    }
    assert (hints["find"], hints["add"]) == ((True, False), (False, True))
    opened.close()


def test_many_tools_come_in_pages() -> None:
    entries = [make_tool(f"tool_{place}").model_dump() for place in range(2 * PAGE + 1)]
    offer = replace(make_offer(), program={"hash": "h", "tools": entries})
    seen, cursor = list[str](), None
    for _ in range(3):
        page = offer.list_tools(cursor)
        seen += [tool["name"] for tool in page["tools"]]
        cursor = page.get("nextCursor")
    assert (len(seen), cursor) == (2 * PAGE + 1, None)
    for wrong in ("x", "9999999999999999", "0", "-1", 3):
        with pytest.raises(RpcError, match="no page"):
            offer.list_tools(wrong)


def test_other_actors_have_other_tools(host: JailHost) -> None:
    with JailHost(make_offer(actor="keeper"), lambda: Jail(RUNTIME)) as kept:
        keeper = begin(kept)
        listed = keeper.answer(make_request(1, "tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["empty"]
        assert call(keeper, "empty")["isError"] is False
        assert call(keeper, "names")["structuredContent"]["error"]["code"] == "not_allowed"
    agent = begin(host)
    assert call(agent, "empty")["structuredContent"]["error"]["code"] == "not_allowed"
    agent.close()


def test_what_a_tool_answers_becomes_content(host: JailHost) -> None:
    opened = begin(host)
    found, names, motto, pictured = (
        call(opened, "find", {"name": "T1"}),
        *(call(opened, name) for name in ("names", "motto", "picture")),
    )
    assert (found["structuredContent"], json.loads(found["content"][0]["text"])) == (
        {"name": "saw"},
        {"name": "saw"},
    )
    assert (json.loads(names["content"][0]["text"]), "structuredContent" in names) == (
        ["T1"],
        False,
    )
    assert motto["content"] == [{"type": "text", "text": "Bring it back."}]
    image, text, paper = pictured["content"]
    assert (image["mimeType"], image["data"], text["text"]) == (
        "image/png",
        "cG5n",
        '{"of":"the yard"}',
    )
    assert (paper["resource"]["mimeType"], paper["resource"]["blob"]) == ("application/pdf", "cGRm")
    opened.close()


@pytest.mark.parametrize(
    ("name", "arguments", "outcome", "code"),
    [
        ("find", {"name": "T9"}, "rejection", "unknown"),
        ("find", {"name": 3}, "rejection", "invalid_arguments"),
        ("get_reward", {}, "rejection", "unknown_tool"),
        ("crash", {}, "failure", "crash"),
        ("vanish", {}, "failure", "killed"),
    ],
)
def test_what_is_refused_and_what_fails_are_told_apart(
    host: JailHost, name: str, arguments: Any, outcome: str, code: str
) -> None:
    opened = begin(host)
    result = call(opened, name, arguments)
    error = result["structuredContent"]["error"]
    assert (result["isError"], error["outcome"], error["code"]) == (True, outcome, code)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    opened.close()


DEEP: Any = {"name": [[[[]]]]}
for _ in range(100):
    DEEP = {"name": DEEP}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        pytest.param([], -32600, id="an empty array"),
        pytest.param([make_request(1, "ping")], -32600, id="an array in a revision without"),
        pytest.param(3, -32600, id="a number"),
        pytest.param(None, -32600, id="null"),
        pytest.param({"id": 1, "method": "ping"}, -32600, id="no jsonrpc"),
        pytest.param({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600, id="null as an id"),
        pytest.param(
            {"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600, id="a truth as an id"
        ),
        pytest.param({"jsonrpc": "2.0", "id": [1], "method": "ping"}, -32600, id="a list as an id"),
        pytest.param({"jsonrpc": "2.0", "id": 1}, -32600, id="no method"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": {}}, -32600, id="a method that is none"),
        pytest.param(make_request(1, "ping", [1]), -32602, id="params in a list"),
        pytest.param(make_request(1, "resources/list"), -32601, id="what is not offered"),
        pytest.param(
            make_request(1, "initialize", {"protocolVersion": REVISION}), -32600, id="begun twice"
        ),
        pytest.param(make_request(1, "tools/list", {"cursor": "x"}), -32602, id="no such page"),
        pytest.param(make_request(1, "tools/call", {"arguments": {}}), -32602, id="no name"),
        pytest.param(
            make_request(1, "tools/call", {"name": "names", "arguments": [1]}),
            -32602,
            id="arguments in a list",
        ),
        pytest.param(
            make_request(1, "tools/call", {"name": "find", "arguments": DEEP}),
            -32602,
            id="deep arguments",
        ),
        pytest.param(
            make_request(1, "tools/call", {"name": "find", "arguments": {"name": 2**70}}),
            -32602,
            id="a huge number",
        ),
        pytest.param(
            make_request(1, "tools/call", {"name": "find", "arguments": {"name": "x" * LIMIT}}),
            -32602,
            id="huge arguments",
        ),
        pytest.param(
            make_request(1, "tools/call", {"name": "find", "arguments": {"name": "\ud800"}}),
            -32602,
            id="half a character",
        ),
    ],
)
def test_what_is_no_message_is_an_error_and_ends_nothing(
    host: JailHost, message: Any, code: int
) -> None:
    opened = begin(host)
    opened.expect(message)
    assert opened.answer(message)["error"]["code"] == code
    assert call(opened, "motto")["isError"] is False
    opened.close()


@pytest.mark.parametrize(
    "payload",
    [b"{", b'{"a": NaN}', b'{"a": 1e999}', b'"\\ud800"', b"\xff", b"[" * 100_000, b"1" * 10_000],
)
def test_what_is_no_json_is_said(payload: bytes) -> None:
    with pytest.raises(RpcError) as told:
        read(payload)
    assert told.value.code == -32700


def test_nothing_is_done_before_the_beginning(host: JailHost) -> None:
    opened = host.open()
    assert opened.answer(make_request(1, "ping"))["result"] == {}
    for method in ("tools/list", "tools/call"):
        assert (
            opened.answer(make_request(1, method, {"name": "add"}))["error"]["message"]
            == "Send initialize first."
        )
    assert opened.answer(make_request(1, "initialize", {}))["error"]["code"] == -32602
    opened.close()


def test_several_at_once_where_the_revision_has_it(host: JailHost) -> None:
    opened = begin(host, "2025-03-26")
    several = [
        make_request(1, "ping"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        3,
        make_request(2, "ping"),
    ]
    opened.expect(several)
    assert [reply["id"] for reply in opened.answer(several)] == [1, None, 2]
    assert opened.answer([several[1]]) is None
    opened.close()


def cancel(name: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": name}}


def test_a_call_that_was_cancelled_in_time_is_never_made(host: JailHost, tmp_path: Path) -> None:
    opened = begin(host, record=tmp_path / "moves")
    add = {"name": "add", "arguments": {"name": "axe"}}
    waiting = [make_request(1, "tools/call", add), make_request(2, "tools/call", add), cancel(2)]
    for message in waiting:
        opened.expect(message)
    first, second, third = map(opened.answer, waiting)
    assert (first["result"]["structuredContent"], second, third) == ({"count": 2}, None, None)
    for late in (
        cancel(1),
        cancel([1]),
        cancel(None),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 3},
    ):
        opened.expect(late)
    assert call(opened, "add", {"name": "axe"})["structuredContent"] == {"count": 3}
    opened.close()
    assert len(read_recording(tmp_path / "moves").moves) == 2


def test_sessions_are_apart_and_begin_alike(host: JailHost) -> None:
    one, other = begin(host), begin(host)
    assert [call(one, "add", {"name": "axe"})["structuredContent"]["count"] for _ in range(2)] == [
        2,
        3,
    ]
    assert call(other, "add", {"name": "axe"})["structuredContent"] == {"count": 2}
    assert call(one, "vanish")["isError"] is True
    assert len(json.loads(call(other, "names")["content"][0]["text"])) == 2
    assert call(other, "motto")["isError"] is False
    for opened in (one, other):
        opened.close()


def test_a_recording_holds_what_was_done_and_no_more(host: JailHost, tmp_path: Path) -> None:
    opened = begin(host, record=tmp_path / "a" / "moves")
    for name, arguments in (
        ("find", {"name": "T9"}),
        ("add", {"name": "axe \u2028 x"}),
        ("crash", {}),
    ):
        call(opened, name, arguments)
    opened.answer(make_request(1, "tools/call", {"name": "add", "arguments": 3}))
    kept = read_recording(tmp_path / "a" / "moves")
    assert [(move["name"], move["outcome"]) for move in kept.moves] == [
        ("find", "rejection"),
        ("add", "ok"),
        ("crash", "failure"),
    ]
    assert (kept.seed, kept.scenario, kept.moves[0]["state_hash"]) == (7, "", kept.start)
    assert kept.fault == "the environment failed, not the policy"
    (tmp_path / "cut").write_text((tmp_path / "a" / "moves").read_text() + '{"name": "ad')
    assert read_recording(tmp_path / "cut").moves == kept.moves
    opened.close()
    with pytest.raises(CannotStart, match="exists already"):
        host.open(tmp_path / "a" / "moves")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}\n",
        '{"recording": 2}\n',
        "[1]\n",
        "x\n",
        '{"recording": 1, "program": ""}\n{"name": 3}\n',
    ],
)
def test_what_is_no_recording_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "moves").write_text(text)
    with pytest.raises(FolderError, match="moves is"):
        read_recording(tmp_path / "moves")


def test_a_jail_that_breaks_is_no_answer_and_the_next_client_has_another(tmp_path: Path) -> None:
    with JailHost(make_offer(), lambda: Jail(RUNTIME)) as host:
        opened = begin(host, record=tmp_path / "moves")
        call(opened, "motto")
        host._jail._process.kill()
        for _ in range(2):
            error = opened.answer(make_request(1, "tools/call", {"name": "motto"}))["error"]
            assert (error["code"], "not the environment" in error["message"]) == (-32603, True)
        opened.close()
        assert "The server broke" in read_recording(tmp_path / "moves").fault
        another = begin(host)
        assert call(another, "motto")["isError"] is False


def test_an_environment_that_does_not_begin_is_named() -> None:
    wrong = make_offer(start={"initial_state": {}, "clock": "2026-03-02T09:00:00Z", "seed": 1})
    with (
        JailHost(wrong, lambda: Jail(RUNTIME)) as host,
        pytest.raises(CannotStart, match="Yard does not take its initial state"),
    ):
        host.open()
