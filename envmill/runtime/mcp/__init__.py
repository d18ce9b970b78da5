"""An environment as an MCP server, by the standard library alone: the same code serves from the
lake and out of an exported folder.

    client ── lines, or HTTP ──► Connection ──► Session ── frames ──► the jail
                                     └──► recording: the calls and the state's hashes, for whoever scores

Tools are all that a client is offered. Verifiers, rewards and reference paths are never handed to
this package.
"""

from envmill.runtime.mcp.host import CannotStart
from envmill.runtime.mcp.offer import Offer
from envmill.runtime.mcp.serving import serve
from envmill.runtime.mcp.web import ServerLimits

__all__ = ["CannotStart", "Offer", "ServerLimits", "serve"]
