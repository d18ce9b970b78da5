# pyright: basic, reportMissingImports=false
"""The tools of all environments, by the names that `tools.yaml` gives them: `class_name:
envmill_verl.tools.MillTool`."""

import weakref
from typing import Any

from pydantic import ConfigDict
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import (
    OpenAIFunctionParametersSchema,
    OpenAIFunctionSchema,
    OpenAIFunctionToolSchema,
    ToolResponse,
)

from .sessions import SetError, render_reply
from .worlds import Trail, open_worlds

EXTRAS, KEY = "extras", "envmill"
"""Where a rollout's trail lies in verl's extra fields."""
_TRAILS: weakref.WeakKeyDictionary[Any, Trail] = weakref.WeakKeyDictionary()


class WholeParameters(OpenAIFunctionParametersSchema):
    """verl's own schema keeps type, description and choices of a parameter alone."""

    model_config = ConfigDict(extra="allow")
    properties: dict[str, Any]  # pyright: ignore[reportIncompatibleVariableOverride]


class WholeFunction(OpenAIFunctionSchema):
    parameters: WholeParameters  # pyright: ignore[reportIncompatibleVariableOverride]


class WholeTool(OpenAIFunctionToolSchema):
    """An interface with all of its JSON Schema."""

    function: WholeFunction  # pyright: ignore[reportIncompatibleVariableOverride]


class MillTool(BaseTool):
    """A tool of one environment, or of several that have the same. Its calls go to the session of
    the rollout that makes them.

    verl makes and releases an instance for each call, so instances hold nothing, and `calc_reward`
    is never asked: the reward is
    `envmill_verl.reward.compute_score`.
    """

    def __init__(self, config: dict[str, Any], tool_schema: Any = None) -> None:
        self._interface = read_interface(config["environment"], config["tool"], config["name"])
        super().__init__(config, tool_schema or self._interface)

    def get_openai_tool_schema(self) -> Any:
        return self._interface

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[Any, float, dict[str, Any]]:
        """The reply as the factory words it, whatever the arguments are; no reward, and no
        metrics."""
        del instance_id
        reply = await follow(kwargs["agent_data"]).call(self.config["tool"], parameters)
        return ToolResponse(text=render_reply(reply)), 0.0, {}


def follow(agent_data: Any) -> Trail:
    """The trail of a rollout. Its session ends with it."""
    if agent_data not in _TRAILS:
        told = (agent_data.tools_kwargs or {}).get(KEY) or {}
        scenario = (told.get("create_kwargs") or {}).get("scenario")
        if not scenario:
            raise SetError(
                "The row names no scenario. Use the rows of data/SPLIT.parquet, and keep "
                "tools_kwargs in their extra_info."
            )
        trail = _TRAILS[agent_data] = Trail(scenario, agent_data.messages)
        agent_data.extra_fields.setdefault(EXTRAS, {})[KEY] = trail
        weakref.finalize(agent_data, trail.close)
    return _TRAILS[agent_data]


def read_interface(environment: str, tool: str, name: str) -> Any:
    """An environment's tool under its name in verl."""
    for row in open_worlds().rows:
        for told in row.tools:
            if row.environment == environment and told["function"]["name"] == tool:
                function = {**told["function"], "name": name}
                return WholeTool.model_validate({"type": "function", "function": function})
    raise SetError(
        f"There is no tool {tool} of environment {environment} in this package. Use the "
        "tools.yaml of the same export."
    )
