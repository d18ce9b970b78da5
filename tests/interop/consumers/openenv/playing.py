# pyright: basic, reportMissingImports=false
"""OpenEnv's own client, server and validator on an exported folder, run by an interpreter that has
OpenEnv and nothing of ours.

playing.py FOLDER ANSWERS  <  {"scripts", "talks", "clocked", "attack", "page"}
"""

import io
import json
import os
import runpy
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

runpy.run_path(str(Path(__file__).parents[1] / "offline.py"))["leave_network"]()
sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[1])
TOKEN = "a-token-of-the-test"
SESSIONS = 8
PATIENCE = 900
"""Seconds: an import may take minutes where other work has the processors."""
SERVERS: dict[str, subprocess.Popen[bytes]] = {}
envmill_openenv = import_module("envmill_openenv")
Action, Client = envmill_openenv.OpenEnvAction, envmill_openenv.OpenEnvClient


@contextmanager
def serving(
    port: int, token: str = "", command: tuple[str, ...] = ("-m", "envmill_openenv.app")
) -> Iterator[str]:
    """A server in a process of its own; its address."""
    settings = {
        **os.environ,
        "ENVMILL_OPENENV_TOKEN": token,
        "ENVMILL_OPENENV_SESSIONS": str(SESSIONS),
    }
    process = subprocess.Popen(
        [sys.executable, "-B", *command, "--port", str(port)], cwd=FOLDER, env=settings
    )
    url = f"http://127.0.0.1:{port}"
    SERVERS[url] = process
    try:
        for _ in range(9000):
            assert process.poll() is None, "the server ended"
            with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
                break
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def connect(url: str, token: str = TOKEN) -> Any:
    return Client(
        base_url=url,
        headers={"Authorization": f"Bearer {token}"},
        connect_timeout_s=PATIENCE,
        message_timeout_s=PATIENCE,
    ).sync()


def play(url: str, scenario: str, moves: list[dict[str, Any]]) -> dict[str, Any]:
    """One episode. A script without last words ends with none."""
    with connect(url) as client:
        begun = client.reset(scenario=scenario)
        result, heard = begun, []
        for move in moves:
            result = client.step(Action(**move))
            heard.append(result.observation.user)
        if not result.done:
            result = client.step(Action(say=""))
        state = client.state()
        seen = sorted(tool["function"]["name"] for tool in begun.observation.tools)
        told = {
            "reward": result.reward,
            "done": result.done,
            "outcome": result.observation.metadata.get("outcome"),
        }
        return told | {
            "state_hash": state.state_hash,
            "heard": heard,
            "tools": seen,
            "first": begun.observation.messages,
        }


def play_scripts(url: str, scripts: dict[str, list[dict[str, Any]]]) -> list[Any]:
    """All of them, eight at a time."""
    every = [(scenario, script) for scenario, played in scripts.items() for script in played]

    def run(one: tuple[str, dict[str, Any]]) -> Any:
        scenario, script = one
        calls = [{"tool": call["name"], "arguments": call["arguments"]} for call in script["calls"]]
        moves = [*calls, *({"say": text} for text in script["said"])]
        return {"scenario": scenario, "name": script["name"], **play(url, scenario, moves)}

    with ThreadPoolExecutor(SESSIONS) as pool:
        return list(pool.map(run, every))


