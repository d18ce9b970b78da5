"""Containers in which nothing was begun, for programs that prove on them what they compose."""

from contextlib import AbstractAsyncContextManager

from envmill.base.errors import SandboxError
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.fleet import Fleet
from envmill.sandbox.machines.frame import BaseListing
from envmill.sandbox.machines.healthy import Healthy

NAME = "terminal"


def lend_container(sandbox: Sandbox) -> AbstractAsyncContextManager[Container]:
    """A container on the base image."""
    return _find_fleet(sandbox).lend()


async def find_ground(sandbox: Sandbox, healthy: Healthy) -> BaseListing:
    """What such a container stands on. To list it takes as long as a health check: once for all
    proofs of a system."""
    return await _find_fleet(sandbox).find_ground(healthy)


def _find_fleet(sandbox: Sandbox) -> Fleet:
    """SandboxError where the sandbox was opened without hosts."""
    fleet = sandbox.hosts.get(NAME)
    if not isinstance(fleet, Fleet):
        raise SandboxError(
            "This sandbox opens no terminals: open it with envmill.kinds.open_sandbox."
        )
    return fleet
