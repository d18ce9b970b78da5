"""The walk that the tasks of this flow run work on."""

from contextvars import ContextVar

from envmill.walk import Walk

WALK: ContextVar[Walk] = ContextVar("walk")
