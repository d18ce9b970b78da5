"""The recall feed: which scenarios were withdrawn since the folder was exported. They are refused
when a session begins.

feed (file or URL) ──read, at most every N seconds──► withdrawn ids ──► a row that is among them is refused

Without a feed nothing is refused. A feed that cannot be read changes nothing that is known, and
says so; where it is required, nothing begins until it can be read.
"""

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from .rows import OutageError, ScenarioRow, SetError

PLACE, TOKEN, SECONDS, REQUIRED = (
    "ENVMILL_RECALLS",
    "ENVMILL_RECALLS_TOKEN",
    "ENVMILL_RECALLS_SECONDS",
    "ENVMILL_RECALLS_REQUIRED",
)
"""File or URL; its bearer token; how often it is read at most; `1` where nothing may begin without
it."""
EVERY = 30.0
FORM = 1
_WAIT = 5.0
"""Seconds that a server may take."""
_MOST = 64 * 1024 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class WithdrawnError(OutageError):
    """The scenario was recalled: no attempt at it is worth a reward, and none is a failure."""


class FeedError(OutageError):
    """The feed is required and cannot be read, so nobody knows what was withdrawn."""


class RecallFeed:
    """What was withdrawn, as far as the feed says. Ids are never taken back: a feed that lacks some
    is an older copy."""

    def __init__(
        self,
        place: str = "",
        token: str = "",
        every: float = EVERY,
        required: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place, self.required = place, required
        self._token, self._every, self._clock = token, every, clock
        self._withdrawn: dict[str, str] = {}
        self._seq, self._problem, self._read_at = 0, "it was not read yet" if place else "", -every
        self._is_known = False
        self._reading = Lock()
        _check_place(place)

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> "RecallFeed":
        """As the process's environment says."""
        every = environ.get(SECONDS, str(EVERY))
        if not every.replace(".", "", 1).isdigit():
            raise SetError(
                f"{SECONDS} is {every!r}. Write a number of seconds, or leave it out for {EVERY:g}."
            )
        return cls(
            environ.get(PLACE, ""),
            environ.get(TOKEN, ""),
            float(every),
            environ.get(REQUIRED, "") in ("1", "true"),
        )

    def check(self, row: ScenarioRow) -> None:
        """WithdrawnError for a row whose scenario or environment was withdrawn; FeedError where a
        required feed cannot be read."""
        if not self.place:
            if self.required:
                raise FeedError(
                    f"{REQUIRED} is set, and {PLACE} names no feed. Set it to a file or a URL."
                )
            return
        self._refresh()
        if self.required and self._problem:
            raise FeedError(
                f"The recall feed {self.place} is required and cannot be read: {self._problem}. "
                "Nothing begins without it."
            )
        for name in (row.scenario, row.environment):
            if name in self._withdrawn:
                raise WithdrawnError(
                    f"{name} was withdrawn: {self._withdrawn[name]}. Leave its rows out."
                )

    def describe(self) -> dict[str, Any]:
        """For health checks: where it is, how far it was read, and what is wrong with it."""
        return {
            "feed": bool(self.place),
            "seq": self._seq,
            "withdrawn": len(self._withdrawn),
            "problem": self._problem,
        }

    def _refresh(self) -> None:
        """One reader at a time. Others go on with what is known, and wait only where nothing is
        known yet."""
        if self._clock() - self._read_at < self._every or not self._reading.acquire(
            blocking=not self._is_known
        ):
            return
        try:
            if self._clock() - self._read_at >= self._every:
                self._take()
                self._read_at, self._is_known = self._clock(), True
        finally:
            self._reading.release()

    def _take(self) -> None:
        try:
            seq, withdrawn = _parse(self._read())
        except (OSError, ValueError, RecursionError) as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            problem = f"it went back from number {self._seq} to {seq}" if seq < self._seq else ""
            self._withdrawn |= withdrawn
            self._seq = max(seq, self._seq)
        if problem and problem != self._problem:
            warnings.warn(
                f"Recall feed {self.place}: {problem}. What is known stays withdrawn; newer "
                "recalls are missed.",
                stacklevel=4,
            )
        self._problem = problem

    def _read(self) -> bytes:
        if "://" not in self.place:
            return Path(self.place).read_bytes()
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            with _OPENER.open(Request(self.place, headers=headers), timeout=_WAIT) as reply:
                content: bytes = reply.read(_MOST + 1)
        except URLError as error:
            raise OSError(str(error.reason)) from None
        if len(content) > _MOST:
            raise ValueError(f"it has more than {_MOST} bytes")
        return content


class _NoRedirect(HTTPRedirectHandler):
    """A credential is sent nowhere else."""

    def redirect_request(
        self,
        req: Any,  # noqa: ARG002
        fp: Any,  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: Any,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None


_OPENER = build_opener(_NoRedirect)


def _check_place(place: str) -> None:
    if "://" not in place:
        return
    url = urlsplit(place)
    if url.scheme != "https" and not (url.scheme == "http" and url.hostname in _LOOPBACK):
        raise SetError(
            f"{PLACE} is {place!r}. Name a file, an https address, or an http address of this "
            "machine."
        )


def _parse(content: bytes) -> tuple[int, dict[str, str]]:
    """Its last number, and id → reason; ValueError for anything that is no feed."""
    told: Any = json.loads(content)
    if not isinstance(told, dict) or told.get("form") != FORM:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"it is no feed of form {FORM}")
    try:
        found = {str(one["subject"]): str(one["reason"]) for one in told["withdrawn"]}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        return int(told["seq"]), found  # pyright: ignore[reportUnknownArgumentType]
    except (KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from None
