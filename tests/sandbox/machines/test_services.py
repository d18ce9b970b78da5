"""A service is its processes: workers that it started count whatever their title, and another
process of the same program does not."""

import pytest

from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.machines.machine import Containers, check_health, set_up
from tests.kinds.terminal.breaking.conftest import containers

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROXY = load_system("proxy")
MASTER = PROXY.system.services["proxy"].model_copy(update={"pattern": "nginx: master process"})
NAMED = PROXY._replace(
    system=PROXY.system.model_copy(update={"services": {**PROXY.system.services, "proxy": MASTER}})
)
"""The workers of this server bear another title than its master, by which the author knows it."""


async def test_workers_belong_to_the_service_that_started_them(containers: Containers) -> None:
    async with containers() as container:
        await set_up(container, NAMED)
        assert set((await check_health(container, NAMED)).values()) == {""}


async def test_another_process_of_the_same_program_does_not(containers: Containers) -> None:
    """Its master was stopped, and an agent's own server answers with the same settings."""
    async with containers() as container:
        await set_up(container, NAMED)
        alone = "1i daemon off; master_process off;"
        own = f"sed 's|^pid .*|pid /tmp/own.pid;|; {alone}' /etc/nginx/nginx.conf >/tmp/own.conf"
        idle = "mkfifo /tmp/idle; exec -a 'nginx: master process' /usr/sbin/nginx -c /tmp/idle"
        await container.run(
            [
                "/bin/bash",
                "-c",
                f"nginx -s stop; sleep 0.5; {own}; setsid -f nginx -c /tmp/own.conf >/dev/null "
                "2>&1 </dev/null",
            ]
        )
        await container.run(
            [
                "/usr/bin/setsid",
                "-f",
                "/bin/bash",
                "-c",
                f"{{ {idle}; }} >/dev/null 2>&1 </dev/null",
            ]
        )
        await container.run(["/bin/sleep", "0.5"])
        assert (await check_health(container, NAMED))[
            "services"
        ] == f"port {MASTER.port} is held by something else than proxy"
