"""World `permissions`: a group's folder, keys that all can read, tools that nobody can run, pages
that all can write."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    home, things = spot.home, spot.pick("things", 8)
    shared = {f"{home}/shared/{name}.txt": f"{name}: 1\n" for name in things[:3]}
    keys = {f"{home}/keys/{name}.key": f"key of the {name}\n" for name in things[3:5]}
    tools = {f"{home}/tools/{name}.sh": f"#!/bin/sh\necho {name}\n" for name in things[5:7]} | {
        f"{home}/tools/README": "Tools.\n"
    }
    pages = {
        f"{home}/pages/{name}.html": f"<p>{name}</p>\n" for name in sorted(spot.pick("nouns", 4))
    }
    opened = sorted(spot.dice.sample(list(pages), 2))
    group = f"{spot.folder}-crew"
    values: dict[str, Json] = {
        "home": home,
        "group": group,
        "shared": shared,
        "keys": keys,
        "tools": tools,
        "pages": pages,
        "opened": opened,
        "programs": sorted(each for each in tools if each.endswith(".sh")),
        "to_shared": f"{home}/shared",
        "to_keys": f"{home}/keys",
        "to_tools": f"{home}/tools",
        "to_pages": f"{home}/pages",
        "to_opened": f"{home}/opened.txt",
    }
    runs = (f"groupadd -r {group}", f"chmod 666 {' '.join(opened)}", f"chmod 644 {home}/keys/*")
    first = (
        "There is a group @group@. All files are root:root; keys have mode 644, tools 644, and "
        "these pages 666: @opened@."
    )
    return ErrandWorld(values, shared | keys | tools | pages, runs, first, _INITIAL)


_INITIAL = """
def test_modes_and_group():
    assert run("getent", "group", @group@)[0] == 0, "there is no such group"
    assert oct(Path(@opened@[0]).stat().st_mode)[-3:] == "666", "the page is not open to all"
"""
