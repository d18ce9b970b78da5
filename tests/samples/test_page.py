"""The environment on the page about writing one is an environment."""

import re

from envmill.base.settings import ROOT
from envmill.kinds import KINDS
from envmill.sandbox import Advance, Invoke, Look, Program, Reset, Sandbox
from schemas.environment import Call


async def test_the_example_of_the_page_plays(jail: Sandbox) -> None:
    found = re.search(
        r"```python\n(.*?)```",
        (ROOT / "docs/environments.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert found is not None
    tools = KINDS["stateful"].derive_tools(found[1], "Desk", {"open_ticket": "change"})
    assert tools[0].actors == ["agent", "user"]
    program = Program({"program.py": found[1]}, "program:Desk", tools)
    clock = "2026-03-02T09:00:00+00:00"
    blank, ticket = (
        Call(name="open_ticket", arguments={"text": text}, actor="user")
        for text in (" ", "The lamp is dark.")
    )
    plan = [
        Reset({"tickets": {}}, clock, 1),
        Invoke(blank),
        Invoke(ticket),
        Advance(3 * 86400),
        Look(),
    ]
    reset, refused, opened, passed, look = await jail.play(program, plan)
    assert (reset.outcome, refused.code, opened.outcome) == ("ok", "empty", "ok")
    key = opened.parts[0]["value"]["id"]
    assert [(one["actor"], one["at"][:10], one["text"]) for one in passed.notifications] == [
        ("agent", "2026-03-02", f"{key} was opened."), ("user", "2026-03-04", f"{key} was closed."),
    ]  # fmt: skip
    assert look.state == {"tickets": {}}
