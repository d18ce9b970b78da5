"""Containers: boxes and Docker's, each beside what it spares. Docker's daemon is one of the
measurement's own; without it its rows lack."""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import GateContext, ScenarioCase
from envmill.kinds import open_sandbox
from envmill.kinds.start import start
from envmill.kinds.terminal.gates import LOOKS
from envmill.runtime.box.rootfs import SHIFT
from envmill.sandbox import Invoke, Look, Program
from envmill.sandbox.containers import CachedImage, Container, Engine, find_base, lend
from envmill.sandbox.containers.box import Boxes
from envmill.sandbox.containers.docker import Docker
from tests.hostile import engine as hostile
from tests.kinds.terminals import break_system, make_environment, make_scenario

TIMES, COMMANDS, LIVE = 30, 300, 8
BOMB = "bomb() { bomb | bomb & }; bomb"
HOGS = {
    "bomb": BOMB,
    "disk": "while :; do dd if=/dev/zero of=/fill bs=1M; rm /fill; done",
    "memory": "while :; do bash -c 'x=a; while :; do x=$x$x; done'; done",
}


def rows() -> Iterator[dict[str, Any]]:
    settings = Settings.read(os.environ)
    image = find_base(settings.images)
    yield from asyncio.run(_gather(_measure_boxes(settings, image)))
    yield from asyncio.run(_gather(_measure_gates()))
    with ExitStack() as stack:
        try:
            daemon = stack.enter_context(closing(hostile.Engine(driver="overlay2")))
        except hostile.NoEngine as error:
            sys.stderr.write(f"No rows about Docker: {error}\n")
            return
        yield from asyncio.run(_gather(_measure_docker(daemon, image)))


async def _gather(found: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row async for row in found]


async def _measure_boxes(settings: Settings, image: CachedImage) -> AsyncIterator[dict[str, Any]]:
    engine = await Boxes.open(settings.images)
    async with lend(engine, image):  # the first one unpacks the image
        pass
    ready, down = await _ups(engine, image)
    yield _row(
        "box_ready",
        "a box that was kept ready, from asking for it to its shell's first answer",
        ready,
    )
    yield _row("box_down", "a box taken down", down)
    await engine.empty()
    cold = await _median(lambda: _up_cold(engine, image), TIMES)
    yield _row("box_cold", "a box that was not ready, its first answer, and taken down", cold)
    async with lend(engine, image) as box:
        command, process = (
            await _median(lambda: box.shell(":"), COMMANDS),
            await _median(lambda: box.shell("/bin/true"), COMMANDS),
        )
        yield _row(
            "box_command",
            "a command in a box's shell, beside one that starts a program",
            command,
            process,
        )
        for size in (1, 20):
            yield _row(
                f"box_branch_{size}",
                f"snapshot of {size} MB written, and a box that begins with it",
                await _branch(engine, image, box, size),
            )
    for name, hog in HOGS.items():
        calm, pressed = await _press(engine, image, hog)
        yield _row(
            f"box_neighbour_{name}",
            f"a box's command beside a {name} hog, beside the same without",
            pressed,
            calm,
        )
    memory, disk = await _weigh(engine, image)
    yield _row("box_memory", f"memory of a live box, {LIVE} of them", memory, unit="MB")
    yield _row("box_disk", "files of a live box that has done nothing", disk, unit="KB")
    await engine.close()


