"""The measurement of two nodes: its formula, and its wire."""

import subprocess
import sys
from typing import Any

import pytest

from tests.bench.nodes import Round, Spent
from tests.wire import can_wire, open_wire, run_in

ASK = """
import socket, sys, time
server = socket.create_connection((sys.argv[1], 5000))
for _ in range(3):
    began = time.monotonic()
    server.sendall(b"x")
    server.recv(1)
    print(time.monotonic() - began)
"""
ANSWER = """
import socket, sys
listener = socket.create_server((sys.argv[1], 5000))
print("ready", flush=True)
client, _ = listener.accept()
while said := client.recv(1):
    client.sendall(said)
"""


@pytest.mark.parametrize(
    ("one", "two", "ratio"),
    [
        pytest.param((1, 50.0, 40.0, 40.0), (2, 25.0, 40.0, 40.0), 2.0, id="alone"),
        pytest.param((1, 50.0, 40.0, 40.0), (2, 30.0, 40.0, 50.0), 2.0, id="services"),
        pytest.param((1, 50.0, 40.0, 40.0), (2, 50.0, 40.0, 40.0), 1.0, id="one-waits"),
        pytest.param((1, 100.0, 40.0, 90.0), (2, 75.0, 40.0, 140.0), 2.0, id="busy-machine"),
    ],
)
def test_what_others_took_of_the_cores_is_subtracted(one: Any, two: Any, ratio: float) -> None:
    """Nodes, seconds by the clock, seconds of nodes, seconds in which their cores were busy."""
    rates = [
        Round(count, seconds, Spent(nodes, nodes * 0.8, 0.0, busy)).rate
        for count, seconds, nodes, busy in (one, two)
    ]
    assert rates[1] / rates[0] == pytest.approx(ratio)


@pytest.mark.skipif(not can_wire(), reason="namespaces are for root")
def test_the_wire_takes_its_time_and_leaves_nothing() -> None:
    with (
        open_wire("emtest", {"near": 0.01, "far": 0.04}) as where,
        subprocess.Popen(
            [*run_in("emtest", "far"), sys.executable, "-c", ANSWER, where["far"]],
            stdout=subprocess.PIPE,
        ) as server,
    ):
        assert server.stdout is not None
        server.stdout.readline()
        asked = [*run_in("emtest", "near"), sys.executable, "-c", ASK, where["far"]]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert all(float(line) >= 0.1 for line in done.stdout.split())
    spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    assert "emtest" not in spaces
