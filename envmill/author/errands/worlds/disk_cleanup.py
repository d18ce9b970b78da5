"""World `disk_cleanup`: backups of many days, half-written files, dead links, empty files."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home, things = spot.dice, spot.home, spot.pick("things", 8)
    backups = {f"{home}/backups/{spot.folder}-2026-02-{day:02}.tar": f"backup of {day}\n" for day in sorted(dice.sample(range(1, 28), 7))}
    spool = {f"{home}/spool/{name}": f"{name}\n" for name in (f"{things[0]}.txt", f"{things[1]}.tmp", f"a {things[2]}.tmp", f"below/{things[3]}.tmp", "below/tmp")}  # fmt: skip
    inbox = {f"{home}/inbox/{name}.msg": (f"about the {name}\n" if place % 2 else "") for place, name in enumerate(things[2:])}
    sizes = {f"{home}/media/{name}.dat": "x" * dice.randint(100, 900) * (place + 1) for place, name in enumerate(things[:5])}
    keep, links = sorted(backups)[-3:], [f"{home}/links/{name}" for name in things[:4]]
    values = {
        "home": home, "folder": spot.folder, "backups": f"{home}/backups", "spool": f"{home}/spool", "inbox": f"{home}/inbox", "links": f"{home}/links",
        "kept": {path: text for path, text in backups.items() if path in keep}, "keep": {p: t for p, t in spool.items() if not p.endswith(".tmp")},
        "full": {path: text for path, text in inbox.items() if text}, "empty": sorted(path for path, text in inbox.items() if not text),
        "to_empty": f"{home}/empty.txt", "alive": {links[0]: keep[0], links[2]: f"{home}/inbox"}, "dead": [links[1], links[3]],
        "to_largest": f"{home}/largest.txt", "media": f"{home}/media",
        "largest": [path.rsplit("/", 1)[1] for path in sorted(sizes, key=lambda path: (-len(sizes[path]), path))][:3],
    }  # fmt: skip
    made = [f"ln -s {target} {link}" for link, target in zip(links, [keep[0], f"{home}/gone/1", f"{home}/inbox", "nowhere"], strict=True)]
    first = "@links@ has links, of which @dead@ lead nowhere."
    return World(values, _DEEDS, backups | spool | inbox | sizes, (f"mkdir -p {home}/links && {' && '.join(made)}",), first, _INITIAL)


_INITIAL = """
def test_links():
    assert all(Path(each).is_symlink() for each in [*@alive@, *@dead@]), "a link is not there"
"""
_LEFT = """    left = {str(each): read(each) for each in Path(@%s@).rglob("*") if each.is_file()}
    assert left == @%s@, "other files are left"
"""

_DEEDS = (
    Deed(
        "backups", "Of the backups in @backups@ (their names end with the day) keep the three latest, and delete the others.",
        "@backups@ holds the three latest.", ("@backups@",), "def test_latest_backups_are_left():\n" + _LEFT % ("backups", "kept"),
        ("ls @backups@/*.tar | sort | head -n -3 | xargs rm",),
    ),
    Deed(
        "spool", "Files ending with `.tmp` in @spool@, in folders below as well, were never finished: delete them. Some have blanks in their names.",
        "@spool@ holds no *.tmp.", ("@spool@",), "def test_unfinished_files_are_gone():\n" + _LEFT % ("spool", "keep") + "    assert Path(@spool@ + '/below').is_dir(), 'a folder is gone'",
        ("find @spool@ -name '*.tmp' -type f -delete",),
    ),
    Deed(
        "inbox", "Some messages in @inbox@ are empty. Write their absolute paths to @to_empty@, one a line, sorted, and delete them.",
        "@to_empty@ lists @empty@; they are gone.", ("@inbox@", "@to_empty@"),
        "def test_empty_messages_are_listed():\n    assert read(@to_empty@).split() == @empty@, 'the list is another'\n\n\ndef test_empty_messages_are_gone():\n" + _LEFT % ("inbox", "full"),
        ("find @inbox@ -type f -empty | LC_ALL=C sort >@to_empty@", "find @inbox@ -type f -empty -delete"),
    ),
    Deed(
        "links", "Delete the links in @links@ that lead nowhere, and no others.",
        "@links@ holds only links that lead somewhere.", ("@links@",),
        "def test_dead_links_are_gone():\n    left = {str(each): str(each.readlink()) for each in Path(@links@).iterdir()}\n    assert left == @alive@, 'other links are left'",
        ("find @links@ -xtype l -delete",),
    ),
    Deed(
        "largest", "Which are the three largest files in @media@? Write their names (without the folder) to @to_largest@, one a line, the largest first.",
        "@to_largest@ has the lines @largest@.", ("@to_largest@",),
        "def test_largest_files():\n    assert read(@to_largest@).split() == @largest@, 'the files are others'",
        ("ls -S @media@ | head -3 >@to_largest@",),
    ),
)  # fmt: skip
