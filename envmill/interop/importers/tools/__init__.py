"""Readers of documents that describe tools, by name: each gives sketches, and its reason for
whatever it could not map."""

from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.interop.importers.tools import botocore, mcp, openapi
from envmill.interop.importers.tools.base import Reader, ToolHarvest, make_name

OWN = ROOT / "data/seeds/documents"
"""Documents that come with the factory."""

TOOL_LISTS: dict[str, Reader] = {
    "openapi": openapi.read_documents,
    "mcp": mcp.read_lists,
    "botocore": botocore.read_services,
}


LIST = "list"
"""What stands where a reader does, and names a file of sources, one a line."""


def list_sources(documents: str) -> list[str]:
    """Each `reader:source`, those of lists in their places. `list:services` is the factory's own
    list."""
    found = list[str]()
    for one in filter(None, documents.split(",")):
        reader, _, place = one.partition(":")
        found += _read_list(place) if reader == LIST and place else [one]
    return found


def _read_list(place: str) -> list[str]:
    """Relative files stand beside the list."""
    path = OWN / f"{place}.txt" if (OWN / f"{place}.txt").is_file() else Path(place)
    if not path.is_file():
        raise SettingsError(
            f"There is no list of documents {place}. Known: "
            f"{', '.join(sorted(one.stem for one in OWN.glob('*.txt')))}."
        )
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    sources = [tuple(line.partition(":")) for line in lines if line]
    return [
        f"{reader}:{source if reader == 'botocore' else path.parent / source}"
        for reader, _, source in sources
    ]


def read_sources(documents: str) -> dict[str, ToolHarvest]:
    """Reader → what came of the documents named, as `reader:source` with commas between; of the
    factory's own where none is."""
    named: dict[str, list[str]] = (
        {} if documents else {"openapi": [str(path) for path in sorted(OWN.glob("*.json"))]}
    )
    for one in list_sources(documents):
        reader, _, place = one.partition(":")
        if reader not in TOOL_LISTS or not place:
            raise SettingsError(
                f"{one!r} names no documents: write `reader:source`, with one of "
                f"{', '.join(TOOL_LISTS)}."
            )
        named.setdefault(reader, []).append(place)
    harvests = {reader: TOOL_LISTS[reader](places) for reader, places in named.items()}
    _part_names(list(harvests.values()))
    if not any(harvest.sketches for harvest in harvests.values()):
        raise SettingsError(
            f"No tool was found in {documents}: `envmill tools read {documents} --remarks` says "
            "what was seen there."
        )
    return harvests


def _part_names(harvests: list[ToolHarvest]) -> None:
    """A name that tools of several readers have gets its service's in front in every harvest but
    the first that has it."""
    known = set[str]()
    for harvest in harvests:
        for place, sketch in enumerate(harvest.sketches):
            if sketch.name in known:
                name = f"{make_name(sketch.service)}_{sketch.name}"
                harvest.change(
                    name, "renamed", f"was {sketch.name}: a tool of another reader has that name"
                )
                harvest.sketches[place] = sketch.model_copy(update={"name": name})
        known |= {sketch.name for sketch in harvest.sketches}
