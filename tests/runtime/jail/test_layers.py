"""Namespaces, control groups and the diagnosis, each tried in a child of this process that is
thrown away."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envmill.runtime.jail import cgroups, layers, seccomp
from envmill.runtime.jail.calls import name_calls

GRANTED = layers.probe()


def need(*names: str) -> None:
    """What this machine does not grant cannot be tried on it; in CI everything must be."""
    missing = [name for name in names if not GRANTED[name]]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"this machine lacks the layers {missing}")
    if missing:
        pytest.skip(f"this machine lacks the layers {missing}")


def see(look: Callable[[], Any]) -> Any:
    """What a child of ours sees; it never runs anything but our own functions."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(look()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        seen = stream.read()
    os.waitpid(child, 0)
    return json.loads(seen)


def test_the_table_says_what_the_kernel_upholds() -> None:
    assert frozenset(("namespaces", "landlock", "seccomp")) == layers.KERNEL_LAYERS
    assert all(layer.mend and (layer.enclose or layer.enter) for layer in layers.LAYERS.values())


def test_a_session_in_namespaces_sees_nothing_and_nobody() -> None:
    need("namespaces")

    def look() -> Any:
        reader, writer = os.pipe()
        layers.withdraw(("namespaces",))
        layers.enter(("namespaces",), 0)
        if os.fork() == 0:
            network = Path("/sys/class/net").exists() or Path("/proc/net").exists()
            os.write(
                writer,
                json.dumps([os.listdir("/"), os.getppid(), os.getpid() > 1, network]).encode(),  # noqa: PTH208
            )
            os._exit(0)
        return json.loads(os.read(reader, 4096))

    assert see(look) == [[], 0, True, False]


def test_a_session_dies_with_the_first_process_of_its_namespace() -> None:
    need("namespaces")

    def look() -> Any:
        layers.withdraw(("namespaces",))
        layers.enter(("namespaces",), 0)
        session = os.fork()
        if session == 0:
            os.closerange(3, 64)
            time.sleep(60)
            os._exit(0)
        return session

    # The template, which forked both, is gone by now, and the first process of the namespace goes
    # with it.
    session = see(look)
    until = time.monotonic() + 10
    while Path("/proc", str(session)).exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path("/proc", str(session)).exists()


@pytest.fixture
def sleeper() -> Any:
    """A process that takes 256 MB when it is told to."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)
        heap = [bytearray(1 << 20) for _ in range(256)]
        os._exit(len(heap) % 7)
    yield child, writer
    os.close(reader)
    os.close(writer)


def test_a_tree_that_takes_too_much_memory_is_ended_and_leaves_no_group(
    sleeper: tuple[int, int],
) -> None:
    need("cgroups")
    child, writer = sleeper
    cgroups.enclose(child, memory=64 << 20)
    groups = list(cgroups.ROOT.rglob(f"envmill-{os.getpid()}"))
    os.write(writer, b"x")
    ended = os.waitpid(child, 0)[1]
    cgroups.remove(os.getpid())
    assert groups
    assert os.WTERMSIG(ended) == signal.SIGKILL
    assert not any(group.exists() for group in groups)


def test_who_outlives_its_driver_is_ended_with_its_group(sleeper: tuple[int, int]) -> None:
    need("cgroups")
    child, _ = sleeper
    cgroups.enclose(child)
    cgroups.remove(os.getpid())
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_a_group_whose_driver_is_gone_is_swept() -> None:
    need("cgroups")
    gone = os.fork()
    if gone == 0:
        cgroups.enclose(os.getpid())
        os._exit(0)
    os.waitpid(gone, 0)
    groups = [parent / f"envmill-{gone}" for parent in cgroups.find_parents().values()]
    assert all(group.exists() for group in groups)
    cgroups.sweep()
    assert not any(group.exists() for group in groups)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_names_agree_with_the_filter(machine: str) -> None:
    names = name_calls(machine)
    column = ["x86_64", "aarch64"].index(machine)
    for name, numbers in seccomp._NUMBERS.items():  # pyright: ignore[reportPrivateUsage]
        if numbers[column] >= 0:
            assert names[numbers[column]] == name
