"""Couplings: what a program's world does by itself after each call, so that one side of it follows
the other.

A coupling is a method marked `@coupling` that takes nothing. After a call that succeeded, and after
time passed, all of them run in the order in which they are defined. They read and write the state
alone, and settle: run once more, they change nothing.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from envmill.runtime.rejection import Rejection

Method = TypeVar("Method", bound=Callable[..., Any])
_MARK = "coupling"


def coupling(method: Method) -> Method:
    """Mark a method that runs after each call: `@coupling`."""
    method.__dict__[_MARK] = True
    return method


@lru_cache(64)
def list_couplings(program: type[Any]) -> tuple[str, ...]:
    """Names of the marked methods of a class, in the order in which they are defined."""
    found = dict.fromkeys(
        name
        for base in reversed(program.__mro__)
        for name, member in vars(base).items()
        if getattr(member, "__dict__", {}).get(_MARK)
    )
    return tuple(found)


def couple(instance: object) -> None:
    """Run them. Nobody called them, so a refusal is a crash."""
    for name in list_couplings(type(instance)):
        try:
            getattr(instance, name)()
        except Rejection as rejection:
            raise RuntimeError(
                f"The coupling {name} refused ({rejection.code}), and nobody had called it."
            ) from rejection
