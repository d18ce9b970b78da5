"""Serving: an offer brought to its clients, over standard input and output or HTTP, until they
leave or it is told to end."""

import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from envmill.runtime.jail.client import Jail
from envmill.runtime.mcp.host import CannotStart, JailHost
from envmill.runtime.mcp.offer import USER, Offer, UserSide
from envmill.runtime.mcp.stdio import serve_lines
from envmill.runtime.mcp.web import PATH, USER_PATH, ServerLimits, make_server, serve_web
from envmill.runtime.world import parse_clock

SHORTEST_TOKEN = 16


def serve(
    offer: Offer,
    launch: Callable[[], Jail],
    http: str = "",
    record: Path | None = None,
    bounds: ServerLimits = ServerLimits(),  # noqa: B008
    token: Path | None = None,
    user: "tuple[str, Path] | None" = None,
) -> None:
    """By lines for one client, or at an address for many. CannotStart says what to do otherwise;
    JailError that nothing confines.

    With `user`, instructions and a file with a token, clients that show it play the user's side.
    `record` is a file, or over HTTP a folder with a file for each session id. `token` is a file with a token that clients must show.
    """
    address, secret = read_address(http) if http else None, read_token(token) if token else ""
    if secret and not address:
        raise CannotStart(
            "A token is for HTTP: over standard input and output the client is whoever started "
            "this. Leave it out."
        )
    side = _open_side(user, offer, http, secret) if user else None
    _check(offer)
    with JailHost(offer, launch) as host:
        if address:
            _serve_web(host, address, bounds, record, secret, side)
        else:
            _serve_lines(host, record)


def _open_side(user: tuple[str, Path], offer: Offer, http: str, secret: str) -> UserSide:
    """The user's side, with a token of its own: an agent that had it could play its own user."""
    if not http:
        raise CannotStart(
            "Two sides need two clients. Give --http an address, or serve the user's tools alone by "
            "--actor user."
        )
    if offer.actor == USER or USER not in offer.list_actors():
        raise CannotStart("The user has no tools of their own beside the client's here.")
    side = UserSide(user[0], read_token(user[1]))
    if side.token == secret:
        raise CannotStart("Both sides have one token. Name another file for the user's.")
    return side


def _check(offer: Offer) -> None:
    if offer.actor not in offer.list_actors():
        raise CannotStart(
            f"There is no actor {offer.actor!r} here. There are: {', '.join(offer.list_actors())}."
        )
    try:
        parse_clock(offer.start["clock"])
    except ValueError:
        raise CannotStart(
            f"{offer.start['clock']!r} is no time. Write ISO 8601, like 2026-03-02T09:00:00+00:00."
        ) from None


def read_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT`, or a port of this machine alone."""
    name, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise CannotStart(f"{text!r} is no address. Write HOST:PORT, like 127.0.0.1:8765.")
    return name.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def read_token(path: Path) -> str:
    """The token in a file, which is made where there is none: readable by its owner alone."""
    try:
        with (
            contextlib.suppress(FileExistsError),
            os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as made,
        ):
            made.write(secrets.token_urlsafe(32) + "\n")
        with path.open("rb") as kept:
            open_to_others = os.fstat(kept.fileno()).st_mode & 0o077
            token = kept.read(4096).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(
            f"{path} holds no token that can be read ({error}). Name another file."
        ) from None
    if open_to_others:
        raise CannotStart(
            f"Other users can read {path}. Close it (chmod 600), or name a file that does not "
            "exist: one is made."
        )
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise CannotStart(
            f"{path} holds no token of {SHORTEST_TOKEN} printable characters or more. Name a file "
            "that does not exist."
        )
    return token


def _serve_lines(host: JailHost, record: Path | None) -> None:
    connection = host.open(record, whole=True)
    _install_signals()
    # Whatever else is printed in this process must not stand among the messages.
    sink = os.dup(1)
    os.dup2(2, 1)
    # Told to end in mid-call, it asks the jail nothing more: the session ends with the jail.
    serve_lines(connection, 0, sink)


def _serve_web(
    host: JailHost,
    address: tuple[str, int],
    bounds: ServerLimits,
    record: Path | None,
    token: str,
    side: UserSide | None,
) -> None:
    # An environment that cannot begin is told now, and not to the first client.
    host.open().close()
    try:
        server = make_server(host, address, bounds, record, token, side)
    except OSError as error:
        raise CannotStart(
            f"Nothing can be served at {address[0]}:{address[1]} ({error.strerror}). Name another "
            "address."
        ) from None
    _install_signals()
    users = f", and its users at {server.url.removesuffix(PATH)}{USER_PATH}" if side else ""
    sys.stderr.write(f"Serving {host.offer.title} at {server.url}{users}\n")
    sys.stderr.flush()
    serve_web(server)


def _install_signals() -> None:
    """To be told to end: the jail is then put away, and nothing is complained of."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise SystemExit(128 + number if number == signal.SIGINT else 0)
