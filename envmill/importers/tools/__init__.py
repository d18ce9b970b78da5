"""Readers of documents that describe tools, by name: each gives sketches, and its reason for whatever it could not map."""

from envmill.importers.tools import botocore, mcp, openapi
from envmill.importers.tools.base import Reader

TOOL_LISTS: dict[str, Reader] = {
    "openapi": openapi.read_documents,
    "mcp": mcp.read_lists,
    "botocore": botocore.read_services,
}
