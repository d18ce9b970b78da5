# pyright: basic, reportMissingImports=false
"""NeMo Gym's simple agent and our resources server on an exported folder, in one process; run by an
interpreter with nothing of ours.

playing.py FOLDER ANSWERS  <  {"scripts", "broken", "attack", "clocked"}

simple agent ──ServerClient──► scripted model, or resources server (FastAPI's test client): the agent's own loop, cookies as it sends them
"""

import asyncio
import json
import os
import runpy
import signal
import statistics
import sys
import time
from contextlib import suppress
from http.cookiejar import CookieJar
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import MagicMock

runpy.run_path(str(Path(__file__).parents[1] / "offline.py"))["leave_network"]()
FOLDER = Path(sys.argv[1])
sys.path.insert(0, str(FOLDER))

import yaml  # noqa: E402  the network is left first
from fastapi import FastAPI  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from nemo_gym.base_resources_server import AggregateMetricsRequest  # noqa: E402
from nemo_gym.openai_utils import NeMoGymResponseCreateParamsNonStreaming  # noqa: E402
from nemo_gym.server_utils import ServerClient  # noqa: E402
from responses_api_agents.simple_agent.app import SimpleAgent, SimpleAgentConfig  # noqa: E402

server_module = import_module("envmill_nemo_gym.server")
Turn: TypeAlias = dict[str, Any]
LOCAL = "http://127.0.0.1"


class NoMemory(CookieJar):
    """Sessions come from the cookies that a request names."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        pass


class Answer:
    """A response of the test client, as the agent reads one of aiohttp."""

    def __init__(self, found: Any) -> None:
        self.status, self.ok, self.cookies, self.content = (
            found.status_code,
            found.status_code < 400,
            dict(found.cookies),
            self,
        )
        self._body = found.content

    async def read(self) -> bytes:
        return self._body


def make_server(**settings: Any) -> Any:
    config = server_module.MillServer.model_fields["config"].annotation(
        host="127.0.0.1", port=1, entrypoint="", name="envmill_resources_server", **settings
    )
    return server_module.MillServer(config=config, server_client=MagicMock(spec=ServerClient))


def open_client(app: FastAPI) -> TestClient:
    return TestClient(app, base_url=LOCAL, cookies=NoMemory())


class Rollout:
    """The simple agent on one row, with a model that takes its turns."""

    def __init__(self, client: TestClient, turns: list[Turn]) -> None:
        self.client, self.turns, self.spoken = client, turns, 0
        reference = {"type": "resources_servers", "name": "envmill"}
        model = {"type": "responses_api_models", "name": "policy_model"}
        config = SimpleAgentConfig(
            host="127.0.0.1",
            port=1,
            entrypoint="",
            name="agent",
            resources_server=reference,
            model_server=model,
            max_steps=100,
        )
        self.agent = SimpleAgent(
            config=config, server_client=MagicMock(spec=ServerClient, post=self.post)
        )

    async def post(
        self, server_name: str, url_path: str, json: Any = None, cookies: Any = None, **_: Any
    ) -> Answer:
        if server_name == "policy_model":
            return Answer(Written(self.speak()))
        return Answer(self.client.post(url_path, json=json, headers=_render_cookies(cookies)))

    def speak(self) -> dict[str, Any]:
        turn = self.turns[self.spoken] if self.spoken < len(self.turns) else {"say": ""}
        self.spoken += 1
        if turn.get("kill"):
            kill_children()
        if "call" in turn:
            name, written = turn["call"], json.dumps(turn["arguments"])
            item = {
                "type": "function_call",
                "call_id": f"call_{self.spoken}",
                "name": name,
                "arguments": written,
                "id": f"fc_{self.spoken}",
            }
        else:
            text = {"type": "output_text", "text": turn["say"], "annotations": []}
            item = {
                "type": "message",
                "id": f"msg_{self.spoken}",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        return respond([item])

    async def run(self, row: dict[str, Any]) -> dict[str, Any]:
        """As the agent's own route: seed, respond, verify."""
        seeded = await self.post("envmill", "/seed_session", json=row)
        assert seeded.status == 200, await seeded.read()
        body = NeMoGymResponseCreateParamsNonStreaming.model_validate(
            row["responses_create_params"]
        )
        episode = await self.agent._create_episode(
            body, model_url_path="/v1/responses", resources_server_cookies=seeded.cookies
        )
        sent = {**row, "response": episode[0].model_dump(mode="json")}
        verified = await self.post("envmill", "/verify", json=sent, cookies=seeded.cookies)
        return {**json.loads(await verified.read()), "sent": sent}


class Written:
    """What a model server answers."""

    status_code, cookies = 200, {}

    def __init__(self, told: dict[str, Any]) -> None:
        self.content = json.dumps(told).encode()


def respond(output: list[Any]) -> dict[str, Any]:
    same = {
        "id": "resp_1",
        "created_at": 0.0,
        "model": "scripted",
        "object": "response",
        "parallel_tool_calls": False,
    }
    return {**same, "output": output, "tool_choice": "auto", "tools": []}


