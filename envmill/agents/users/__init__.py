"""Simulated users, by name."""

from collections.abc import Callable, Mapping

from envmill.agents.users.base import Person, UserKnowledge
from envmill.agents.users.manners import make_scripted
from envmill.agents.users.model import ModelUser
from envmill.base.errors import SettingsError
from envmill.models.session import ModelSession

USERS: Mapping[str, Callable[[UserKnowledge, ModelSession | None, int], Person]] = {
    "scripted": lambda knowledge, _account, _attempt: make_scripted(knowledge),
    "model": lambda knowledge, models, attempt: ModelUser(knowledge, _require(models), attempt),
}


def _require(models: ModelSession | None) -> ModelSession:
    if models is None:
        raise SettingsError(
            "A model is to play the user: give play_scenario a model account, or a scripted user."
        )
    return models
