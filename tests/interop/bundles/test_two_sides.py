"""Two sides over MCP: an agent's client and a user's on one session, each with its own tools and
credential. What they do together is recorded, and scored as ever."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.bundles.envrun.recording import read_recording, score_recording
from envmill.interop.exporters.base import ExportSet
from envmill.interop.exporters.bundle import export_bundle
from envmill.runtime.mcp.host import CannotStart
from envmill.runtime.mcp.offer import Offer
from envmill.runtime.mcp.serving import _open_side  # pyright: ignore[reportPrivateUsage]
from schemas.environment import Call
from schemas.scenario import Scenario
from tests.interop.bundles.five import BARE, PATIENCE
from tests.interop.exporters.consumers import open_house
from tests.runtime.mcp.clients import REVISION, WHO, Web, make_request
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import SCENARIOS
from tests.soak import count

FLIGHT = load().scenarios[sorted(SCENARIOS).index("flight")]
RESUME = load().scenarios[sorted(SCENARIOS).index("resume")]
LINES = ("1.30.0", "2.3.0")[: count(0, 2)]
BEGIN = make_request(0, "initialize", {"protocolVersion": REVISION, **WHO})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home, found = tmp_path_factory.mktemp("out"), load()
    export_set = ExportSet(environments=(found.environment,), scenarios=found.scenarios)
    (parcel,) = export_bundle(export_set)
    for path, data in parcel.files.items():
        target = home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return home


@contextmanager
def serving(folder: Path, scenario: Scenario, *words: str) -> Iterator[tuple[str, str]]:
    """The addresses of both sides."""
    command = [*BARE, "--http", "0", "--scenario", f"{scenario.number:03d}", "--side", "user"]
    process = subprocess.Popen(
        [*command, *words], cwd=folder, env={}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    try:
        told = process.stderr.readline().replace(",", "").split()
        yield next(word for word in told if word.startswith("http")), told[-1]
    finally:
        process.terminate()
        process.stderr.read()
        process.stderr.close()
        process.wait(PATIENCE)


class Side(Web):
    """A bare client of one side."""

    def __init__(self, url: str, path: str, token: str = "") -> None:
        super().__init__(url)
        self.path, self.token = path, token

    def send(
        self, content: Any, verb: str = "POST", path: str = "", **headers: str
    ) -> tuple[int, Any, Any]:
        shown = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return super().send(content, verb, path or self.path, **shown, **headers)

    def make(self, call: Call) -> tuple[bool, Any]:
        result = self.call(call.name, call.arguments)["result"]
        text = result["content"][0]["text"]
        return result.get("isError", False), json.loads(text) if text[:1] in "[{" else text


@contextmanager
def open_both(folder: Path, scenario: Scenario, home: Path) -> Iterator[tuple[Side, Side]]:
    """An agent that began, and its user."""
    keys = home / "user.token"
    with serving(folder, scenario, "--user-token", str(keys), "--record", str(home / "kept")) as (
        url,
        _,
    ):
        agent = Side(url, "/mcp")
        agent.begin()
        user = Side(url, f"/mcp/user/{agent.session}", keys.read_text().strip())
        user.begin()
        try:
            yield agent, user
        finally:
            agent.close()
            user.close()


@pytest.mark.parametrize("scenario", [FLIGHT, RESUME], ids=["flight", "resume"])
def test_both_sides_play_one_session(scenario: Scenario, folder: Path, tmp_path: Path) -> None:
    with open_both(folder, scenario, tmp_path) as (agent, user):
        for call in scenario.oracle:
            failed, _ = (user if call.actor == "user" else agent).make(call)
            assert not failed, call
    (path,) = (tmp_path / "kept").iterdir()
    assert [move["actor"] for move in read_recording(path).moves] == [
        call.actor for call in scenario.oracle
    ]
    with Bundle(folder, trusted=True) as bundle:
        verdict = score_recording(bundle, path, f"{scenario.number:03d}", [scenario.say])
    # Nobody recorded what the user answered: where a clause asks for a yes, that is no verdict.
    expected = "error" if any(call.asks for call in scenario.oracle) else "pass"
    assert verdict["outcome"] == expected, verdict


def test_couplings_carry_over(folder: Path, tmp_path: Path) -> None:
    """What the agent does on its side, the user sees on theirs."""
    with open_both(folder, RESUME, tmp_path) as (agent, user):
        shown = [user.make(Call(name="see_signal"))[1]]
        for call in (one for one in RESUME.oracle if one.actor == "agent"):
            assert not agent.make(call)[0]
        shown.append(user.make(Call(name="see_signal"))[1])
    assert shown[0] != shown[1]


def test_each_side_has_its_own_tools_and_papers(folder: Path, tmp_path: Path) -> None:
    with open_both(folder, FLIGHT, tmp_path) as (agent, user):
        mine, theirs = (
            {tool["name"] for tool in side.ask("tools/list")["result"]["tools"]}
            for side in (agent, user)
        )
        assert not mine & theirs
        assert "see_display" in theirs
        assert agent.make(Call(name="see_display"))[0]
        assert user.make(Call(name="find_merchant", arguments={"name": "Corner Bakery"}))[0]
        other = Side(agent_url(agent), "/mcp/user", user.token)
        user.send(None, "DELETE")
        told = other.begin()["instructions"]
        other.close()
    assert FLIGHT.user.opening in told
    assert "kestrel-41" in told
    assert "oracle" not in told
    assert "verifier" not in told


def agent_url(side: Side) -> str:
    return f"http://{side._line.host}:{side._line.port}/mcp"  # pyright: ignore[reportPrivateUsage]


def test_who_has_no_credential_of_the_user_plays_no_user(folder: Path, tmp_path: Path) -> None:
    """An agent that played its own user would confirm whatever it likes."""
    own = tmp_path / "agent.token"
    own.write_text("a-token-of-the-agent-alone\n")
    own.chmod(0o600)
    keys = tmp_path / "user.token"
    with serving(folder, FLIGHT, "--user-token", str(keys), "--token", str(own)) as (url, users):
        assert users.endswith("/mcp/user")
        secret = keys.read_text().strip()
        agent = Side(url, "/mcp", own.read_text().strip())
        agent.begin()
        for token in ("", agent.token, secret[:-1], f"{secret}x"):
            for path in ("/mcp/user", f"/mcp/user/{agent.session}", "/mcp/user/"):
                assert Side(url, path, token).send(BEGIN)[0] == 401, (token, path)
        assert Side(url, "/mcp", secret).send(BEGIN)[0] == 401
        # A session's id opens the other side's door as little.
        user = Side(url, "/mcp/user", secret)
        user.begin()
        ping = make_request(1, "ping")
        assert agent.send(ping, Mcp_Session_Id=user.session)[0] == 404
        assert user.send(ping, Mcp_Session_Id=agent.session)[0] == 404
        assert Side(url, "/mcp/users", secret).send(BEGIN)[0] in (401, 404)
        assert Side(url, "/mcp/user/../../mcp", "").send(BEGIN)[0] == 401


def test_a_session_has_one_user_who_may_leave(folder: Path, tmp_path: Path) -> None:
    with open_both(folder, FLIGHT, tmp_path) as (agent, user):
        url = agent_url(agent)
        second = Side(url, user.path, user.token)
        assert second.send(BEGIN)[0] == 409
        assert Side(url, "/mcp/user", user.token).send(BEGIN)[0] == 404
        assert Side(url, "/mcp/user/none", user.token).send(BEGIN)[0] == 404
        # Who fumbles its beginning keeps no place.
        assert user.send(None, "DELETE")[0] == 200
        assert user.send(make_request(1, "ping"))[0] == 404
        assert "error" in second.send(make_request(0, "initialize", {}))[2]
        second.begin()
        assert not second.make(Call(name="see_display"))[0]
        assert not agent.make(Call(name="find_merchant", arguments={"name": "Corner Bakery"}))[0]
        # The agent's end is the end of both.
        assert agent.send(None, "DELETE")[0] == 200
        assert second.send(make_request(2, "ping"))[0] == 404


def test_two_sessions_stay_apart(folder: Path, tmp_path: Path) -> None:
    with open_both(folder, FLIGHT, tmp_path) as (agent, user):
        other = Side(agent_url(agent), "/mcp")
        other.begin()
        theirs = Side(agent_url(agent), "/mcp/user", user.token)
        theirs.begin()
        assert not user.make(Call(name="leave_flight_mode"))[0]
        signals = [side.make(Call(name="see_signal"))[1]["flight_mode"] for side in (user, theirs)]
        assert len(set(signals)) == 2
        other.close()
        theirs.close()


def test_what_cannot_be_served_is_said(folder: Path, tmp_path: Path) -> None:
    keys, offer = tmp_path / "user.token", Offer("x", {"tools": []}, {})
    with pytest.raises(CannotStart, match="--http"):
        _open_side(("", keys), offer, "", "")
    with pytest.raises(CannotStart, match="no tools of their own"):
        _open_side(("", keys), offer, "8765", "")
    both = Offer("x", {"tools": [{"actors": ["user"]}]}, {})
    secret = _open_side(("", keys), both, "8765", "").token
    with pytest.raises(CannotStart, match="one token"):
        _open_side(("", keys), both, "8765", secret)
    done = subprocess.run(
        [*BARE, "--http", "0", "--scenario", "000", "--side", "user"],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode
    assert "--user-token" in done.stderr


@pytest.mark.soak(area="mcp")
@pytest.mark.parametrize("version", LINES)
def test_the_official_clients_play_both_sides(version: str, folder: Path, tmp_path: Path) -> None:
    keys = tmp_path / "user.token"
    words = ("--user-token", str(keys), "--record", str(tmp_path / "kept"))
    with serving(folder, FLIGHT, *words) as (url, users):
        told = {
            "url": url,
            "users": users,
            "token": keys.read_text().strip(),
            "calls": [[one.actor, one.name, one.arguments] for one in FLIGHT.oracle],
        }
        done = subprocess.run(
            [open_house(f"mcp=={version}"), "-B", Path(__file__).with_name("official_sides.py")],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=PATIENCE * 5,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["failed"] == [False] * len(FLIGHT.oracle)
    assert not set(seen["agent"]) & set(seen["user"])
    (path,) = (tmp_path / "kept").iterdir()
    with Bundle(folder, trusted=True) as bundle:
        verdict = score_recording(bundle, path, f"{FLIGHT.number:03d}", [FLIGHT.say])
    assert (verdict["outcome"], verdict["reward"]) == ("pass", 1.0)
