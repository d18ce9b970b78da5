"""Faults of files and directories: who owns them, who may use them, whether they are there, what they are written in."""

import random

from envmill.drafting.breaking.base import edit, is_directory, make_directory, mode_of, owner_of, quote
from envmill.drafting.breaking.systems import Healthy
from schemas.system import Fault, Handle, Place


def give_away(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Place) or not handle.wrong_owner:
        return None
    path, right = quote(handle.path), owner_of(healthy, handle.path)
    return _state("wrong_owner", handle, f"chown {handle.wrong_owner} {path}", f"chown {right} {path}", handle.wrong_owner, _name(right))


def shut(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Place) or not handle.wrong_mode:
        return None
    path, right = quote(handle.path), mode_of(healthy, handle.path)
    return _state("wrong_mode", handle, f"chmod {handle.wrong_mode} {path}", f"chmod {right} {path}", handle.wrong_mode, handle.facts)


def disarm(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A program without its execute bits."""
    if not isinstance(handle, Place) or handle.kind != "file" or not int(mode_of(healthy, handle.path), 8) & 0o111:
        return None
    path, right = quote(handle.path), mode_of(healthy, handle.path)
    return _state("not_executable", handle, f"chmod a-x {path}", f"chmod {right} {path}", "", [])


def remove_directory(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """An empty directory that something writes to."""
    if not isinstance(handle, Place) or handle.kind != "directory" or handle.path not in healthy.system.directories:
        return None
    owner = owner_of(healthy, handle.path)
    mended = make_directory(handle.path, owner, mode_of(healthy, handle.path))
    right = [*_name(owner), *handle.facts]
    return _state(
        "missing_directory", handle, f"find {quote(handle.path)} -mindepth 1 -delete\nrmdir {quote(handle.path)}", mended, "", right
    )


def put_file_in_place(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A file under the name of a directory: `mkdir -p` fails, and so does every write below it."""
    gone = remove_directory(healthy, handle, dice)
    if gone is None:
        return None
    path = quote(handle.path) if isinstance(handle, Place) else ""
    scripts = {"break_script": f"{gone.break_script}\ntouch {path}", "mend_script": f"rm {path}\n{gone.mend_script}"}
    return gone.model_copy(update={"operator": "file_for_directory", **scripts})


def lose_file(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Place) or not _has_copy(healthy, handle):
        return None
    path = quote(handle.path)
    mended = (
        f"cp {quote(handle.copy_of)} {path}\nchown {owner_of(healthy, handle.path)} {path}\nchmod {mode_of(healthy, handle.path)} {path}"
    )
    return _state("missing_file", handle, f"rm {path}", mended, "", [handle.copy_of])


def cut_file(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """Half of it, as a full disk leaves it."""
    if not isinstance(handle, Place) or not _has_copy(healthy, handle):
        return None
    half = len(healthy.files[handle.path]) // 2
    mended = f"cat {quote(handle.copy_of)} > {quote(handle.path)}"
    return _state("truncated_file", handle, f"truncate -s {half} {quote(handle.path)}", mended, "", [handle.copy_of])


def recode(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """Latin-1 where UTF-8 is read; only text with other letters than ASCII's shows it."""
    if not isinstance(handle, Place) or handle.kind != "file" or healthy.files[handle.path].isascii():
        return None
    return _state(
        "bad_encoding", handle, _convert(handle.path, "UTF-8", "LATIN1"), _convert(handle.path, "LATIN1", "UTF-8"), "", handle.facts
    )


def return_carriages(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """Lines that end as on Windows."""
    if not isinstance(handle, Place) or handle.kind != "file":
        return None
    return _state("carriage_returns", handle, edit(handle.path, "s|$|\\r|"), edit(handle.path, "s|\\r$||"), "", [])


def unend(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """The last line feed is gone; cron ignores such a line."""
    if not isinstance(handle, Place) or handle.kind != "file" or not healthy.files[handle.path].endswith(b"\n"):
        return None
    return _state("unended_line", handle, f"truncate -s -1 {quote(handle.path)}", f"echo >> {quote(handle.path)}", "", [])


def leave_stray(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A file that somebody left in a directory of which everything is read."""
    if not isinstance(handle, Place) or not handle.stray or is_directory(healthy, handle.path) or handle.path in healthy.files:
        return None
    return _state("stray_file", handle, f"printf '%s\\n' {quote(handle.stray)} > {quote(handle.path)}", f"rm {quote(handle.path)}", "", [])


def _has_copy(healthy: Healthy, handle: Place) -> bool:
    return handle.kind == "file" and healthy.files.get(handle.copy_of) == healthy.files.get(handle.path, b"")


def _convert(path: str, old: str, new: str) -> str:
    spare = quote(f"/tmp/{path.rsplit('/', 1)[1]}.recoded")
    return f"iconv -f {old} -t {new} {quote(path)} > {spare}\ncat {spare} > {quote(path)}\nrm {spare}"


def _name(owner: str) -> list[str]:
    """Whom an administrator has to know; root is nobody to look up."""
    return sorted(set(owner.split(":")) - {"root"})


def _state(operator: str, handle: Place, broken: str, mended: str, wrong: str, right: list[str]) -> Fault:
    return Fault(
        operator=operator, handle=handle.name, places=[handle.path], break_script=broken, mend_script=mended, wrong=wrong, right=right
    )
