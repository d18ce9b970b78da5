"""Containers in which nothing was begun, for programs that prove on them what they compose."""

from contextlib import AbstractAsyncContextManager

from envmill.base.errors import SandboxError
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.fleet import Fleet

NAME = "terminal"


def lend_container(sandbox: Sandbox) -> AbstractAsyncContextManager[Container]:
    """A container on the base image; SandboxError where the sandbox was opened without hosts."""
    fleet = sandbox.hosts.get(NAME)
    if not isinstance(fleet, Fleet):
        raise SandboxError(
            "This sandbox opens no terminals: open it with envmill.kinds.open_sandbox."
        )
    return fleet.lend()
