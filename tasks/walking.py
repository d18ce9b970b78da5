"""The walk that the tasks of this flow run work on."""

from contextvars import ContextVar

from envmill.pipeline.runner import Runner

WALK: ContextVar[Runner] = ContextVar("walk")
