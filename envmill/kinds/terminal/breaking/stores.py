"""Faults of what a system keeps: links, locks, spools, rows of a database, branches of a
repository."""

from envmill.kinds.terminal.breaking.base import OperatorInput, substitute
from envmill.sandbox.machines.healthy import mode_of, owner_of, quote
from schemas.system import DatabaseRow, Fault, GitBranch, Handle, Lock, Spool, Symlink


def kill_link(spot: OperatorInput) -> Fault | None:
    """A link to what is no longer there."""
    if not isinstance(spot.handle, Symlink):
        return None
    dead = f"{spot.handle.target}.old"
    return _state(
        "dead_link",
        spot.handle,
        spot.handle.path,
        _point(spot.handle.path, dead),
        _point(spot.handle.path, spot.handle.target),
        dead,
        [spot.handle.target],
    )


def turn_link(spot: OperatorInput) -> Fault | None:
    """A link to something that exists and is not it: an earlier release, say."""
    if not isinstance(spot.handle, Symlink) or not spot.handle.other:
        return None
    scripts = (
        _point(spot.handle.path, spot.handle.other),
        _point(spot.handle.path, spot.handle.target),
    )
    return _state(
        "stale_link",
        spot.handle,
        spot.handle.path,
        *scripts,
        spot.handle.other,
        [spot.handle.target],
    )


def lose_link(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, Symlink):
        return None
    broken, mended = (
        f"rm {quote(spot.handle.path)}",
        f"ln -s {quote(spot.handle.target)} {quote(spot.handle.path)}",
    )
    return _state(
        "missing_link", spot.handle, spot.handle.path, broken, mended, "", [spot.handle.target]
    )


def leak_lock(spot: OperatorInput) -> Fault | None:
    """A lock whose owner died and left it."""
    if not isinstance(spot.handle, Lock):
        return None
    return _state(
        "leaked_lock",
        spot.handle,
        spot.handle.path,
        f"touch {quote(spot.handle.path)}",
        f"rm -f {quote(spot.handle.path)}",
        "",
        [],
    )


def leave_pid(spot: OperatorInput) -> Fault | None:
    """A pid file of a process that is gone."""
    if not isinstance(spot.handle, Lock):
        return None
    broken = f"echo {quote(spot.handle.content)} > {quote(spot.handle.path)}"
    return _state(
        "stale_pid",
        spot.handle,
        spot.handle.path,
        broken,
        f"rm -f {quote(spot.handle.path)}",
        spot.handle.content,
        [],
    )


def fill_quota(spot: OperatorInput) -> Fault | None:
    """A spool full of what nobody will fetch."""
    if not isinstance(spot.handle, Spool):
        return None
    folder, ending = quote(spot.handle.path), quote(spot.handle.suffix)
    owner = owner_of(spot.healthy, spot.handle.path)
    broken = (
        f"for n in $(seq {spot.handle.limit}); do echo left > {folder}/old-$n{ending}; chown "
        f"{owner} {folder}/old-$n{ending}; done"
    )
    return _state(
        "full_quota",
        spot.handle,
        spot.handle.path,
        broken,
        f"rm -f {folder}/old-*{ending}",
        "",
        [spot.handle.suffix],
    )


def corrupt_row(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, DatabaseRow):
        return None
    change = f"UPDATE {spot.handle.table} SET {spot.handle.column} = %s WHERE {spot.handle.where}"
    scripts = (
        _query(spot.handle, change % spot.handle.wrong),
        _query(spot.handle, change % spot.handle.value),
    )
    return _state(
        "corrupt_row",
        spot.handle,
        spot.handle.file,
        *scripts,
        spot.handle.wrong.strip("'"),
        [spot.handle.value.strip("'"), *spot.handle.facts],
    )


def lose_row(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, DatabaseRow) or not spot.handle.row:
        return None
    broken = _query(spot.handle, f"DELETE FROM {spot.handle.table} WHERE {spot.handle.where}")
    mended = _query(spot.handle, f"INSERT INTO {spot.handle.table} VALUES ({spot.handle.row})")
    return _state(
        "missing_row",
        spot.handle,
        spot.handle.file,
        broken,
        mended,
        "",
        [spot.handle.value.strip("'"), *spot.handle.facts],
    )


def lock_database(spot: OperatorInput) -> Fault | None:
    """A database that only its administrator may write."""
    if not isinstance(spot.handle, DatabaseRow):
        return None
    right = mode_of(spot.healthy, spot.handle.file)
    broken, mended = (
        f"chown root:root {quote(spot.handle.file)}\nchmod 600 {quote(spot.handle.file)}",
        f"chmod {right} {quote(spot.handle.file)}",
    )
    owner = owner_of(spot.healthy, spot.handle.file)
    named = sorted(set(owner.split(":")) - {"root"})
    return _state(
        "locked_database",
        spot.handle,
        spot.handle.file,
        broken,
        f"chown {owner} {quote(spot.handle.file)}\n{mended}",
        "600",
        named,
    )


def turn_branch(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, GitBranch):
        return None
    head = f"{spot.handle.path}/HEAD"
    right, wrong = f"refs/heads/{spot.handle.value}", f"refs/heads/{spot.handle.wrong}"
    scripts = substitute(head, right, wrong), substitute(head, wrong, right)
    return _state(
        "wrong_branch", spot.handle, head, *scripts, spot.handle.wrong, [spot.handle.value]
    )


def _point(path: str, target: str) -> str:
    return f"ln -sfn {quote(target)} {quote(path)}"


def _query(handle: DatabaseRow, statement: str) -> str:
    return f"sqlite3 {quote(handle.file)} {quote(statement)}"


def _state(
    operator: str, handle: Handle, path: str, broken: str, mended: str, wrong: str, right: list[str]
) -> Fault:
    return Fault(
        operator=operator,
        handle=handle.name,
        places=[path],
        break_script=broken,
        mend_script=mended,
        wrong=wrong,
        right=right,
    )
