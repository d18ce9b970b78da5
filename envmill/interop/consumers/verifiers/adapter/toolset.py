"""The tools of all scenarios: one server of a worker, with a session for each rollout, in one jail.

A rollout's state holds the moves that were made. A session that this server does not know, or that
lags behind, makes them again.
"""

# pyright: basic, reportMissingImports=false

import asyncio
from collections import OrderedDict
from typing import Any

import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent, Tool
from pydantic import Field

from .sessions import JailError, JudgeError, ScenarioSession, render_reply
from .worlds import catch_up, find_set

SESSIONS = 128
"""Sessions kept open; an older one is closed, and opened again where its rollout goes on."""


class MillState(vf.State):
    """What happened in a rollout. No verifier and no expected state."""

    scenario: str = ""
    session: str = ""
    """Id of the rollout."""
    moves: list[dict[str, Any]] = Field(default_factory=list)
    state_hash: str = ""
    """Hash of the state that the last move left."""
    ended: str = ""
    """Why no call is made any more; empty while it is not over."""
    outage: str = ""
    """Why nothing can be found out about the policy; empty when something can."""


class MillToolsetConfig(vf.SharedToolsetConfig):
    """Where the set lies."""

    folder: str = ""


class MillToolset(vf.Toolset[MillToolsetConfig, MillState]):
    """Tools of the rollout's scenario, by their own names."""

    TOOL_PREFIX = None

    async def setup(self) -> None:
        self._sessions: OrderedDict[str, ScenarioSession] = OrderedDict()
        self._turn = asyncio.Lock()

    def register(self, mcp: MCPServer) -> None:
        """The server asks these two for every request, so each rollout sees the interface of its
        own scenario."""
        server: Any = mcp
        call = self._with_state(self._call)

        async def call_in_turn(
            name: str,
            arguments: dict[str, Any],
            context: Any = None,  # noqa: ARG001
        ) -> CallToolResult:
            # State is pulled and pushed as a whole: calls side by side would lose moves.
            async with self._turn:
                return await call(name, arguments)

        server.list_tools = self._with_state(self._list)
        server.call_tool = call_in_turn

    async def _list(self) -> list[Tool]:
        found = [
            tool["function"]
            for tool in find_set(self.config.folder).find(self.state.scenario).tools
        ]
        return [
            Tool(
                name=tool["name"], description=tool["description"], input_schema=tool["parameters"]
            )
            for tool in found
        ]

    async def _call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        state = self.state
        try:
            reply = await asyncio.to_thread(self._play, state, name, arguments)
        except (JailError, JudgeError) as error:
            state.outage = str(error) or type(error).__name__
            reply = {
                "ok": False,
                "error": {"code": "outage", "message": "The environment is out of order."},
            }
        return CallToolResult(
            content=[TextContent(type="text", text=render_reply(reply))], is_error=not reply["ok"]
        )

    def _play(self, state: MillState, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        session = self._find_session(state)
        reply = session.call(name, arguments)
        state.moves, state.state_hash = list(session.moves), session.state_hash
        state.ended = "step_limit" if session.ended == "step_limit" else ""
        return reply

    def _find_session(self, state: MillState) -> ScenarioSession:
        if state.session not in self._sessions:
            self._sessions[state.session] = find_set(self.config.folder).begin(state.scenario)
            if len(self._sessions) > SESSIONS:
                self._sessions.popitem(last=False)[1].close()
        self._sessions.move_to_end(state.session)
        session = self._sessions[state.session]
        catch_up(session, state.moves)
        return session


if __name__ == "__main__":
    MillToolset.run()