async def _measure_gates() -> AsyncIterator[dict[str, Any]]:
    """A scenario's gates beside one iteration that is nobody's gate: a machine set up, looked at,
    mended, looked at again, taken down."""
    environment = make_environment()
    scenario = make_scenario(environment, break_system(), {"posts"})
    other = make_scenario(environment, break_system(operator="wrong_mode"), {"plans"})
    plan = [start(scenario), Look(), *map(Invoke, scenario.oracle), Look()]
    with tempfile.TemporaryDirectory() as folder:
        async with open_sandbox(
            Settings.read({**os.environ, "ENVMILL_HOME": folder}), drivers=1
        ) as sandbox:
            program = Program.of(environment)
            await sandbox.play(program, plan, fresh=True)  # what is made once for all sessions
            bare = await _median(lambda: sandbox.play(program, plan, fresh=True), TIMES // 6)
            again = await _median(lambda: sandbox.play(program, plan), TIMES // 6)
            began = time.perf_counter()
            for name in (each for each in LOOKS if each.startswith("S")):
                finding = await GATES[name].check(
                    ScenarioCase(scenario, environment, (other,)), GateContext(sandbox)
                )
                if finding.outcome != "kept":
                    raise RuntimeError(
                        f"{name} says {finding.outcome} of a right scenario: {finding.detail}"
                    )
            took = time.perf_counter() - began
    yield _row(
        "iteration",
        "up, look, oracle, look and down, on a kept layer, beside a machine set up anew",
        again,
        bare,
    )
    yield _row(
        "gates",
        "all gates of a scenario, beside one iteration on a machine set up anew",
        took,
        bare,
    )


async def _measure_docker(
    daemon: hostile.Engine, image: CachedImage
) -> AsyncIterator[dict[str, Any]]:
    engine = await Docker.open(daemon.host)
    async with lend(engine, image) as container:
        await engine.settle()
        command = await _median(lambda: container.shell(":"), COMMANDS)
        number: str = container._number  # type: ignore[attr-defined]  # of Docker's containers
        once = await _median(lambda: asyncio.to_thread(_execute, engine, number), TIMES // 2)
        yield _row("docker_command", "a command in a container's shell", command)
        yield _row("docker_exec", "one exec per command, beside it", once, command)
    ready: list[float] = []
    for _ in range(TIMES // 3):
        await engine.settle()
        began = time.perf_counter()
        async with lend(engine, image) as container:
            await container.shell(":")
            ready.append(time.perf_counter() - began)
    yield _row(
        "docker_ready",
        "a container that was kept ready, to its shell's first answer",
        statistics.median(ready),
    )
    await engine.close()


def _execute(engine: Docker, number: str) -> None:
    made = engine.client.exec_create(number, ["true"])
    engine.client.exec_start(made["Id"])


async def _ups(engine: Boxes, image: CachedImage) -> tuple[float, float]:
    ready: list[float] = []
    down: list[float] = []
    for _ in range(TIMES):
        await engine.settle()
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        box = await engine.up(image)
        await box.shell(":")
        answered = time.perf_counter()
        await box.down()
        ready.append(answered - began)
        down.append(time.perf_counter() - answered)
    return statistics.median(ready), statistics.median(down)


async def _up_cold(engine: Boxes, image: CachedImage) -> None:
    async with lend(engine, image) as box:
        await box.shell(":")
    await engine.empty()


async def _branch(engine: Engine, image: CachedImage, box: Container, size: int) -> float:
    await box.shell(
        f"rm -rf /dirty; mkdir /dirty; for i in $(seq 16); do head -c {size << 16} /dev/urandom > "
        "/dirty/$i; done"
    )

    async def branch() -> None:
        layer = await box.snapshot()
        child = await engine.up(image, layer=layer)
        took.append(time.perf_counter() - began)
        await child.down()
        await engine.forget(layer)

    took: list[float] = []
    for _ in range(TIMES // 2):
        began = time.perf_counter()
        await branch()
    return statistics.median(took)


async def _press(engine: Engine, image: CachedImage, hog: str) -> tuple[float, float]:
    """A neighbour's median while all is calm, and beside the hog."""
    async with lend(engine, image) as neighbour, lend(engine, image) as other:
        calm = await _median(lambda: neighbour.shell("/bin/true"), COMMANDS)
        pressing = asyncio.create_task(other.shell(hog, seconds=20))
        await asyncio.sleep(0.5)
        pressed = await _median(lambda: neighbour.shell("/bin/true"), COMMANDS)
        pressing.cancel()
        await asyncio.gather(pressing, return_exceptions=True)
    return calm, pressed


async def _weigh(engine: Boxes, image: CachedImage) -> tuple[float, float]:
    """MB that each more box takes, by the share of pages; KB of files."""
    before = _sum_shares()
    boxes = [await engine.up(image) for _ in range(LIVE)]
    for box in boxes:
        await box.shell(":")
    after = _sum_shares()
    changed = await boxes[0].changes()
    for box in boxes:
        await box.down()
    return (after - before) / LIVE / 1024, 4.0 * len(changed)


def _sum_shares() -> float:
    """KB of all that runs for users of boxes."""
    total = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                owner = int((folder / "status").read_text().split("Uid:")[1].split()[0])
                total += (
                    int((folder / "smaps_rollup").read_text().split("Pss:")[1].split()[0])
                    if owner >= SHIFT
                    else 0
                )
            except (OSError, IndexError):
                continue
    return total


async def _median(what: Callable[[], Awaitable[object]], times: int) -> float:
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        await what()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _row(
    name: str, what: str, measured: float, baseline: float | None = None, unit: str = "ms"
) -> dict[str, Any]:
    factor = 1e3 if unit == "ms" else 1
    return {
        "id": name,
        "what": what,
        "measured": measured * factor,
        "baseline": baseline and baseline * factor,
        "unit": unit,
    }
