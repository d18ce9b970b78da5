# pyright: basic, reportMissingImports=false
"""Client of the server: one connection is one session."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState


class OpenEnvClient(EnvClient[OpenEnvAction, OpenEnvObservation, OpenEnvState]):
    """`OpenEnvClient(base_url, headers={"Authorization": "Bearer TOKEN"}).sync()` where the server
    has a token."""

    def _step_payload(self, action: OpenEnvAction) -> dict[str, Any]:
        return action.model_dump(exclude_defaults=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[OpenEnvObservation]:
        done, reward, metadata = (
            payload.get("done", False),
            payload.get("reward"),
            payload.get("metadata") or {},
        )
        observation = OpenEnvObservation(
            **{
                **payload.get("observation", {}),
                "done": done,
                "reward": reward,
                "metadata": metadata,
            }
        )
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> OpenEnvState:
        return OpenEnvState(**payload)
