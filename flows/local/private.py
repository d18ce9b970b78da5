"""Files that only the owner of a home may read: the server's secret, and the keys of models.

home/secret      name:password that the server asks of every request
home/keys.json   keys of models, for flow runs alone
"""

import base64
import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from envmill.base.errors import SettingsError

USER = "envmill"
_KEYS = "keys.json"
_STORE = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ENVMILL_DATABASE")
"""What flow runs need to reach a lake in an object store, and leases and budgets in a database."""
_SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD")


def is_secret(name: str) -> bool:
    """Whether a variable may hold a key or a password."""
    return name.upper().endswith(_SECRET_ENDINGS) or name == "ENVMILL_DATABASE"


def secure_folder(folder: Path) -> None:
    """Make the home, or check that it is ours, and close it to everybody else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found, link = folder.stat(), folder.lstat()
    if found.st_uid != os.geteuid() or link.st_uid not in (0, os.geteuid()):
        raise SettingsError(
            f"{folder} belongs to another user, who could read its secret. Set ENVMILL_HOME to a "
            "folder of your own."
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def make_lake(place: str) -> None:
    """Make a lake's folder closed to other users. One that is there keeps the mode that its owner
    gave it."""
    if "://" not in place:
        Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace a file by one that its owner alone can read."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    unfinished.replace(path)


def read_private(path: Path) -> str:
    """Read a file that no other user could read or write; empty when there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read ({error.strerror}). Run `envmill down`, remove it, then "
            "`envmill up`."
        ) from error
    with os.fdopen(handle) as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise SettingsError(
                f"Other users could read or change {path}. Run `envmill down`, then `envmill up`: "
                "it draws a new one."
            )
        return file.read()


def read_secret(home: Path) -> str:
    """`name:password` of this home's server; empty when none was drawn."""
    return read_private(home / "secret")


def make_headers(auth: str) -> dict[str, str]:
    """Header that shows a `name:password`; none without one."""
    return {"Authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"} if auth else {}


def ensure_secret(home: Path, chosen: str = "") -> None:
    """Before the server starts: keep the secret, or draw one. A secret that others could read is
    replaced."""
    try:
        kept = read_secret(home)
    except SettingsError:
        kept = ""
    wanted = chosen or kept or f"{USER}:{secrets.token_urlsafe(32)}"
    if ":" not in wanted:
        wanted = f"{USER}:{wanted}"
    if wanted != kept:
        write_private(home / "secret", wanted)


def write_keys(home: Path, environ: Mapping[str, str], names: set[str]) -> None:
    """Keep the keys of these names beside those kept before: flow runs read them, however long
    after the worker was started."""
    given = {name: environ[name] for name in sorted({*names, *_STORE}) if environ.get(name)}
    if keys := _read_kept(home) | given:
        write_private(home / _KEYS, json.dumps(keys))
    else:
        (home / _KEYS).unlink(missing_ok=True)


def read_keys(home: Path) -> dict[str, str]:
    """Keys that `envmill up` was given."""
    text = read_private(home / _KEYS)
    return json.loads(text) if text else {}


def _read_kept(home: Path) -> dict[str, str]:
    try:
        return read_keys(home)
    except (
        SettingsError,
        ValueError,
    ):  # what others could change, or what was cut off, does not count
        return {}


def forget_private(home: Path) -> None:
    """Remove secret and keys: links, cookies and tokens of the past are void."""
    for name in ("secret", _KEYS):
        (home / name).unlink(missing_ok=True)
