"""Measured from the driver's seat: a process that forks the zygote itself, pinned to one core with
everything below it.

Waking a process on another core costs more than a call, so the same is measured unpinned once.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from envmill.runtime.jail.driver import start_zygote
from envmill.runtime.jail.layers import probe
from envmill.runtime.jail.reset_policy import TRIALS, ResetPolicy
from envmill.runtime.jail.slot import SessionSlot
from envmill.runtime.jail.template import Template
from envmill.runtime.jail.templates import Templates
from envmill.runtime.jail.wire import Message, adopt_codec
from envmill.sandbox import launch
from envmill.sandbox.launch import CODEC, list_environment, list_words
from tests.bench.plane.plain import Plain
from tests.bench.plane.sample import CALL, PROGRAM, WRITE, make_program, make_reset
from tests.bench.plane.server import Server, pin, read_pss
from tests.bench.plane.timing import Row, Times, in_turns, row

SESSIONS = 1024
RESET = make_reset()
LOOK: Message = {"op": "state"}


def measure() -> list[Row]:
    """All rows of this seat."""
    cores = os.sched_getaffinity(0)
    pin()
    adopt_codec(CODEC)
    jailed, bare = (
        start_as_driver([name for name, held in probe().items() if held]),
        start_as_driver(()),
    )
    plain, server = Plain(), Server()
    try:
        call = _measure_calls(jailed, bare, plain, server)
        rows = [
            *call,
            *_measure_episodes(jailed, plain),
            *_measure_resets(jailed),
            *_measure_start(jailed, server),
            *_measure_memory(jailed, server),
        ]
        return [*rows, *_measure_unpinned(jailed, cores)]
    finally:
        plain.close()
        server.close()
        jailed.close()
        bare.close()


def start_as_driver(layers: Sequence[str], flavour: str = "tools") -> Templates:
    """A zygote that is exec'ed as a driver's are: what this process has loaded for its measurements
    would be in every session."""
    own, words = dict(os.environ), sys.orig_argv
    os.environ.clear()
    os.environ.update(list_environment(0))
    sys.orig_argv = [*list_words(), "end", "config"]
    try:
        return start_zygote(layers, flavour, launch.SESSIONS, afresh={"codec": CODEC})
    finally:
        os.environ.clear()
        os.environ.update(own)
        sys.orig_argv = words


def _measure_calls(jailed: Templates, bare: Templates, plain: Plain, server: Server) -> list[Row]:
    works = [
        _prepare(jailed, [CALL], "none"),
        _prepare(bare, [CALL], "none"),
        _prepare(jailed, [CALL]),
        _prepare(jailed, [WRITE]),
        server.call,
    ]
    batch = [
        _prepare(jailed, [RESET, *[CALL] * 100], "none"),
        _prepare(jailed, [RESET, *[CALL] * 100]),
    ]
    native, native_100, method = Times(), Times(), Times()
    times, batches = [Times() for _ in works], [Times() for _ in batch]
    for _ in range(12):
        for work, taken in zip(works, times, strict=True):
            taken.measure(work, 150)
        for work, taken in zip(batch, batches, strict=True):
            taken.measure(work, 8)
        native.taken += plain.take("call", 150)
        native_100.taken += plain.take("reset_100", 8)
        method.taken += plain.take("bare", 150)
    return _tell_calls(times, batches, [native, native_100, method])


def _tell_calls(
    times: Sequence[Times], batches: Sequence[Times], plain: Sequence[Times]
) -> list[Row]:
    call, loose, hashed, written, served = times
    native, native_100, method = plain
    return [
        row(
            "call",
            "one call, all layers, pinned, p50; beside the native interface in a plain child "
            "process",
            call.p50,
            native.p50,
        ),
        row("call_p99", "the same, p99", call.p99, native.p99),
        row("call_layers", "the same, beside the same wire without any layer", call.p50, loose.p50),
        row(
            "call_method",
            "the same, beside the bare Python method in a plain child process",
            call.p50,
            method.p50,
        ),
        row(
            "call_hashed", "a read whose end state is hashed, 8 KB of state", hashed.p50, native.p50
        ),
        row(
            "call_write_hashed",
            "a write whose end state is hashed, 8 KB of state",
            written.p50,
            native.p50,
        ),
        row(
            "server",
            "the same call of a FastAPI+SQLite server over a raw keep-alive socket, p50; beside "
            "the jailed call",
            served.p50,
            call.p50,
        ),
        row("server_p99", "the same, p99", served.p99, call.p99),
        row(
            "reset_100_calls",
            f"reset and 100 calls in one message; p99 {batches[0].p99:.0f} µs; beside a plain "
            "child process",
            batches[0].p50,
            native_100.p50,
        ),
        row(
            "reset_100_calls_hashed",
            "the same, the state hashed after each",
            batches[1].p50,
            native_100.p50,
        ),
    ]


def _measure_episodes(place: Templates, plain: Plain) -> Iterator[Row]:
    seat = _take_seat(place, "none")

    def play() -> None:
        check(seat.play([RESET, *[CALL] * 20], soon()))

    def play_and_look() -> None:
        check(seat.play([RESET, *[CALL] * 20, LOOK], soon()))

    def play_singly() -> None:
        seat.play([RESET], soon())
        for _ in range(20):
            seat.play([CALL], soon())

    def fork_and_play() -> None:
        play_once(forked, [RESET, *[CALL] * 20])

    forked = _refuse_in_place(place)
    # Long turns: a rate is of one episode after the other, and the first ones after a fork find the
    # core's caches full of it.
    whole, blind, single, fork, unjailed = Times(), Times(), Times(), Times(), Times()
    for _ in range(6):
        for taken, work in (
            (whole, play_and_look),
            (blind, play),
            (single, play_singly),
            (fork, fork_and_play),
        ):
            taken.measure(work, 80)
        unjailed.taken += plain.take("forked", 80)
    yield _rate(
        "episodes",
        "a reset, 20 calls and the end's state for the reward, in one message, one core",
        whole,
    )
    yield _rate("episodes_blind", "the same without the state", blind)
    yield _rate("episodes_single", "a reset and 20 calls, a message each", single)
    yield _rate(
        "episodes_forked",
        "a fork, a reset and 20 calls in one message, one core; beside a plain child's bare fork",
        fork,
        unjailed,
    )
    forked.prepare()
    spare = Times()
    for _ in range(30):
        forked.prepare()
        spare.measure(lambda: play_once(forked, [RESET]), 1)
    yield row(
        "reset_spare",
        "a fresh session from a process forked ahead, reset included, 8 KB",
        spare.p50,
    )
    seat.close()


def _rate(name: str, what: str, times: Times, beside: Times | None = None) -> Row:
    baseline = 1e6 / beside.p50 if beside else None
    return row(
        name,
        f"episodes of {what}; p99 of one {times.p99:.0f} µs",
        1e6 / times.p50,
        baseline,
        unit="/s",
    )


def _measure_resets(place: Templates) -> Iterator[Row]:
    forked = _refuse_in_place(place)
    for name, size, times in (("8kb", 8, 20), ("1mb", 1024, 2), ("20mb", 20 * 1024, 1)):
        reset = make_reset(size)
        seat = _take_seat(place, "none")
        here, fork = in_turns(
            [
                lambda seat=seat, reset=reset: check(seat.play([reset], soon())),
                lambda reset=reset: play_once(forked, [reset]),
            ],
            times,
            5,
        )
        yield row(
            f"reset_in_place_{name}",
            f"reset of a proven program, in place unless the state is large; p99 {here.p99:.0f} "
            "µs; beside a fork",
            here.p50,
            fork.p50,
        )
        yield row(
            f"reset_fork_{name}",
            f"reset by a fork, the state kept in the template; p99 {fork.p99:.0f} µs",
            fork.p50,
        )
        seat.close()


def _measure_start(place: Templates, server: Server) -> list[Row]:
    cold, ahead = Times(), Times()
    for number in range(30):
        _time_start(place, number, cold)
        place.rest(lambda: True)
        _time_start(place, 10_000 + number, ahead)
    return [
        row(
            "cold_start",
            f"source to a session that is ready, all layers; p99 {cold.p99 / 1e3:.1f} ms",
            cold.p50 / 1e3,
            unit="ms",
        ),
        row(
            "cold_start_ahead",
            "the same, in a process that entered the jail while the driver was idle",
            ahead.p50 / 1e3,
            unit="ms",
        ),
        row(
            "server_start",
            "a server from its start to its first reply; beside the jail's cold start",
            server.start_seconds * 1e3,
            cold.p50 / 1e3,
            "ms",
        ),
    ]


def _time_start(place: Templates, number: int, times: Times) -> None:
    """Of a program that is new here, while nobody else begins or ends."""
    program = make_program(number)
    times.measure(lambda: play_once(place.find(program), [RESET]), 1)
    place.forget(program)
    # What was killed takes itself apart, on this core.
    time.sleep(0.01)


def _measure_memory(place: Templates, server: Server) -> Iterator[Row]:
    template = _refuse_in_place(place)
    seats = [SessionSlot(template, "none") for _ in range(SESSIONS)]
    for seat in seats:
        check(seat.play([RESET], soon()))
    for seat in seats:
        check(seat.play([CALL], soon()))
    pids = [seat._inmate.pid for seat in seats if seat._inmate]
    sessions = sum(map(read_pss, pids))
    own = read_pss(template.pid)
    for seat in seats:
        seat.close()
    yield row(
        "sessions_1024",
        "1,024 live sessions, after a reset and a call each",
        sessions / 1024,
        unit="GB",
    )
    yield row(
        "session_pss",
        "memory of a session; beside a server",
        sessions / len(pids),
        read_pss(server.pid),
        "MB",
    )
    yield row("template_pss", "memory of a template with 1,024 sessions below it", own, unit="MB")


def _measure_unpinned(place: Templates, cores: set[int]) -> Iterator[Row]:
    """Zygote, template, session and this process wherever the scheduler puts them."""
    template = _prove(place.find(make_program(-2)))
    os.sched_setaffinity(0, cores)
    seat, forked = SessionSlot(template, "none", in_place=True), _refuse_in_place(place)
    check(seat.play([RESET], soon()))
    for pid in (place.pid, template.pid, forked.pid, seat._inmate.pid if seat._inmate else 0):
        os.sched_setaffinity(pid, cores)
    (call,) = in_turns([lambda: check(seat.play([CALL], soon()))], 200)
    batch, episode, fork = in_turns(
        [
            lambda: check(seat.play([RESET, *[CALL] * 100], soon())),
            lambda: check(seat.play([RESET, *[CALL] * 20, LOOK], soon())),
            lambda: play_once(forked, [RESET, *[CALL] * 20]),
        ],
        10,
    )
    cold = Times()
    for number in range(30):
        _time_start(place, 20_000 + number, cold)
    seat.close()
    yield row(
        "call_unpinned",
        f"one call where the scheduler puts it, p50; p99 {call.p99:.0f} µs",
        call.p50,
    )
    yield row(
        "reset_100_unpinned",
        f"reset and 100 calls in one message, likewise; p99 {batch.p99:.0f} µs",
        batch.p50,
    )
    yield _rate(
        "episodes_unpinned",
        "a reset, 20 calls and the end's state in one message, likewise",
        episode,
    )
    yield _rate(
        "episodes_forked_unpinned", "a fork, a reset and 20 calls in one message, likewise", fork
    )
    yield row(
        "cold_start_unpinned",
        f"source to a session, likewise; p99 {cold.p99 / 1e3:.1f} ms",
        cold.p50 / 1e3,
        unit="ms",
    )


def _prepare(place: Templates, steps: list[Message], hashes: str = "each") -> Callable[[], None]:
    seat = _take_seat(place, hashes)
    check(seat.play([RESET], soon()))
    return lambda: check(seat.play(steps, soon()))


def _take_seat(place: Templates, hashes: str) -> SessionSlot:
    return SessionSlot(_prove(place.find(PROGRAM)), hashes, in_place=True)


def _prove(template: Template) -> Template:
    """By its own trials, as every program."""
    for number in range(TRIALS + 1):
        play_once(template, [RESET | {"seed": number}, CALL])
        template.try_out()
    assert template.standing.verdict == "proven"
    return template


def _refuse_in_place(place: Templates) -> Template:
    template = place.find(make_program(-1))
    template.standing = ResetPolicy("", "refuted")
    return template


def play_once(template: Template, steps: list[Message]) -> None:
    """In a session of its own, in place where the program is proven."""
    seat = SessionSlot(template, "none", in_place=True)
    check(seat.play(steps, soon()))
    seat.close()


def soon() -> float:
    """A deadline that nothing measured should meet."""
    return time.monotonic() + 60


def check(observations: list[Message]) -> None:
    """What did not go well is no measurement."""
    assert observations[-1]["outcome"] == "ok", observations[-1]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure()))