def _render_cookies(cookies: Any) -> dict[str, str]:
    return (
        {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        if cookies
        else {}
    )


def kill_children() -> None:
    """The jail and the judge are this process's children."""
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                os.kill(int(place.parent.name), signal.SIGKILL)


def read_rows() -> dict[str, Any]:
    lines = [
        line
        for path in sorted((FOLDER / "resources_servers/envmill/data").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return {row["scenario"]: row for row in map(json.loads, lines)}


def describe(told: dict[str, Any]) -> dict[str, Any]:
    kept = {
        name: told.get(name)
        for name in ("scenario", "reward", "outcome", "state_hash", "mask_sample", "failure_kind")
    }
    replies = [
        item["output"]
        for item in told["sent"]["response"]["output"]
        if item["type"] == "function_call_output"
    ]
    return {**kept, "replies": replies, "fields": sorted(told.keys() - {"sent"})}


def play(client: TestClient, turns: dict[str, list[Turn]]) -> list[dict[str, Any]]:
    return [asyncio.run(Rollout(client, mine).run(ROWS[row])) for row, mine in turns.items()]


def verify_again(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In another server, by the responses alone."""
    client = open_client(make_server().setup_webserver())
    return [
        {**client.post("/verify", json=one["sent"]).json(), "sent": one["sent"]} for one in told
    ]


def break_down(turns: dict[str, list[Turn]]) -> dict[str, Any]:
    """The jail dies in the first rollout; then what the agent's server makes of all of them."""
    server = make_server()
    told = play(open_client(server.setup_webserver()), turns)
    rows = [
        {"_ng_task_index": place, "_ng_rollout_index": 0, **one} for place, one in enumerate(told)
    ]
    metrics = asyncio.run(server.aggregate_metrics(AggregateMetricsRequest(verify_responses=rows)))
    again = [describe(one) for one in verify_again(told)]
    return {
        "told": [describe(one) for one in told],
        "again": again,
        "mean": metrics.agent_metrics.get("mean/reward"),
    }


def lose(row: str, turns: list[Turn]) -> dict[str, Any]:
    """A server that keeps one session is asked for another in the middle of a rollout."""
    client = open_client(make_server(sessions=1).setup_webserver())
    rollout = Rollout(client, turns)

    def speak_and_seed(old: Any = rollout.speak) -> Any:
        client.post("/seed_session", json=ROWS[row])
        return old()

    rollout.speak = speak_and_seed
    return describe(asyncio.run(rollout.run(ROWS[row])))


def knock(row: str) -> dict[str, Any]:
    """Who is let in, and what mistakes are answered with."""
    client = open_client(make_server().setup_webserver())
    wrong = {"unknown": {"scenario": "scn_9"}, "nothing": {}}
    told: dict[str, Any] = {}
    for name, body in wrong.items():
        found = client.post("/seed_session", json=body)
        told[name] = [found.status_code, found.text]
    told["other host"] = client.post(
        "/seed_session", json=ROWS[row], headers={"Host": "evil.example"}
    ).status_code
    told["page"] = client.post(
        "/seed_session", json=ROWS[row], headers={"Origin": "http://evil.example"}
    ).status_code
    told["mode"] = client.get("/reverify_mode").json()
    os.environ["ENVMILL_NEMO_GYM_TOKEN"] = "a-token"
    guarded = open_client(make_server().setup_webserver())
    told["no token"] = guarded.post("/seed_session", json=ROWS[row]).status_code
    told["token"] = guarded.post(
        "/seed_session", json=ROWS[row], headers={"Authorization": "Bearer a-token"}
    ).status_code
    del os.environ["ENVMILL_NEMO_GYM_TOKEN"]
    server = make_server()
    server.config.host = "0.0.0.0"
    try:
        server.setup_webserver()
    except ValueError as error:
        told["open to all"] = str(error)
    return told


def clock(row: str, turn: Turn) -> dict[str, float]:
    """Milliseconds of a call by its route: ours, and a route of NeMo Gym's server that answers a
    constant."""
    server = make_server()
    app = server.setup_webserver()

    class Bare(server_module.SimpleResourcesServer):
        async def verify(self, body: Any) -> Any:
            return body

    bare = Bare(config=server.config, server_client=MagicMock(spec=ServerClient)).setup_webserver()

    async def constant() -> dict[str, bool]:
        return {"ok": True}

    bare.post("/constant")(constant)
    told = {}
    for name, made, path, body in (
        ("bare", bare, "/constant", {}),
        ("envmill", app, f"/{turn['call']}", turn["arguments"]),
    ):
        with open_client(made) as client:
            cookies = (
                {}
                if name == "bare"
                else _render_cookies(client.post("/seed_session", json=ROWS[row]).cookies)
            )
            times = []
            for _ in range(38):
                begun = time.perf_counter()
                assert client.post(path, json=body, headers=cookies).status_code == 200
                times.append(time.perf_counter() - begun)
            told[name] = 1000 * statistics.median(times)
    return told


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    ROWS = read_rows()
    client = open_client(make_server().setup_webserver())
    answers: dict[str, Any] = {"scripts": [], "again": []}
    for name, turns in asked["scripts"].items():
        played = play(client, turns)
        answers["scripts"] += [{"name": name, **describe(one)} for one in played]
        answers["again"] += [{"name": name, **describe(one)} for one in verify_again(played)]
    first, turns = asked["clocked"]
    answers |= {
        "attack": [describe(one) for one in play(client, asked["attack"])],
        "broken": break_down(asked["broken"]),
        "lost": lose(first, turns),
        "guard": knock(first),
        "clock": clock(first, turns[0]),
        "config": yaml.safe_load(
            (FOLDER / "resources_servers/envmill/configs/envmill.yaml").read_text()
        ),
    }
    Path(sys.argv[2]).write_text(
        json.dumps({"answers": answers, "versions": {"nemo-gym": metadata.version("nemo-gym")}})
    )
