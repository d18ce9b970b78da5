"""What importers map of a whole release, in numbers: a change that maps less, or leaves something
out in silence, fails."""

import json
from pathlib import Path

from envmill.interop.importers import IMPORTERS
from envmill.sandbox import Sandbox
from tests.interop.importers.test_envfactory import REACHING, SERVER, describe, write_release

SERVERS = {
    "Office": SERVER,
    "Printers": SERVER.replace("if __name__", REACHING + "\n\nif __name__"),
    "Sums": "import numpy\n" + SERVER,
    "Halls": SERVER.replace("api = Office()", "api = 1 / 0"),
    "Rooms": "class Office(:",
}


async def test_of_a_release_as_much_is_mapped_as_ever_and_the_rest_is_refused_by_name(
    tmp_path: Path, jail: Sandbox
) -> None:
    """Counts of a release of five servers. A change that maps less than this, or is silent about
    what it leaves out, turns it red."""
    more = [
        describe(one, place="string")
        for one in ("print_plan", "get_note", "get_weather", "list_files", "list_names")
    ]
    release = write_release(tmp_path / "release")
    for name, server in SERVERS.items():
        for part in ("metadata/{}_metadata.json", "intermediate/{}_checkpoint.json"):
            text = (release / part.format("Office")).read_text()
            told = json.loads(text.replace("Office", name))
            if name == "Printers" and "tools" in told:
                told["tools"] += json.loads(json.dumps(more).replace("Office", name))
            (release / part.format(name)).write_text(json.dumps(told))
        (release / "tools" / f"{name}.py").write_text(server.replace("Office", name))
    harvest = await IMPORTERS["envfactory"](release, jail)
    mapped = {
        name: sorted(tool.name for tool in folder.environment.tools)
        for name, folder in harvest.folders.items()
    }
    assert mapped == {
        "Office": ["book_desk", "get_desk"],
        "Printers": ["book_desk", "get_desk", "get_note", "list_names"],
    }
    assert harvest.report("envfactory")["mapped"] == {
        "environments": 2,
        "scenarios": 0,
        "checks": 0,
    }
    refused = sorted(
        (one.subject, one.part, one.code)
        for one in harvest.remarks
        if one.weight == "refused" and one.code != "state_unexpected"
    )
    assert refused == [
        ("Halls", "", "does_not_load"),
        ("Halls", "paint", "no_function"),
        ("Office", "paint", "no_function"),
        ("Orphan", "", "no_metadata"),
        ("Printers", "get_weather", "reaches_out"),
        ("Printers", "list_files", "reaches_out"),
        ("Printers", "paint", "no_function"),
        ("Printers", "print_plan", "reaches_out"),
        ("Rooms", "", "no_python"),
        ("Sums", "", "foreign_import"),
    ]
