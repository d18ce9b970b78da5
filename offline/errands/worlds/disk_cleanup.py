"""World `disk_cleanup`: backups of many days, half-written files, dead links, empty files."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, home, things = spot.dice, spot.home, spot.pick("things", 8)
    backups = {
        f"{home}/backups/{spot.folder}-2026-02-{day:02}.tar": f"backup of {day}\n"
        for day in sorted(dice.sample(range(1, 28), 7))
    }
    spool = {
        f"{home}/spool/{name}": f"{name}\n"
        for name in (
            f"{things[0]}.txt",
            f"{things[1]}.tmp",
            f"a {things[2]}.tmp",
            f"below/{things[3]}.tmp",
            "below/tmp",
        )
    }
    inbox = {
        f"{home}/inbox/{name}.msg": (f"about the {name}\n" if place % 2 else "")
        for place, name in enumerate(things[2:])
    }
    lengths = dice.sample(
        range(100, 4000), 5
    )  # none twice: of two alike nobody could say which is larger
    sizes = {
        f"{home}/media/{name}.dat": "x" * length
        for name, length in zip(things, lengths, strict=False)
    }
    keep, links = sorted(backups)[-3:], [f"{home}/links/{name}" for name in things[:4]]
    values: dict[str, Json] = {
        "home": home,
        "folder": spot.folder,
        "backups": f"{home}/backups",
        "spool": f"{home}/spool",
        "inbox": f"{home}/inbox",
        "links": f"{home}/links",
        "kept": {path: text for path, text in backups.items() if path in keep},
        "keep": {p: t for p, t in spool.items() if not p.endswith(".tmp")},
        "full": {path: text for path, text in inbox.items() if text},
        "empty": sorted(path for path, text in inbox.items() if not text),
        "to_empty": f"{home}/empty.txt",
        "alive": {links[0]: keep[0], links[2]: f"{home}/inbox"},
        "dead": [links[1], links[3]],
        "to_largest": f"{home}/largest.txt",
        "media": f"{home}/media",
        "largest": [
            path.rsplit("/", 1)[1]
            for path in sorted(sizes, key=lambda path: (-len(sizes[path]), path))
        ][:3],
    }
    made = [
        f"ln -s {target} {link}"
        for link, target in zip(
            links, [keep[0], f"{home}/gone/1", f"{home}/inbox", "nowhere"], strict=True
        )
    ]
    first = "@links@ has links, of which @dead@ lead nowhere."
    return ErrandWorld(
        values,
        backups | spool | inbox | sizes,
        (f"mkdir -p {home}/links && {' && '.join(made)}",),
        first,
        _INITIAL,
    )


_INITIAL = """
def test_links():
    assert all(Path(each).is_symlink() for each in [*@alive@, *@dead@]), "a link is not there"
"""
