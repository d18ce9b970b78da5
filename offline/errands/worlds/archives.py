"""World `archives`: papers to pack, an old archive to look into, a long log."""

import hashlib

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    home, things = spot.home, sorted(spot.pick("things", 7))
    papers = {
        f"papers/{name}.txt": f"On the {name}.\n{spot.dice.randint(1000, 9999)}\n"
        for name in things[:4]
    }
    old = {f"old/{name}.txt": f"Once there was a {name}.\n" for name in things[4:]}
    year = "".join(f"2026-01-{day:02} {spot.dice.choice(things)}\n" for day in range(1, 29))
    values: dict[str, Json] = {
        "home": home,
        "papers": papers,
        "old": sorted(old),
        "member": sorted(old)[1],
        "text": old[sorted(old)[1]],
        "year": year,
        "sums": {hashlib.sha256(text.encode()).hexdigest(): name for name, text in papers.items()},
        "to_pack": f"{home}/papers.tar.gz",
        "to_sums": f"{home}/SHA256SUMS",
        "to_member": f"{home}/found.txt",
        "to_list": f"{home}/old.list",
        "archive": f"{home}/old.tar.gz",
        "to_year": f"{home}/year.log.xz",
        "log": f"{home}/year.log",
    }
    files = {f"{home}/{name}": text for name, text in (papers | old).items()} | {
        f"{home}/year.log": year
    }
    runs = (f"cd {home} && tar --sort=name --mtime=@0 -czf old.tar.gz old && rm -r old",)
    first = (
        f"{home}/old.tar.gz holds the folder old with @old@; that folder itself is not there any "
        "more."
    )
    return ErrandWorld(
        values, files, runs, first, _INITIAL, gone=tuple(f"{home}/{name}" for name in old)
    )


_INITIAL = """
def test_old_archive():
    assert run("tar", "-tzf", @archive@)[1].split() == ["old/", *@old@], "the archive holds something else"
"""
