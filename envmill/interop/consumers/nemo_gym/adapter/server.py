# pyright: basic, reportMissingImports=false
"""The resources server: a session per cookie, a route per tool, and a verdict that the response
alone can give again.

seed_session(scenario) ──► session ◄── POST /TOOL … ──► verify(response): last words, verdict ──► reward, or a masked sample without one
"""

from collections import OrderedDict
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request, Response
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    ReverifyMode,
    SimpleResourcesServer,
)
from nemo_gym.judge import JudgeError as NoVerdict
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import PrivateAttr
from starlette.config import Config

from .sessions import (
    JailError,
    JudgeError,
    OutageError,
    ScenarioSession,
    ScenarioSet,
    SessionVerdict,
    SetError,
    open_set,
    render_reply,
)
from .sessions.calls import read_arguments
from .sessions.guard import LOOPBACK, Guard

SETTING = "ENVMILL_NEMO_GYM_TOKEN"
MOST = 64 * 1_048_576
"""Bytes of a request: verify is sent the whole response."""
OUT_OF_ORDER = (
    '{"error":{"code":"out_of_order","message":"The environment is out of order. Nothing you did '
    'caused it."},"ok":false}'
)
"""What a model reads after an outage. The sample is masked."""


class GymConfig(BaseResourcesServerConfig):
    """Where the set lies, and how many sessions are kept."""

    REVERIFY_MODE = ReverifyMode.STATELESS
    folder: str = ""
    """Folder with public/ and sealed/; the one inside this package when empty."""
    sessions: int = 1024
    """Sessions kept open. The oldest is closed for another, and its sample is masked if it goes
    on."""


class MillSeedRequest(BaseSeedSessionRequest):
    scenario: str
    """Id of the row."""


class MillVerifyRequest(BaseVerifyRequest):
    scenario: str
    environment: str = ""


class MillVerifyResponse(BaseVerifyResponse):
    """The request again, with the reward. Not why it failed: programs that improve prompts read
    such rows."""

    scenario: str
    environment: str = ""
    outcome: str
    state_hash: str


class MillServer(SimpleResourcesServer):
    ray_enabled = False
    config: GymConfig
    _set: ScenarioSet = PrivateAttr()
    _sessions: OrderedDict[str, ScenarioSession] = PrivateAttr(default_factory=OrderedDict)
    _outages: dict[str, str] = PrivateAttr(default_factory=dict)
    """Session → why nothing can be found out about its model."""

    def setup_webserver(self) -> FastAPI:
        token = Config()(SETTING, default="")
        if self.config.host not in LOOPBACK and not token:
            raise ValueError(
                f"{self.config.host} can be reached from elsewhere: set {SETTING} to a secret of "
                "your own first."
            )
        self._set = open_set(self.config.folder) if self.config.folder else open_set()
        app = super().setup_webserver()
        # After the routes of NeMo Gym, which would be tools otherwise.
        app.post("/{tool}")(self.call_tool)
        app.add_middleware(Guard, token=token, setting=SETTING, most=MOST)
        return app

    async def seed_session(
        self, request: Request, body: MillSeedRequest
    ) -> BaseSeedSessionResponse:
        name = request.session[SESSION_ID_KEY]
        await self._close(name)
        self._outages.pop(name, None)
        try:
            self._sessions[name] = await to_thread.run_sync(self._begin, body.scenario)
        except SetError as error:
            raise HTTPException(404, str(error)) from error
        except JailError as error:
            raise HTTPException(503, str(error)) from error
        if len(self._sessions) > self.config.sessions:
            await self._close(next(iter(self._sessions)))
        return BaseSeedSessionResponse()

    async def call_tool(self, tool: str, request: Request) -> Response:
        """A tool of the session's scenario. The body is the arguments; what is no object is
        answered in the words of the factory."""
        name, written = (
            request.session[SESSION_ID_KEY],
            (await request.body()).decode("utf-8", "replace"),
        )
        session = self._sessions.get(name)
        if session is None:
            self._outages.setdefault(name, "the server has no such session, or not any more")
        if session is None or name in self._outages:
            return Response(OUT_OF_ORDER, media_type="application/json")
        try:
            reply = await to_thread.run_sync(session.call, tool, written)
        except JailError as error:
            self._outages[name] = str(error) or "the jail broke down"
            return Response(OUT_OF_ORDER, media_type="application/json")
        return Response(render_reply(reply), media_type="application/json")

    async def verify(self, request: Request, body: MillVerifyRequest) -> MillVerifyResponse:
        """NeMo Gym masks a sample without verdict, and routes it away from the others."""
        name = request.session[SESSION_ID_KEY]
        session, outage = self._sessions.pop(name, None), self._outages.pop(name, "")
        output = [item.model_dump() for item in body.response.output]
        try:
            if outage:
                raise OutageError(outage)
            verdict = await to_thread.run_sync(self._judge, body.scenario, session, output)
            if verdict.reward is None:
                raise OutageError(verdict.reason)
        except (JailError, JudgeError, OutageError) as error:
            raise NoVerdict(
                f"There is no verdict, and nothing was found out about the model: {error}"
            ) from error
        finally:
            if session is not None:
                await to_thread.run_sync(session.close)
        told = {
            "reward": verdict.reward,
            "outcome": verdict.outcome,
            "state_hash": verdict.state_hash,
        }
        return MillVerifyResponse(**body.model_dump(), **told)

    def _begin(self, scenario: str) -> ScenarioSession:
        """Once more where the jail broke down: the set starts another."""
        try:
            return self._set.begin(scenario)
        except JailError:
            return self._set.begin(scenario)

    def _judge(
        self, scenario: str, session: ScenarioSession | None, output: list[dict[str, Any]]
    ) -> SessionVerdict:
        """The verdict on the session; where there is none, on the calls in the response, made
        again."""
        if session is not None and session.row.id != scenario:
            raise OutageError(
                f"the session is of scenario {session.row.id}, and {scenario} was sent to be "
                "verified"
            )
        words = read_last_words(output)
        if session is None:
            if any(item.get("output") == OUT_OF_ORDER for item in output):
                raise OutageError("the environment was out of order")
            return self._set.judge_moves(
                scenario, [*read_moves(output), *([] if words is None else [{"say": words}])]
            )
        if words is not None:
            session.say(words)
        return session.judge()

    async def _close(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        if session is not None:
            await to_thread.run_sync(session.close)


def read_moves(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls in a response that reached the session. NeMo Gym's agent answers arguments that are
    no JSON itself."""
    calls = [
        (item["name"], read_arguments(item["arguments"]))
        for item in output
        if item.get("type") == "function_call"
    ]
    return [
        {"name": name, "arguments": arguments} for name, arguments in calls if arguments is not None
    ]


def read_last_words(output: list[dict[str, Any]]) -> str | None:
    """What the model said in the end; None where it was cut off in the middle of calls."""
    last = output[-1] if output else {}
    if last.get("type") != "message":
        return None
    return "".join(part.get("text") or "" for part in last["content"] if isinstance(part, dict))
