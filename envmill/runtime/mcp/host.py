"""The host: one jail, and a connection with a session of its own for each client."""

import contextlib
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

from envmill.runtime.jail.client import Jail, JailError, Session
from envmill.runtime.mcp.connection import McpConnection
from envmill.runtime.mcp.messages import Message
from envmill.runtime.mcp.offer import Offer
from envmill.runtime.mcp.recording import RecordingFile


class CannotStart(Exception):
    """The environment does not take its initial state, or nothing can be recorded."""


class JailHost:
    """Starts the jail at once; a jail that broke is replaced when the next client comes."""

    def __init__(self, offer: Offer, launch: Callable[[], Jail]) -> None:
        self.offer, self._launch = offer, launch
        self._turn = threading.Lock()
        self._numbers = count(1)
        self._jail = launch()

    def open(self, record: Path | None = None, *, whole: bool = False) -> McpConnection:
        """A connection whose session stands at its start, recorded where a path is given. JailError
        when the jail cannot be had."""
        with self._turn:
            try:
                session, began = self._begin()
            except JailError:
                self._jail.close()
                self._jail = self._launch()
                session, began = self._begin()
        if not began["ok"]:
            error = began["error"]
            raise CannotStart(
                f"{self.offer.title} does not take its initial state ({error['code']}): "
                f"{error['message']}"
            )
        recorder = self._record(record, began["state_hash"]) if record else None
        return McpConnection(self.offer, session, recorder, whole=whole)

    def close(self) -> None:
        """End the jail and every session."""
        self._jail.close()

    def __enter__(self) -> "JailHost":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self) -> tuple[Session, Message]:
        session = Session(self._jail, self.offer.program, next(self._numbers))
        began = session.reset(self.offer.start)
        if not began["ok"]:
            with contextlib.suppress(JailError):
                session.close()
        return session, began

    def _record(self, path: Path, state_hash: str) -> RecordingFile:
        offer = self.offer
        told = {"program": offer.program["hash"], "scenario": offer.scenario, "actor": offer.actor}
        began = {
            "seed": offer.start["seed"],
            "clock": offer.start["clock"],
            "state_hash": state_hash,
        }
        try:
            recorder = RecordingFile(path)
            recorder.begin(told | began)
        except FileExistsError:
            raise CannotStart(
                f"{path} exists already. Name a file that does not: a recording is never written "
                "over."
            ) from None
        except OSError as error:
            raise CannotStart(
                f"{path} cannot be written ({error.strerror}). Name another file."
            ) from None
        return recorder
