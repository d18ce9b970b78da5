"""Tools of sibling services: shown beside the program's own, and answered as by a service that
holds none of the session's records.

call ─► arguments fit the schema? ─┬─ lists everything ─► an empty list
                                   ├─ looks something up ─► not_found
                                   └─ changes something ──► not_permitted

No code of the program runs, and neither state nor clock nor chance moves.
"""

from envmill.runtime.interface import ToolEntry
from envmill.runtime.reply import Reply, refuse


def answer_as_sibling(tool: ToolEntry, service: str) -> Reply:
    """The answer to a call whose arguments fit."""
    title = service.replace("_", " ")
    if tool["effect"] != "query":
        return refuse("not_permitted", f"This account may not change anything in {title}.")
    if tool["parameters"].get("required"):
        return refuse("not_found", f"There is no such record in {title}.")
    return {"ok": True, "outcome": "ok", "parts": [{"type": "json", "value": []}]}


def show_tool(tool: ToolEntry) -> ToolEntry:
    """A tool as those who may call it see it: without the service it belongs to."""
    shown = tool.copy()
    shown.pop("sibling", None)
    return shown
