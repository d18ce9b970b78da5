"""Machines of one machine: network namespaces with an address each, and a wire between them that takes its time.

    python -m tests.wire PREFIX NAME=SECONDS ...

namespace PREFIX-NAME ─ tun device ─► this process, which holds each packet for both ends' seconds ─► tun device ─ namespace

It prints `ready` and works until its input ends; then the namespaces are gone. Root alone may make them. The kernel's own `netem` would do
the same, and is missing where it is not built in.
"""

import contextlib
import fcntl
import heapq
import os
import selectors
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from envmill.base.settings import ROOT

NETWORK = "10.77.0"
_TUN = Path("/dev/net/tun")
_SET_NAME, _PLAIN_PACKETS = 0x400454CA, 0x1001  # TUNSETIFF; IFF_TUN | IFF_NO_PI
_UNIT = 9000  # bytes of a packet: fewer of them cross this process


def can_wire() -> bool:
    """Whether this process may make namespaces and devices."""
    return os.geteuid() == 0 and os.access(_TUN, os.R_OK | os.W_OK)


def address_of(number: int) -> str:
    """Address of the machine with that place in the list."""
    return f"{NETWORK}.{number + 1}"


@contextlib.contextmanager
def open_wire(prefix: str, delays: Mapping[str, float]) -> Iterator[dict[str, str]]:
    """Name of a machine → its address, for the block. A packet takes the seconds of both its ends."""
    ends = [f"{name}={delay}" for name, delay in delays.items()]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.wire", prefix, *ends],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("no namespaces could be made")
            yield {name: address_of(number) for number, name in enumerate(delays)}
        finally:
            process.stdin.close()
            process.wait(30)


def run_in(prefix: str, name: str) -> list[str]:
    """How a command of a machine begins."""
    return ["ip", "netns", "exec", f"{prefix}-{name}"]


def _carry(ends: Mapping[str, tuple[int, float]]) -> None:
    """Until the input ends. `ends`: address → device and seconds."""
    by_bytes = {bytes(map(int, address.split("."))): end for address, end in ends.items()}
    held: list[tuple[float, int, int, bytes]] = []
    number = 0
    with selectors.DefaultSelector() as ready:
        ready.register(0, selectors.EVENT_READ)
        for device, delay in ends.values():
            os.set_blocking(device, False)
            ready.register(device, selectors.EVENT_READ, delay)
        while True:
            wait = max(0.0, held[0][0] - time.monotonic()) if held else None
            for key, _ in ready.select(wait):
                if key.fd == 0:
                    return
                with contextlib.suppress(BlockingIOError):
                    while packet := os.read(key.fd, 65536):
                        if found := by_bytes.get(packet[16:20]):
                            due, number = time.monotonic() + key.data + found[1], number + 1
                            heapq.heappush(held, (due, number, found[0], packet))
            while held and held[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(held)
                with contextlib.suppress(OSError):
                    os.write(device, packet)


def _make(prefix: str, number: int, name: str) -> int:
    device, space = f"w{os.getpid()}-{number}", f"{prefix}-{name}"
    handle = os.open(_TUN, os.O_RDWR)
    fcntl.ioctl(handle, _SET_NAME, struct.pack("16sH", device.encode(), _PLAIN_PACKETS))
    for command in (
        f"ip netns add {space}",
        f"ip link set {device} netns {space}",
        f"ip -n {space} address add {address_of(number)}/24 dev {device}",
        f"ip -n {space} link set {device} mtu {_UNIT} up",
        f"ip -n {space} link set lo up",
    ):
        subprocess.run(command.split(), check=True)
    return handle


def main(prefix: str, *ends: str) -> None:
    delays = {name: float(delay) for name, _, delay in (end.partition("=") for end in ends)}
    try:
        made = {
            address_of(number): (_make(prefix, number, name), delay)
            for number, (name, delay) in enumerate(delays.items())
        }
        os.write(1, b"ready\n")
        _carry(made)
    finally:
        for name in delays:
            subprocess.run(["ip", "netns", "delete", f"{prefix}-{name}"], check=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
