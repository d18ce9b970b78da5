"""Simulated users, by name."""

from collections.abc import Callable, Mapping

from envmill.agents.users.base import Knowledge, Person
from envmill.agents.users.model import ModelUser
from envmill.agents.users.scripted import ScriptedUser
from envmill.errors import SettingsError
from envmill.models.account import Account

USERS: Mapping[str, Callable[[Knowledge, Account | None, int], Person]] = {
    "scripted": lambda knowledge, _account, _attempt: ScriptedUser(knowledge),
    "model": lambda knowledge, account, attempt: ModelUser(knowledge, _require(account), attempt),
}


def _require(account: Account | None) -> Account:
    if account is None:
        raise SettingsError("A model is to play the user, and there is nobody to ask: give play_scenario an account, or a scripted user.")
    return account
