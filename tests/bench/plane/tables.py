"""An environment over tables from the driver's seat, pinned: call, undo, start and memory, beside a
server of its own."""

import json
import sys
import time
from collections.abc import Callable, Iterator

from envmill.runtime.jail.layers import probe
from envmill.runtime.jail.reset_policy import TRIALS
from envmill.runtime.jail.slot import SessionSlot
from envmill.runtime.jail.template import Template
from envmill.runtime.jail.templates import Templates
from envmill.runtime.jail.wire import Message, adopt_codec
from envmill.sandbox.launch import CODEC
from tests.bench.plane.beside import check, play_once, soon, start_as_driver
from tests.bench.plane.plain import Plain
from tests.bench.plane.sample import (
    CALL,
    TABLES_PROGRAM,
    WRITE,
    make_tables_program,
    make_tables_reset,
)
from tests.bench.plane.server import FIND, ORDER, RESET, Server, pin, read_pss
from tests.bench.plane.timing import Row, Times, row

SESSIONS = 64
UNKNOWN: Message = {**CALL, "name": "nothing"}
STARTS = 20


def measure() -> list[Row]:
    """All rows of this seat."""
    pin()
    adopt_codec(CODEC)
    jailed = start_as_driver([name for name, held in probe().items() if held], "database")
    plain, server = Plain("tables"), Server()
    try:
        template = _prove(jailed.find(TABLES_PROGRAM))
        return [
            *_measure_calls(template, plain, server),
            *_measure_resets(template, plain, server),
            *_measure_start(jailed, server),
            *_measure_memory(template, server),
        ]
    finally:
        plain.close()
        server.close()
        jailed.close()


def _measure_calls(template: Template, plain: Plain, server: Server) -> Iterator[Row]:
    seat = _seat(template)
    refused = lambda: seat.play([UNKNOWN], soon())  # noqa: E731
    works = [
        _ask(seat, CALL),
        _ask(seat, WRITE),
        refused,
        lambda: server.call(FIND),
        lambda: server.call(ORDER),
    ]
    times, native, native_write = [Times() for _ in works], Times(), Times()
    for _ in range(12):
        for work, taken in zip(works, times, strict=True):
            taken.measure(work, 150)
        native.taken += plain.take("call", 150)
        native_write.taken += plain.take("write", 150)
    seat.close()
    call, write, wire, served, served_write = times
    beside = "p50; beside the native interface in a plain child process"
    yield row(
        "call",
        f"a tool that reads one row by its key, all layers, pinned, {beside}",
        call.p50,
        native.p50,
    )
    yield row("call_pinned", f"the same by itself; p99 {call.p99:.0f} µs", call.p50)
    yield row(
        "call_wire",
        "of it: the way there and back, as a call of a tool that there is not takes it",
        wire.p50,
    )
    yield row(
        "call_child", "of it: the native interface, as the plain child process takes it", native.p50
    )
    yield row(
        "call_write",
        f"a tool that writes one row and reads it, {beside}",
        write.p50,
        native_write.p50,
    )
    yield row(
        "server_call",
        "the reading call of a FastAPI+SQLite server over a raw keep-alive socket; beside the "
        "jailed",
        served.p50,
        call.p50,
    )
    yield row(
        "server_write",
        "the writing call of the server, committed; beside the jailed",
        served_write.p50,
        write.p50,
    )


def _measure_resets(template: Template, plain: Plain, server: Server) -> Iterator[Row]:
    """Of a session that has written: what it wrote is rolled back."""
    undone = dict[int, Times]()
    for kilobytes, times in ((8, 300), (24, 300), (1024, 60)):
        reset = make_tables_reset(kilobytes)
        seat, undone[kilobytes] = _seat(template, reset), Times()
        for _ in range(times):
            check(seat.play([WRITE], soon()))
            undone[kilobytes].measure(
                lambda seat=seat, reset=reset: check(seat.play([reset], soon())), 1
            )
        seat.close()
    native, served = Times(), Times()
    native.taken += plain.take("undo", 300)
    for _ in range(100):
        server.call(ORDER)
        served.measure(lambda: server.call(RESET), 1)
    for kilobytes, name in ((24, "24 KB"), (1024, "1 MB")):
        taken = undone[kilobytes]
        yield row(
            f"undo_{kilobytes}kb",
            f"reset of a session that has written, {name} of rows, wire included; p99 "
            f"{taken.p99:.0f} µs; beside a plain child",
            taken.p50,
            native.p50,
        )
    yield row(
        "undo_child",
        "of it: the same in a plain child process, 8 KB of rows, without wire",
        native.p50,
    )
    yield row(
        "server_reset",
        "reset of the server by a copy of its file, 8 KB of rows; beside the jailed",
        served.p50,
        undone[8].p50,
    )


def _measure_start(place: Templates, server: Server) -> Iterator[Row]:
    cold = Times()
    for number in range(STARTS):
        program = make_tables_program(number)
        cold.measure(
            lambda program=program: play_once(place.find(program), [make_tables_reset()]), 1
        )
        place.forget(program)
        time.sleep(0.01)
    yield row(
        "cold_start",
        "source, schema and rows to a session that is ready, all layers; p99 "
        f"{cold.p99 / 1e3:.1f} ms",
        cold.p50 / 1e3,
        unit="ms",
    )
    yield row(
        "server_start",
        "a server from its start to its first reply; beside the jailed",
        server.start_seconds * 1e3,
        cold.p50 / 1e3,
        "ms",
    )


def _measure_memory(template: Template, server: Server) -> Iterator[Row]:
    seats = [_seat(template) for _ in range(SESSIONS)]
    for seat in seats:
        check(seat.play([CALL], soon()))
    pids = [seat._inmate.pid for seat in seats if seat._inmate]
    own = sum(map(read_pss, pids)) / len(pids)
    for seat in seats:
        seat.close()
    yield row(
        "server_memory",
        f"memory of a server; beside one of {len(pids)} live sessions",
        read_pss(server.pid),
        own,
        "MB",
    )


def _prove(template: Template) -> Template:
    """By its own trials, as every program."""
    for number in range(TRIALS + 1):
        play_once(template, [make_tables_reset() | {"seed": number}, CALL])
        template.try_out()
    assert template.standing.verdict == "proven"
    return template


def _seat(template: Template, reset: Message | None = None) -> SessionSlot:
    seat = SessionSlot(template, "none", in_place=True)
    check(seat.play([reset or make_tables_reset()], soon()))
    return seat


def _ask(seat: SessionSlot, step: Message) -> Callable[[], None]:
    return lambda: check(seat.play([step], soon()))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure()))
