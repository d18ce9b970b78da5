"""The kinds of environment, by name."""

from contextlib import AbstractAsyncContextManager

from envmill.base.settings import Settings
from envmill.kinds.base import Kind
from envmill.kinds.dialogue.kind import DialogueKind
from envmill.kinds.sql.kind import SqlKind
from envmill.kinds.stateful.kind import StatefulKind
from envmill.kinds.terminal.kind import TerminalKind
from envmill.sandbox import Sandbox
from schemas.environment import Blueprint, Environment

KINDS: dict[str, Kind] = {
    "stateful": StatefulKind(),
    "sql": SqlKind(),
    "terminal": TerminalKind(),
    "dialogue": DialogueKind(),
}


def kind_of(subject: Blueprint | Environment) -> Kind:
    """The kind that answers for a blueprint or an environment."""
    return KINDS[subject.kind]


def open_sandbox(
    settings: Settings, hash_seed: int = 0, *, drivers: int | None = None
) -> AbstractAsyncContextManager[Sandbox]:
    """A sandbox in which sessions of every kind can be opened."""
    hosts = {name: host for name, kind in KINDS.items() if (host := kind.open_host(settings))}
    return Sandbox.open(settings, hash_seed, hosts=hosts, drivers=drivers)
