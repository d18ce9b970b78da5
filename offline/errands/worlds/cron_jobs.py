"""World `cron_jobs`: a table of the system's scheduler with three entries, and scripts."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, word = spot.dice, spot.folder
    table, home = f"/etc/cron.d/{word}", spot.home
    old, new = (f"{dice.randrange(2, 58)} {hour}" for hour in dice.sample(range(1, 6), 2))
    entries = [
        f"{old} * * * root /usr/local/bin/{word}-backup",
        f"*/15 * * * * nobody /usr/local/bin/{word}-report",
        f"30 7 * * 1 root /usr/local/bin/{word}-mail",
    ]
    values: dict[str, Json] = {
        "table": table,
        "word": word,
        "old": old,
        "new": new,
        "hour": f"{int(new.split()[1]):02}:{int(new.split()[0]):02}",
        "entries": entries,
        "moved": f"{new} * * 1-5 root /usr/local/bin/{word}-backup",
        "backup": f"/usr/local/bin/{word}-backup",
        "mail": f"/usr/local/bin/{word}-mail",
        "report": entries[1],
        "clean_table": f"/etc/cron.d/{word}-clean",
        "clean": ["45", "23", "*", "*", "6", "nobody", f"/usr/local/bin/{word}-clean"],
        "count": f"/usr/local/bin/{word}-count",
        "inbox": f"{home}/inbox",
        "quiet": 'MAILTO=""',
    }
    files = {
        table: "\n".join(["SHELL=/bin/sh", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *entries, ""])
    }
    files |= {
        f"/usr/local/bin/{word}-{name}": f"#!/bin/sh\necho {name}\n"
        for name in ("backup", "report", "mail", "clean")
    }
    files |= {f"{home}/inbox/{thing}.txt": "new\n" for thing in spot.pick("things", 4)}
    return ErrandWorld(
        values,
        files,
        (f"chmod 755 /usr/local/bin/{word}-*",),
        "The scripts are executable.",
        _INITIAL,
    )


_INITIAL = """
def list_entries(path):
    lines = [line.strip() for line in read(path).splitlines()]
    return [line.split(None, 6) for line in lines if re.match(r"[\\d*]", line)]


def list_days(told):
    '''Days of the week by number, however they are spelled.'''
    names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    days = set()
    for part in re.sub("[a-z]{3}", lambda found: str(names.index(found[0])), told.lower()).split(","):
        span, _, step = part.partition("/")
        first, _, last = span.replace("*", "0-6").partition("-")
        days |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return sorted({day % 7 for day in days})


def test_scripts_run():
    assert run(@backup@) == (0, "backup\\n"), "the script does not run"
"""
