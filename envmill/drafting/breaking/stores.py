"""Faults of what a system keeps: links, locks, spools, rows of a database, branches of a repository."""

import random

from envmill.drafting.breaking.base import mode_of, owner_of, quote
from envmill.drafting.breaking.systems import Healthy
from schemas.system import Branch, Fault, Handle, Link, Lock, Row, Spool


def kill_link(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A link to what is no longer there."""
    if not isinstance(handle, Link):
        return None
    dead = f"{handle.target}.old"
    return _state("dead_link", handle, handle.path, _point(handle.path, dead), _point(handle.path, handle.target), dead, [handle.target])


def turn_link(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A link to something that exists and is not it: an earlier release, say."""
    if not isinstance(handle, Link) or not handle.other:
        return None
    scripts = _point(handle.path, handle.other), _point(handle.path, handle.target)
    return _state("stale_link", handle, handle.path, *scripts, handle.other, [handle.target])


def lose_link(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Link):
        return None
    broken, mended = f"rm {quote(handle.path)}", f"ln -s {quote(handle.target)} {quote(handle.path)}"
    return _state("missing_link", handle, handle.path, broken, mended, "", [handle.target])


def leak_lock(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A lock whose owner died and left it."""
    if not isinstance(handle, Lock):
        return None
    return _state("leaked_lock", handle, handle.path, f"touch {quote(handle.path)}", f"rm -f {quote(handle.path)}", "", [])


def leave_pid(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A pid file of a process that is gone."""
    if not isinstance(handle, Lock):
        return None
    broken = f"echo {quote(handle.content)} > {quote(handle.path)}"
    return _state("stale_pid", handle, handle.path, broken, f"rm -f {quote(handle.path)}", handle.content, [])


def fill_quota(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A spool full of what nobody will fetch."""
    if not isinstance(handle, Spool):
        return None
    folder, ending = quote(handle.path), quote(handle.suffix)
    owner = owner_of(healthy, handle.path)
    broken = f"for n in $(seq {handle.limit}); do echo left > {folder}/old-$n{ending}; chown {owner} {folder}/old-$n{ending}; done"
    return _state("full_quota", handle, handle.path, broken, f"rm -f {folder}/old-*{ending}", "", [handle.suffix])


def corrupt_row(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Row):
        return None
    change = f"UPDATE {handle.table} SET {handle.column} = %s WHERE {handle.where}"
    scripts = _query(healthy, handle, change % handle.wrong), _query(healthy, handle, change % handle.value)
    return _state("corrupt_row", handle, handle.file, *scripts, handle.wrong.strip("'"), [handle.value.strip("'"), *handle.facts])


def lose_row(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Row) or not handle.row:
        return None
    broken = _query(healthy, handle, f"DELETE FROM {handle.table} WHERE {handle.where}")
    mended = _query(healthy, handle, f"INSERT INTO {handle.table} VALUES ({handle.row})")
    return _state("missing_row", handle, handle.file, broken, mended, "", [handle.value.strip("'"), *handle.facts])


def lock_database(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A database that only its administrator may write."""
    if not isinstance(handle, Row):
        return None
    right = mode_of(healthy, handle.file)
    broken, mended = f"chown root:root {quote(handle.file)}\nchmod 600 {quote(handle.file)}", f"chmod {right} {quote(handle.file)}"
    owner = owner_of(healthy, handle.file)
    named = sorted(set(owner.split(":")) - {"root"})
    return _state("locked_database", handle, handle.file, broken, f"chown {owner} {quote(handle.file)}\n{mended}", "600", named)


def turn_branch(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Branch):
        return None
    git = f"git -c safe.directory={quote(handle.path)} -C {quote(handle.path)} symbolic-ref HEAD refs/heads/"
    return _state(
        "wrong_branch", handle, f"{handle.path}/HEAD", f"{git}{handle.wrong}", f"{git}{handle.value}", handle.wrong, [handle.value]
    )


def _point(path: str, target: str) -> str:
    return f"ln -sfn {quote(target)} {quote(path)}"


def _query(healthy: Healthy, handle: Row, statement: str) -> str:
    """As whoever owns the database: SQLite leaves a journal beside it."""
    return f"sqlite3 {quote(handle.file)} {quote(statement)}"


def _state(operator: str, handle: Handle, path: str, broken: str, mended: str, wrong: str, right: list[str]) -> Fault:
    return Fault(operator=operator, handle=handle.name, places=[path], break_script=broken, mend_script=mended, wrong=wrong, right=right)
