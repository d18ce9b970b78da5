"""Whether cron would run the report at its time, and whether the report then comes out whole."""

import os
import pwd
from pathlib import Path

from probing import Bad, Values, must_run, probe, read, report, want, want_closed


def find_entry(v: Values) -> tuple[str, str, str]:
    """Schedule, user and command that cron takes from the table; it ignores what a stranger may write and a line without an end."""
    table = f"/etc/cron.d/{v['job']}"
    seen = Path(table).stat()
    want(seen.st_uid == 0 and not seen.st_mode & 0o022, "cron does not trust its table")
    text = read(table)
    want(text.endswith("\n"), "cron ignores the last line of its table")
    rows = [line.split(None, 6) for line in text.splitlines() if line[:1].isdigit() or line[:1] == "*"]
    want(len(rows) == 1 and len(rows[0]) == 7, "cron finds no job in its table")
    return " ".join(rows[0][:5]), rows[0][5], rows[0][6]


@probe
def planned(v: Values) -> None:
    schedule, user, command = find_entry(v)
    want(schedule == f"{v['minute']} {v['hour']} * * *", "the job is not planned for its time every night")
    try:
        pwd.getpwnam(user)
    except KeyError as error:
        raise Bad("the job is planned for nobody that exists") from error
    want(os.access(command, os.X_OK), "what is planned cannot be run")
    want_closed(f"/etc/cron.d/{v['job']}", "root:root", "644")


@probe
def made(v: Values) -> None:
    _, user, command = find_entry(v)
    result = Path(f"/var/lib/{v['job']}/latest.txt")
    result.unlink(missing_ok=True)
    must_run("/bin/sh", "-c", command, user=user)
    want(result.is_file(), "no report was written")
    want(user == v["user"], f"the report is made by {user}")
    want_closed(f"/usr/local/bin/{v['job']}", "root:root", "755")
    want_closed(f"/var/lib/{v['job']}", f"{v['user']}:{v['user']}", "750")


@probe
def content(v: Values) -> None:
    must_run(f"/usr/local/bin/{v['job']}", user=v["user"])
    lines = read(f"/var/lib/{v['job']}/latest.txt").splitlines()
    want(lines == [f"{v['town'][0]} 40", "A 12", "total 52"], f"the report says {lines}")
    want_closed(f"/srv/{v['job']}/shops.csv", "root:root", "644")


report()