def ask(url: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, sent, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")
    except OSError:
        return 0, "cut off"


def play_over_mcp(url: str, scenario: str, script: dict[str, Any]) -> dict[str, Any]:
    """Calls over /mcp in a session of HTTP, reset and end over the WebSocket that is attached to
    it."""
    from websockets.sync.client import connect as open_socket

    bearer = {"Authorization": f"Bearer {TOKEN}"}

    def rpc(method: str, **params: Any) -> Any:
        return ask(
            f"{url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **bearer
        )[1]

    def send(socket: Any, kind: str, **data: Any) -> Any:
        socket.send(json.dumps({"type": kind, "data": data}))
        return json.loads(socket.recv(timeout=PATIENCE))["data"]

    session = rpc("openenv/session/create")["result"]["session_id"]
    early = rpc("tools/list", session_id=session)
    with open_socket(
        url.replace("http", "ws") + f"/ws?session_id={session}",
        additional_headers=bearer,
        proxy=None,
    ) as socket:
        send(socket, "reset", scenario=scenario)
        listed = rpc("tools/list", session_id=session)["result"]["tools"]
        replies = [
            rpc("tools/call", session_id=session, name=call["name"], arguments=call["arguments"])
            for call in script["calls"]
        ]
        unknown = rpc("tools/call", session_id=session, name="no_such_tool", arguments={})
        last = send(socket, "step", say=" ".join(script["said"]))
    closed = rpc("openenv/session/close", session_id=session)
    return {
        "early": early.get("error", {}).get("message"), "tools": [[tool["name"], tool["inputSchema"]] for tool in listed],
        "replies": [reply.get("result") for reply in replies], "unknown": unknown.get("error", {}).get("message"),
        "reward": last["reward"], "done": last["done"], "closed": "result" in closed or "error" in closed,
    }  # fmt: skip


def fill(url: str, scenario: str) -> dict[str, Any]:
    """Eight sessions at once, and one more; then room again."""
    clients = [connect(url) for _ in range(SESSIONS)]
    begun = [client.reset(scenario=scenario).observation.scenario for client in clients]
    told = catch(lambda: connect(url).reset(scenario=scenario))
    still = [client.step(Action(say="")).done for client in clients]
    for client in clients:
        client.close()
    time.sleep(1)
    with connect(url) as client:
        again = client.reset(scenario=scenario).observation.scenario
    return {"begun": begun, "ninth": told, "still": still, "again": again}


def branch(url: str, scenario: str, script: dict[str, Any]) -> dict[str, Any]:
    """An episode to its end, and from each of its turns once more by another client."""
    moves = [
        *({"tool": call["name"], "arguments": call["arguments"]} for call in script["calls"]),
        {"say": " ".join(script["said"])},
    ]
    with connect(url) as client:
        client.reset(scenario=scenario, episode_id="first")
        early = catch(lambda: client.reset(branch="first", turn=1))
        told = [client.step(Action(**move)) for move in moves]
        end, unlike = client.state(), []
        for turn in range(len(moves)):
            with connect(url) as other:
                begun = other.reset(branch="first", turn=turn)
                again = [other.step(Action(**move)) for move in moves[turn:]]
                state = other.state()
                if again != told[turn:] or (state.state_hash, state.step_count) != (
                    end.state_hash,
                    end.step_count,
                ):
                    unlike.append(turn)
                assert begun.observation.scenario == scenario
        unknown = catch(lambda: client.reset(branch="no such episode"))
    return {
        "turns": len(moves),
        "reward": told[-1].reward,
        "unlike": unlike,
        "early": early,
        "unknown": unknown,
    }


def log_turns(url: str, scenario: str, script: dict[str, Any]) -> dict[str, Any]:
    """The same episode with a log of its turns and without."""
    told: dict[str, Any] = {}
    for name, asked in {"plain": {}, "logged": {"log_turns": True}}.items():
        with connect(url) as client:
            client.reset(scenario=scenario, **asked)
            hashes, result = [], None
            for call in script["calls"]:
                client.step(Action(tool=call["name"], arguments=call["arguments"]))
                hashes.append(client.state().state_hash)
            result = client.step(Action(say=" ".join(script["said"])))
            told[name] = {"reward": result.reward, "metadata": result.observation.metadata}
    return told | {"hashes": hashes}


def look_at_metrics(url: str) -> dict[str, Any]:
    """Who may read them, and what they say of sessions and of one that vanishes."""

    def read() -> dict[str, float]:
        request = urllib.request.Request(
            f"{url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            lines = [
                line for line in answer.read().decode().splitlines() if not line.startswith("#")
            ]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    from websockets.sync.client import connect as open_socket

    bearer = {"Authorization": f"Bearer {TOKEN}"}
    vanishing = open_socket(
        url.replace("http", "ws") + "/ws", additional_headers=bearer, proxy=None
    )
    vanishing.send(json.dumps({"type": "reset", "data": {}}))
    vanishing.recv(timeout=PATIENCE)
    held = read()["envmill_sessions"]
    vanishing.socket.close()
    for _ in range(300):
        if (found := read())["envmill_sessions"] < held:
            break
        time.sleep(0.1)
    return {
        "refused": ask(f"{url}/metrics")[0],
        "held": held,
        "left": found["envmill_sessions"],
        "found": sorted(found),
    }


def catch(act: Any) -> str:
    try:
        act()
    except Exception as error:  # noqa: BLE001  what a user is told, whatever it is
        return str(error)
    return ""


def err(url: str, scenario: str) -> dict[str, str]:
    """What mistakes are answered with; the session goes on after each."""
    told = {}
    with connect(url) as client:
        told["step first"] = catch(lambda: client.step(Action(say="x")))
        told["unknown scenario"] = catch(lambda: client.reset(scenario="scn_9"))
        told["other environment"] = catch(
            lambda: client.reset(scenario=scenario, environment="env_9")
        )
        told["unknown split"] = catch(lambda: client.reset(split="dev"))
        told["unknown index"] = catch(lambda: client.reset(split="train", index=100_000))
        client.reset(scenario=scenario)
        told["long"] = catch(lambda: client.step(Action(tool="x", arguments="x" * 3_000_000)))
    with connect(url) as client:
        told["goes on"] = client.reset(scenario=scenario).observation.scenario
    return told


def knock(url: str) -> dict[str, Any]:
    """Who is let in."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    return {
        "no token": ask(f"{url}/metadata"),
        "wrong token": ask(f"{url}/metadata", Authorization="Bearer x"),
        "token": ask(f"{url}/metadata", **bearer)[0],
        "health": ask(f"{url}/health"),
        "origin": ask(f"{url}/metadata", Origin="http://evil.example", **bearer),
        "mcp": ask(
            f"{url}/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {}},
        )[0],
        "long": ask(f"{url}/reset", {"x": "x" * 2_000_000}, **bearer)[0],
        "socket": catch(lambda: connect(url, "x").reset()),
    }


def break_down(url: str, scenario: str, call: dict[str, Any]) -> dict[str, Any]:
    """The jail and the judge are killed in the middle of an episode."""
    with connect(url) as client:
        client.reset(scenario=scenario)
        for child in list_children(SERVERS[url].pid):
            os.kill(child, signal.SIGKILL)
        broken = client.step(Action(tool=call["name"], arguments=call["arguments"]))
        again = client.reset(scenario=scenario)
        last = client.step(Action(say=""))
        told = {
            "done": broken.done,
            "reward": broken.reward,
            "outcome": broken.observation.metadata.get("outcome"),
        }
        return told | {"again": again.observation.scenario, "next": last.reward}


def list_children(parent: int) -> list[int]:
    """Processes of a server."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(place.parent.name))
    return found


def validate(target: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "openenv.cli", "validate", target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return {"code": done.returncode, "said": done.stdout + done.stderr}


def clock(url: str, client_of: Any, action: Any, **reset: Any) -> dict[str, float]:
    """Milliseconds per step and per reset."""
    steps, resets = [], []
    with client_of(url) as client:
        for _ in range(8):
            begun = time.perf_counter()
            client.reset(**reset)
            resets.append(time.perf_counter() - begun)
            for _ in range(25):
                begun = time.perf_counter()
                client.step(action)
                steps.append(time.perf_counter() - begun)
    return {
        "step_ms": 1000 * statistics.median(steps),
        "reset_ms": 1000 * statistics.median(resets),
    }


def connect_bare(url: str) -> Any:
    from openenv.core import GenericEnvClient

    return GenericEnvClient(base_url=url, connect_timeout_s=PATIENCE).sync()


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    if asked.keys() == {"talks"}:
        with serving(8801, TOKEN) as url:
            told = [play(url, row, moves) for row, moves in asked["talks"]]
        Path(sys.argv[2]).write_text(json.dumps({"talks": told}))
        sys.exit()
    first, script = asked["clocked"]
    with serving(8801, TOKEN) as url:
        answers: dict[str, Any] = {
            "scripts": play_scripts(url, asked["scripts"]),
            "talks": [play(url, row, moves) for row, moves in asked["talks"]],
            "mcp": play_over_mcp(url, first, script),
            "branch": branch(url, first, script),
            "log": log_turns(url, first, script),
            "metrics": look_at_metrics(url),
            "full": fill(url, first),
            "mistakes": err(url, first),
            "guard": knock(url),
            "splits": ask(f"{url}/envmill/splits", Authorization=f"Bearer {TOKEN}"),
        }
        row, looks = asked["attack"]
        with connect(url) as client:
            client.reset(scenario=row)
            answers["attack"] = [
                client.step(
                    Action(tool=look["name"], arguments=look["arguments"])
                ).observation.reply
                for look in looks
            ]
        call = script["calls"][0]
        answers["breaks"] = break_down(url, first, call)
        answers["clock"] = {
            "envmill": clock(
                url, connect, Action(tool=call["name"], arguments=call["arguments"]), scenario=first
            )
        }
    with serving(8802) as url:
        answers["valid"] = {"folder": validate(str(FOLDER)), "url": validate(url)}
        heard = io.StringIO()
        with redirect_stdout(heard):
            exec(compile(asked["page"], "docs/consumers/openenv.md", "exec"), {"url": url})
        answers["page"] = heard.getvalue()
        answers["other host"] = ask(f"{url}/metadata", Host="evil.example")
    with serving(8803, command=(str(Path(__file__).with_name("bare_server.py")),)) as url:
        answers["clock"]["bare"] = clock(url, connect_bare, {"text": "x"})
    open_to_all = [sys.executable, "-m", "envmill_openenv.app", "--host", "0.0.0.0"]
    refused = subprocess.run(
        open_to_all, cwd=FOLDER, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    answers["open to all"] = {"code": refused.returncode, "said": refused.stderr}
    Path(sys.argv[2]).write_text(
        json.dumps({"answers": answers, "versions": {"openenv": metadata.version("openenv")}})
    )
