"""What logrotate would do with a log that has grown: a rehearsal, which changes nothing."""

import grp
import os
import re
from pathlib import Path

from probing import Bad, Values, probe, report, run, want, want_closed


def rehearse(v: Values, size: int = 1_000_000) -> str:
    """The log is made as large as it may become, and put back."""
    log = Path(f"/var/log/{v['app']}/{v['app']}.log")
    before = log.read_bytes()
    with log.open("r+b") as file:
        file.truncate(size)
    try:
        code, said = run("/usr/sbin/logrotate", "-d", "-s", "/tmp/no-such-state", "/etc/logrotate.conf")
    finally:
        log.write_bytes(before)
    want(code == 0, f"logrotate ends with {code}")
    return said


@probe
def settings(v: Values) -> None:
    said = rehearse(v)
    trouble = [line for line in said.splitlines() if line.startswith("error:") and v["app"] in line]
    want(not trouble, "; ".join(trouble))


@probe
def covers(v: Values) -> None:
    rotating = f"rotating log /var/log/{v['app']}/{v['app']}.log"
    want(rotating in rehearse(v), "a log of a million bytes would not be rotated")
    size = int(v["size"].rstrip("k")) << 10
    seen = [rotating in rehearse(v, each) for each in (size - 1, size + 1)]
    want(seen == [False, True], f"a log is not rotated from {v['size']} on, but from less or more")
    want_closed(f"/etc/logrotate.d/{v['app']}", "root:root", "644")
    want_closed("/etc/logrotate.conf", "root:root", "644")


@probe
def keeps(v: Values) -> None:
    said = rehearse(v)
    found = re.search(rf"/var/log/{v['app']}/{v['app']}\.log, log->rotateCount is (\d+)", said)
    want(found and found[1] == v["keep"], f"{found[1] if found else 'no'} rotated logs would be kept")


@probe
def moved(v: Values) -> None:
    said = rehearse(v)
    want(f"to /var/log/{v['app']}/archive/{v['app']}.log.1" in said, "rotated logs would not go to the archive")
    want_closed(f"/var/log/{v['app']}/archive", f"root:{v['app']}", "755")


@probe
def renewed(v: Values) -> None:
    found = re.search(r"creating new \S+ mode = 0?(\d+) uid = (\d+) gid = (\d+)", rehearse(v))
    if not found:
        raise Bad("no new log would be made")
    group = grp.getgrgid(int(found[3])).gr_name
    want((found[1], group) == ("660", v["app"]), f"the new log would have mode {found[1]} and group {group}")
    want(os.access(f"/var/log/{v['app']}", os.X_OK), "the folder of logs cannot be entered")
    want_closed(f"/var/log/{v['app']}", f"root:{v['app']}", "755")


report()
