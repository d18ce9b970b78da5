"""A box opens sockets of its own network alone, and knows no system call that is newer than its filter."""

import pytest

from envmill.sandbox.machines.machine import Containers
from tests.kinds.terminal.breaking.conftest import containers

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASK = """
import ctypes, errno, socket
for family in (1, 2, 10, 16, 17, 38, 40):
    try:
        socket.socket(family, socket.SOCK_DGRAM if family != 38 else socket.SOCK_SEQPACKET).close()
        print(family, "ok")
    except OSError as error:
        print(family, errno.errorcode[error.errno])
libc = ctypes.CDLL(None, use_errno=True)
for number in (467, 468, 500):
    print(number, libc.syscall(number, -100, b"/", 0, 0, 0), errno.errorcode[ctypes.get_errno()])
"""


async def test_sockets_and_calls_are_those_that_are_known(containers: Containers) -> None:
    async with containers() as container:
        told = (await container.run(["/usr/bin/python3", "-c", ASK])).text.split("\n")
    assert told[:7] == ["1 ok", "2 ok", "10 ok", "16 ok", "17 EPERM", "38 EPERM", "40 EPERM"]
    assert told[7:10] == ["467 -1 ENOSYS", "468 -1 ENOSYS", "500 -1 ENOSYS"]
