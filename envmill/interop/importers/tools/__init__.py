"""Readers of documents that describe tools, by name: each gives sketches, and its reason for whatever it could not map."""

from envmill.errors import SettingsError
from envmill.interop.importers.tools import botocore, mcp, openapi
from envmill.interop.importers.tools.base import Reader, ToolHarvest
from envmill.settings import ROOT

OWN = ROOT / "data/seeds/documents"
"""Documents that come with the factory."""

TOOL_LISTS: dict[str, Reader] = {
    "openapi": openapi.read_documents,
    "mcp": mcp.read_lists,
    "botocore": botocore.read_services,
}


def read_sources(documents: str) -> dict[str, ToolHarvest]:
    """Reader → what came of the documents named, as `reader:source` with commas between; of the factory's own where none is."""
    named: dict[str, list[str]] = {} if documents else {"openapi": [str(path) for path in sorted(OWN.glob("*.json"))]}
    for one in filter(None, documents.split(",")):
        reader, _, place = one.partition(":")
        if reader not in TOOL_LISTS or not place:
            raise SettingsError(f"{one!r} names no documents: write `reader:source`, with one of {', '.join(TOOL_LISTS)}.")
        named.setdefault(reader, []).append(place)
    harvests = {reader: TOOL_LISTS[reader](places) for reader, places in named.items()}
    if not any(harvest.sketches for harvest in harvests.values()):
        raise SettingsError(f"No tool was found in {documents}: `envmill tools read {documents} --remarks` says what was seen there.")
    return harvests
