"""The standard library's clock and randomness, made virtual: programs that never heard of us are
deterministic too.

`install` patches modules in place, once, in a process that runs programs and nothing else. Every read goes to the
world, which is set back at each reset; `time.sleep` moves the virtual clock and returns at once.
"""

import datetime
import decimal
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any, SupportsIndex

from envmill.runtime.streams import load_stream, save_stream
from envmill.runtime.world import MICRO, WORLD, SeededRandom

_EPOCH = datetime.datetime(1970, 1, 1)
_real_localtime, _real_gmtime = time.localtime, time.gmtime
_real_asctime, _real_strftime = time.asctime, time.strftime
_real_seed = random.Random.seed
_arithmetic = decimal.getcontext().copy()
"""Precision, rounding, traps and flags of decimals, as a process begins with them."""


class _Stands(type):
    """Lets a virtual class pass for the real one: `isinstance(real, Virtual)` holds, for results
    made inside C code."""

    def __instancecheck__(cls, instance: object) -> bool:
        real = _REAL.get(cls)
        return isinstance(instance, real) if real else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        real = _REAL.get(cls)
        return issubclass(subclass, real) if real else type.__subclasscheck__(cls, subclass)


class _VirtualDatetime(datetime.datetime, metaclass=_Stands):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        moment = cls(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(
            microseconds=WORLD.read_clock()
        )
        # The jail's own zone is UTC, so "local" time is UTC without its label.
        return moment.replace(tzinfo=None) if tz is None else moment.astimezone(tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now()

    @classmethod
    def today(cls) -> Any:
        return cls.now()


class _VirtualDate(datetime.date, metaclass=_Stands):
    @classmethod
    def today(cls) -> Any:
        moment = _EPOCH + datetime.timedelta(microseconds=WORLD.read_clock())
        return cls(moment.year, moment.month, moment.day)


_REAL: dict[type, type] = {_VirtualDatetime: datetime.datetime, _VirtualDate: datetime.date}


def install() -> None:
    """Make this process's `time`, `datetime`, `random`, `uuid`, `os.urandom` and `secrets`
    virtual."""
    _install_datetime()
    _install_time()
    _install_randomness()


def reset() -> None:
    """Seed the module-level generators from the world, which must have been reset first, and set
    decimal arithmetic back."""
    decimal.setcontext(_arithmetic.copy())
    shared = _shared()
    if isinstance(shared, SeededRandom):
        shared.put_off(WORLD.seed)
    else:
        random.seed(WORLD.seed)
    WORLD.uses["randomness"] = 0
    uuid._last_timestamp = None  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]


def snapshot() -> dict[str, Any]:
    """Position of the module-level generators, as JSON."""
    return {"shared": save_stream(_shared()), "uuid": uuid._last_timestamp}  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]


def restore(saved: dict[str, Any]) -> None:
    """Go on from a snapshot; the world is restored after it, for its counts."""
    load_stream(_shared(), saved["shared"])
    uuid._last_timestamp = saved["uuid"]  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]


def _shared() -> random.Random:
    return random._inst  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]


def _install_datetime() -> None:
    for name, virtual in (("datetime", _VirtualDatetime), ("date", _VirtualDate)):
        virtual.__name__ = virtual.__qualname__ = name
        virtual.__module__ = "datetime"
        setattr(datetime, name, virtual)


def _seconds() -> float:
    return WORLD.read_clock() / MICRO


def _nanoseconds() -> int:
    return WORLD.read_clock() * 1000


def _with_default(real: Callable[[float], Any]) -> Callable[..., Any]:
    def virtual(seconds: float | None = None) -> Any:
        return real(_seconds() if seconds is None else seconds)

    return virtual


def _strftime(form: str, moment: Any = None) -> str:
    return _real_strftime(form, _real_localtime(_seconds()) if moment is None else moment)


def _asctime(moment: Any = None) -> str:
    return _real_asctime(_real_localtime(_seconds()) if moment is None else moment)


def _sleep(seconds: float, /) -> None:
    if not seconds >= 0:
        raise ValueError("sleep length must be non-negative")
    WORLD.advance(seconds)


def _install_time() -> None:
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, _seconds)
        setattr(time, f"{name}_ns", _nanoseconds)
    time.clock_gettime = lambda clk_id: _seconds()  # noqa: ARG005
    time.clock_gettime_ns = lambda clock_id: _nanoseconds()  # noqa: ARG005
    time.localtime, time.gmtime = _with_default(_real_localtime), _with_default(_real_gmtime)
    time.ctime = _with_default(lambda seconds: _real_asctime(_real_localtime(seconds)))
    time.strftime, time.asctime = _strftime, _asctime
    time.sleep = _sleep


def _urandom(size: SupportsIndex, /) -> bytes:
    return WORLD.rng().randbytes(size.__index__())


def _seed(self: random.Random, a: Any = None, version: int = 2) -> None:
    # `Random()` without a seed would ask the kernel in C, past every patch of os.urandom.
    _real_seed(self, WORLD.rng().getrandbits(64) if a is None else a, version)


def _install_randomness() -> None:
    os.urandom = _urandom
    os.getrandom = lambda size, flags=0: _urandom(size)  # noqa: ARG005
    random.Random.seed = _seed
    random._urandom = _urandom  # pyright: ignore[reportAttributeAccessIssue]  # what SystemRandom and secrets draw from
    shared = SeededRandom(WORLD, 0)
    random._inst = shared  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    for name in random.__all__:
        if name.islower():
            setattr(random, name, getattr(shared, name))
    uuid._node = 0x0242_AC11_0002  # pyright: ignore[reportAttributeAccessIssue]  # uuid1 would read a network card
    uuid._generate_time_safe = uuid._UuidCreate = None  # pyright: ignore
