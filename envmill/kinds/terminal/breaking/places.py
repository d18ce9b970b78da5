"""Faults of files and directories: who owns them, who may use them, whether they are there, what
they are written in."""

from envmill.kinds.terminal.breaking.base import OperatorInput, edit, make_directory
from envmill.sandbox.machines.healthy import Healthy, is_directory, mode_of, owner_of, quote
from schemas.system import Fault, OwnedPath


def give_away(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, OwnedPath) or not spot.handle.wrong_owner:
        return None
    path, right = quote(spot.handle.path), owner_of(spot.healthy, spot.handle.path)
    return _state(
        "wrong_owner",
        spot.handle,
        f"chown {spot.handle.wrong_owner} {path}",
        f"chown {right} {path}",
        spot.handle.wrong_owner,
        _name(right),
    )


def shut(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, OwnedPath) or not spot.handle.wrong_mode:
        return None
    path, right = quote(spot.handle.path), mode_of(spot.healthy, spot.handle.path)
    return _state(
        "wrong_mode",
        spot.handle,
        f"chmod {spot.handle.wrong_mode} {path}",
        f"chmod {right} {path}",
        spot.handle.wrong_mode,
        spot.handle.facts,
    )


def disarm(spot: OperatorInput) -> Fault | None:
    """A program without its execute bits."""
    if (
        not isinstance(spot.handle, OwnedPath)
        or spot.handle.kind != "file"
        or not int(mode_of(spot.healthy, spot.handle.path), 8) & 0o111
    ):
        return None
    path, right = quote(spot.handle.path), mode_of(spot.healthy, spot.handle.path)
    return _state(
        "not_executable", spot.handle, f"chmod a-x {path}", f"chmod {right} {path}", "", []
    )


def remove_directory(spot: OperatorInput) -> Fault | None:
    """An empty directory that something writes to."""
    if (
        not isinstance(spot.handle, OwnedPath)
        or spot.handle.kind != "directory"
        or spot.handle.path not in spot.healthy.system.directories
    ):
        return None
    owner = owner_of(spot.healthy, spot.handle.path)
    mended = make_directory(spot.handle.path, owner, mode_of(spot.healthy, spot.handle.path))
    right = [*_name(owner), *spot.handle.facts]
    return _state(
        "missing_directory",
        spot.handle,
        f"find {quote(spot.handle.path)} -mindepth 1 -delete\nrmdir {quote(spot.handle.path)}",
        mended,
        "",
        right,
    )


def put_file_in_place(spot: OperatorInput) -> Fault | None:
    """A file under the name of a directory: `mkdir -p` fails, and so does every write below it."""
    gone = remove_directory(spot)
    if gone is None:
        return None
    path = quote(spot.handle.path) if isinstance(spot.handle, OwnedPath) else ""
    scripts = {
        "break_script": f"{gone.break_script}\ntouch {path}",
        "mend_script": f"rm {path}\n{gone.mend_script}",
    }
    return gone.model_copy(update={"operator": "file_for_directory", **scripts})


def lose_file(spot: OperatorInput) -> Fault | None:
    if not isinstance(spot.handle, OwnedPath) or not _has_copy(spot.healthy, spot.handle):
        return None
    path, owner, mode = (
        quote(spot.handle.path),
        owner_of(spot.healthy, spot.handle.path),
        mode_of(spot.healthy, spot.handle.path),
    )
    mended = f"cp {quote(spot.handle.copy_of)} {path}\nchown {owner} {path}\nchmod {mode} {path}"
    return _state("missing_file", spot.handle, f"rm {path}", mended, "", [spot.handle.copy_of])


def cut_file(spot: OperatorInput) -> Fault | None:
    """Half of it, as a full disk leaves it."""
    if not isinstance(spot.handle, OwnedPath) or not _has_copy(spot.healthy, spot.handle):
        return None
    half = len(spot.healthy.files[spot.handle.path]) // 2
    mended = f"cat {quote(spot.handle.copy_of)} > {quote(spot.handle.path)}"
    return _state(
        "truncated_file",
        spot.handle,
        f"truncate -s {half} {quote(spot.handle.path)}",
        mended,
        "",
        [spot.handle.copy_of],
    )


def recode(spot: OperatorInput) -> Fault | None:
    """Latin-1 where UTF-8 is read; only text with other letters than ASCII's shows it."""
    if (
        not isinstance(spot.handle, OwnedPath)
        or spot.handle.kind != "file"
        or spot.healthy.files[spot.handle.path].isascii()
    ):
        return None
    return _state(
        "bad_encoding",
        spot.handle,
        _convert(spot.handle.path, "UTF-8", "LATIN1"),
        _convert(spot.handle.path, "LATIN1", "UTF-8"),
        "",
        spot.handle.facts,
    )


def return_carriages(spot: OperatorInput) -> Fault | None:
    """Lines that end as on Windows."""
    if not isinstance(spot.handle, OwnedPath) or spot.handle.kind != "file":
        return None
    return _state(
        "carriage_returns",
        spot.handle,
        edit(spot.handle.path, "s|$|\\r|"),
        edit(spot.handle.path, "s|\\r$||"),
        "",
        [],
    )


def unend(spot: OperatorInput) -> Fault | None:
    """The last line feed is gone; cron ignores such a line."""
    if (
        not isinstance(spot.handle, OwnedPath)
        or spot.handle.kind != "file"
        or not spot.healthy.files[spot.handle.path].endswith(b"\n")
    ):
        return None
    return _state(
        "unended_line",
        spot.handle,
        f"truncate -s -1 {quote(spot.handle.path)}",
        f"echo >> {quote(spot.handle.path)}",
        "",
        [],
    )


def leave_stray(spot: OperatorInput) -> Fault | None:
    """A file that somebody left in a directory of which everything is read."""
    if (
        not isinstance(spot.handle, OwnedPath)
        or not spot.handle.stray
        or is_directory(spot.healthy, spot.handle.path)
        or spot.handle.path in spot.healthy.files
    ):
        return None
    return _state(
        "stray_file",
        spot.handle,
        f"printf '%s\\n' {quote(spot.handle.stray)} > {quote(spot.handle.path)}",
        f"rm {quote(spot.handle.path)}",
        "",
        [],
    )


def _has_copy(healthy: Healthy, handle: OwnedPath) -> bool:
    return handle.kind == "file" and healthy.files.get(handle.copy_of) == healthy.files.get(
        handle.path, b""
    )


def _convert(path: str, old: str, new: str) -> str:
    spare = quote(f"/tmp/{path.rsplit('/', 1)[1]}.recoded")
    return (
        f"iconv -f {old} -t {new} {quote(path)} > {spare}\ncat {spare} > {quote(path)}\nrm {spare}"
    )


def _name(owner: str) -> list[str]:
    """Whom an administrator has to know; root is nobody to look up."""
    return sorted(set(owner.split(":")) - {"root"})


def _state(
    operator: str, handle: OwnedPath, broken: str, mended: str, wrong: str, right: list[str]
) -> Fault:
    return Fault(
        operator=operator,
        handle=handle.name,
        places=[handle.path],
        break_script=broken,
        mend_script=mended,
        wrong=wrong,
        right=right,
    )
