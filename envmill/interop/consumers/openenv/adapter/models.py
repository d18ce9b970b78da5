# pyright: basic, reportMissingImports=false
"""What travels between client and server."""

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field, model_validator


class OpenEnvAction(Action):
    """A call of a tool, or words to the user."""

    tool: str = Field(default="", description="Name of the tool to call.")
    arguments: dict[str, Any] | str | None = Field(
        default=None, description="Its arguments, as an object or as the text that a model wrote."
    )
    say: str | None = Field(
        default=None,
        description="Words to the user. Where everything was asked for at once these are the last, and "
        "the episode ends.",
    )

    @model_validator(mode="after")
    def _be_one(self) -> "OpenEnvAction":
        if bool(self.tool) == (self.say is not None):
            raise ValueError("an action has either tool or say")
        return self


class OpenEnvObservation(Observation):
    """What a policy is told. The reward comes with the last one; it is None where nothing was found
    out."""

    scenario: str = Field(default="", description="Id of the scenario.")
    messages: list[dict[str, Any]] = Field(
        default_factory=list, description="What the policy reads first; only after a reset."
    )
    tools: list[dict[str, Any]] = Field(
        default_factory=list, description="Interface in OpenAI's format; only after a reset."
    )
    reply: str = Field(default="", description="Reply of the tool, as JSON.")
    user: str = Field(default="", description="What the simulated user answers, in a conversation.")


class OpenEnvState(State):
    """How far an episode is. Verifiers and expected states are no part of it."""

    scenario: str = ""
    environment: str = ""
    form: str = ""
    state_hash: str = ""
    ended: str = ""
    outcome: str = ""
