"""World `permissions`: a group's folder, keys that all can read, tools that nobody can run, pages that all can write."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    home, things = spot.home, spot.pick("things", 8)
    shared = {f"{home}/shared/{name}.txt": f"{name}: 1\n" for name in things[:3]}
    keys = {f"{home}/keys/{name}.key": f"key of the {name}\n" for name in things[3:5]}
    tools = {f"{home}/tools/{name}.sh": f"#!/bin/sh\necho {name}\n" for name in things[5:7]} | {f"{home}/tools/README": "Tools.\n"}
    pages = {f"{home}/pages/{name}.html": f"<p>{name}</p>\n" for name in sorted(spot.pick("nouns", 4))}
    opened = sorted(spot.dice.sample(list(pages), 2))
    group = f"{spot.folder}-crew"
    values = {
        "home": home, "group": group, "shared": shared, "keys": keys, "tools": tools, "pages": pages,
        "opened": opened, "programs": sorted(each for each in tools if each.endswith(".sh")),
        "to_shared": f"{home}/shared", "to_keys": f"{home}/keys", "to_tools": f"{home}/tools", "to_pages": f"{home}/pages",
        "to_opened": f"{home}/opened.txt",
    }  # fmt: skip
    runs = (f"groupadd -r {group}", f"chmod 666 {' '.join(opened)}", f"chmod 644 {home}/keys/*")
    first = "There is a group @group@. All files are root:root; keys have mode 644, tools 644, and these pages 666: @opened@."
    return World(values, _DEEDS, shared | keys | tools | pages, runs, first, _INITIAL)


_INITIAL = """
def test_modes_and_group():
    assert run("getent", "group", @group@)[0] == 0, "there is no such group"
    assert oct(Path(@opened@[0]).stat().st_mode)[-3:] == "666", "the page is not open to all"
"""


def _contents(name: str) -> str:
    return f'    for path, text in @{name}@.items():\n        assert read(path) == text, f"{{path}} holds something else"\n'


_DEEDS = (
    Deed(
        "group", "Everybody of the group @group@ is to work in @to_shared@: the folder belongs to root and that group, the group may write there, others may not look in, and what is made there belongs to the group by itself. The files in it belong to the group too, and it may write them.",
        "@to_shared@ is root:@group@ with mode 2770, its files are of the group and have g+rw.", ("@to_shared@",),
        "def test_the_group_has_its_folder():\n    folder = Path(@to_shared@)\n    assert folder.group() == @group@ and folder.owner() == 'root', 'it belongs to somebody else'\n    assert oct(folder.stat().st_mode)[-4:] == '2770', 'its mode is another'\n    for path in @shared@:\n        assert Path(path).group() == @group@ and Path(path).stat().st_mode & 0o060 == 0o060, f'{path} is not the group\\'s'\n" + _contents("shared"),
        ("chgrp -R @group@ @to_shared@", "chmod 2770 @to_shared@; chmod g+rw @to_shared@/*"),
    ),
    Deed(
        "keys", "The files in @to_keys@ are secret: root alone may read and write them, and nobody else may enter the folder.",
        "@to_keys@ has mode 700, its files 600.", ("@to_keys@",),
        "def test_keys_are_secret():\n    assert oct(Path(@to_keys@).stat().st_mode)[-3:] == '700', 'others may enter'\n    for path in @keys@:\n        assert oct(Path(path).stat().st_mode)[-3:] == '600', f'{path} is not secret'\n" + _contents("keys"),
        ("chmod 700 @to_keys@", "chmod 600 @to_keys@/*"),
    ),
    Deed(
        "tools", "Everybody may run the shell scripts (`*.sh`) in @to_tools@, and only root may change them: mode 755. The other files there are no programs.",
        "The scripts in @to_tools@ have mode 755, README 644.", ("@to_tools@",),
        "def test_scripts_run_and_nothing_else_does():\n    for path in @tools@:\n        wanted = '755' if path in @programs@ else '644'\n        assert oct(Path(path).stat().st_mode)[-3:] == wanted, f'{path} has another mode'\n" + _contents("tools"),
        ("chmod 755 @to_tools@/*.sh",),
    ),
    Deed(
        "pages", "Some pages in @to_pages@ can be written by everybody. List their absolute paths in @to_opened@, one a line, sorted; then take the right to write away from group and others.",
        "@to_opened@ lists @opened@; all pages have mode 644.", ("@to_pages@", "@to_opened@"),
        "def test_open_pages_are_listed():\n    assert read(@to_opened@).split() == @opened@, 'the list is another'\n\n\ndef test_pages_are_closed():\n    for path in @pages@:\n        assert oct(Path(path).stat().st_mode)[-3:] == '644', f'{path} has another mode'\n" + _contents("pages"),
        ("find @to_pages@ -type f -perm -o+w | LC_ALL=C sort >@to_opened@", "chmod go-w @to_pages@/*"),
    ),
)  # fmt: skip
