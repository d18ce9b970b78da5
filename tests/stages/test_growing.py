"""Worlds grow around a path: what an author adds is held to the state, the path and the call, and
what ignores that is refused."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from envmill.kinds import KINDS
from envmill.kinds.sql import add_touches, derive_tables
from envmill.models.gateway import ModelSession
from envmill.recipes import scaleenv
from envmill.recipes.drafting.growing import measure_complexity, order_outwards, try_tools
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.context import RunContext
from envmill.stages.growing import grow_world
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import ScenarioVersion, execute
from envmill.toolgraph.topology import weave_environment
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.folder import Touch
from schemas.growth_prompts import GrowReply, NaturalReply, NaturalVerdict, ToolPatch
from schemas.prompts import ScenarioReply
from schemas.run import RunConfig
from tests.specimens import make_environment

SCHEMA = """
CREATE TABLE members (id TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE tools (id TEXT PRIMARY KEY, tag TEXT NOT NULL, status TEXT NOT NULL);
CREATE TABLE loans (id TEXT PRIMARY KEY, tool_id TEXT NOT NULL REFERENCES tools (id), member_id TEXT NOT NULL REFERENCES members (id));
CREATE TABLE repairs (id TEXT PRIMARY KEY, tool_id TEXT NOT NULL REFERENCES tools (id), done INTEGER NOT NULL);
"""
SOURCE = '''
from envmill.runtime import Rejection


class Shed:
    def __init__(self, db):
        self._db = db

    def _find(self, table: str, id: str) -> dict:
        rows = self._db.query(f"SELECT * FROM {table} WHERE id = ?", (id,))
        if not rows:
            raise Rejection("unknown", "There is no such record.")
        return rows[0]

    def find_members(self, query: str) -> list[dict]:
        """Find members by a part of the name.

        Args:
            query: Part of the name.
        """
        return self._db.query("SELECT * FROM members WHERE name LIKE ? ORDER BY id", (f"%{query}%",))

    def find_tools(self, tag: str) -> list[dict]:
        """Find tools by the exact tag.

        Args:
            tag: The tag.
        """
        return self._db.query("SELECT * FROM tools WHERE tag = ? ORDER BY id", (tag,))

    def lend_tool(self, tool_id: str, member_id: str) -> dict:
        """Lend a free tool to a member.

        Args:
            tool_id: Id of a tool.
            member_id: Id of a member.
        """
        if self._find("tools", tool_id)["status"] != "free":
            raise Rejection("not_free", "The tool is not free.")
        self._find("members", member_id)
        self._db.execute("UPDATE tools SET status = 'out' WHERE id = ?", (tool_id,))
        return self._find("tools", tool_id)

    def list_repairs(self) -> list[dict]:
        """List the repairs that are not done."""
        return self._db.query("SELECT * FROM repairs WHERE done = 0 ORDER BY id")

    def confirm_repair(self, repair_id: str) -> dict:
        """Mark a repair as done, and its tool as free.

        Args:
            repair_id: Id of a repair.
        """
        row = self._find("repairs", repair_id)
        if row["done"]:
            raise Rejection("done", "The repair is done.")
        self._db.execute("UPDATE repairs SET done = 1 WHERE id = ?", (repair_id,))
        self._db.execute("UPDATE tools SET status = 'free' WHERE id = ?", (row["tool_id"],))
        return self._find("repairs", repair_id)
'''
STATE: dict[str, Any] = {
    "members": {
        "mem_1a": {"id": "mem_1a", "name": "Ada Kern"},
        "mem_2b": {"id": "mem_2b", "name": "Bo Lind"},
    },
    "tools": {
        "tool_7c": {"id": "tool_7c", "tag": "L-04", "status": "free"},
        "tool_8d": {"id": "tool_8d", "tag": "L-05", "status": "out"},
    },
    "loans": {},
    "repairs": {},
}
PATH = [
    Call(name="find_members", arguments={"query": "Ada Kern"}),
    Call(name="find_tools", arguments={"tag": "L-04"}),
    Call(name="lend_tool", arguments={"tool_id": "tool_7c", "member_id": "mem_1a"}),
]
BROKEN = {"id": "tool_9e", "tag": "S-02", "status": "broken"}
OPEN = {"id": "rep_3f", "tool_id": "tool_9e", "done": 0}
LISTED = ToolPatch(
    tool="list_repairs", rows={"tools": {"tool_9e": BROKEN}, "repairs": {"rep_3f": OPEN}}, call=Call(name="list_repairs")
)  # fmt: skip
CONFIRMED = ToolPatch(
    tool="confirm_repair", call=Call(name="confirm_repair", arguments={"repair_id": "rep_3f"})
)


def make_shed() -> Environment:
    effects: Any = {
        "find_members": "query",
        "find_tools": "query",
        "lend_tool": "change",
        "list_repairs": "query",
        "confirm_repair": "change",
    }
    touches = {
        "find_members": Touch(reads=["members"]),
        "find_tools": Touch(reads=["tools"]),
        "lend_tool": Touch(reads=["tools", "members"], writes=["tools"]),
        "list_repairs": Touch(reads=["repairs"]),
        "confirm_repair": Touch(reads=["repairs", "tools"], writes=["repairs", "tools"]),
    }
    files = {"program.py": SOURCE, "schema.sql": SCHEMA}
    tables = derive_tables(files, {f"{table}.id": "exempt" for table in STATE})
    tools = add_touches(KINDS["sql"].derive_tools(SOURCE, "Shed", effects), touches, tables)
    return make_environment(
        kind="sql", files=files, entry="program:Shed", tools=tools, tables=tables
    )


SHED = make_shed()


class Author:
    """Answers with these patches, one reply after the other, and judges as it is told."""

    provider, model, last_asked = "other", "other", None

    def __init__(self, *replies: Sequence[ToolPatch], against: str = "") -> None:
        self._replies, self._against = list(replies), against
        self.asked: list[str] = []
        self.complaints: list[str] = []

    async def ask(
        self, prompt: Any, inputs: Any, reply: Any, *, complaint: str = "", **_: Any
    ) -> Any:
        self.asked.append(prompt.name)
        self.complaints.append(complaint)
        if prompt.name == "natural":
            names = [one.tool for one in inputs.added]
            return NaturalReply(
                verdicts=[
                    NaturalVerdict(tool=name, natural=name != self._against, reason="No.")
                    for name in names
                ]
            )
        return GrowReply(patches=list(self._replies.pop(0)))


async def grow(
    jail: Sandbox,
    author: Author,
    polarity: str = "achieve",
    path: Sequence[Call] = PATH,
    **config: Any,
) -> tuple[ScenarioVersion, Mapping[str, Json], str]:
    settings = RunConfig.model_validate(
        {"recipe": "scaleenv", "rehearse": False, "suspicions": "keep"} | config
    )
    nothing: Any = None
    context = RunContext("r", settings, nothing, scaleenv.make(read_themes()), nothing, jail)
    place, models = ScenarioSlot(SHED, 0), cast(ModelSession, author)
    told: Any = {
        "initial_state": STATE,
        "request": "Please lend L-04 to Ada Kern.",
        "oracle": list(path),
        "polarity": polarity,
    }
    told |= (
        {"say": "It is mem_1a.", "tell": [{"name": "member", "kind": "text", "value": "mem_1a"}]}
        if polarity == "answer"
        else {}
    )
    posed = await execute(ScenarioReply.model_validate(told), place, context, models)
    assert posed.draft is not None, posed.complaints
    grown, (finding,) = await grow_world(posed, posed.draft, place, context, models)
    assert grown.draft is not None
    assert (grown.draft.oracle, grown.draft.changes) == (posed.draft.oracle, posed.draft.changes)
    held = grown.draft.initial_state
    assert all(
        held[table][key] == row for table, rows in STATE.items() for key, row in rows.items()
    ), "nothing is changed that is there"
    return grown, cast(Any, finding.evidence), finding.reason


async def test_honest_records_are_added_and_the_path_does_what_it_did(jail: Sandbox) -> None:
    author = Author([LISTED, CONFIRMED])
    grown, told, reason = await grow(jail, author)
    assert author.asked == ["grow"], "one call for all tools"
    assert reason == ""
    assert (told["reached"], told["by_rows"]) == (5, {"list_repairs": 2, "confirm_repair": 0})
    assert grown.draft is not None
    assert grown.draft.initial_state["repairs"] == {"rep_3f": OPEN}


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        pytest.param(
            LISTED.model_copy(update={"rows": {"tools": {"tool_7c": BROKEN | {"id": "tool_7c"}}}}),
            "there already",
            id="rewrites",
        ),
        pytest.param(
            LISTED.model_copy(update={"rows": {"tools": {"tool_9e": {"id": "tool_9e"}}}}),
            "lacks tag, status",
            id="half a row",
        ),
        pytest.param(
            LISTED.model_copy(update={"rows": {"mowers": {}}}),
            "no table mowers",
            id="no such table",
        ),
        pytest.param(
            LISTED.model_copy(update={"rows": {"repairs": {"rep_3f": OPEN}}}),
            "ended in",
            id="refers to nothing",
        ),
        pytest.param(
            LISTED.model_copy(update={"rows": {}}), "found or changed nothing", id="adds nothing"
        ),
        pytest.param(
            LISTED.model_copy(update={"call": PATH[0]}),
            "no call of list_repairs",
            id="another tool's call",
        ),
        pytest.param(
            LISTED.model_copy(update={"call": None, "rows": {}, "left": "The shed mends nothing."}),
            "left: ",
            id="left",
        ),
        pytest.param(CONFIRMED, "no patch", id="passed over"),
    ],
)
async def test_an_author_who_ignores_it_adds_nothing(
    patch: ToolPatch, why: str, jail: Sandbox
) -> None:
    author = Author([patch], [patch])
    grown, told, reason = await grow(jail, author)
    assert reason == "too_few_tools"
    assert grown.draft is not None
    assert grown.draft.initial_state == STATE
    assert why in told["unreached"]["list_repairs"]
    assert author.asked == ["grow", "grow"], "what is wrong is told once"
    assert "confirm_repair" in author.complaints[1]


async def test_what_was_wrong_is_mended_in_one_more_reply(jail: Sandbox) -> None:
    author = Author([LISTED.model_copy(update={"rows": {}}), CONFIRMED], [LISTED, CONFIRMED])
    _, told, reason = await grow(jail, author)
    assert reason == ""
    assert told["reached"] == 5
    assert "1. list_repairs: with these records" in author.complaints[1]


async def test_records_that_make_the_request_mean_something_else_are_refused(jail: Sandbox) -> None:
    """With a second L-04 the request may mean another tool than the path lends."""
    second = {"tool_3c": {"id": "tool_3c", "tag": "L-04", "status": "free"}}
    spoilt = LISTED.model_copy(
        update={"rows": {**LISTED.rows, "tools": {"tool_9e": BROKEN, **second}}}
    )
    grown, told, reason = await grow(jail, Author([spoilt, CONFIRMED], [spoilt]))
    assert reason == "too_few_tools"
    assert "S15" in told["unreached"]["list_repairs"], told
    assert grown.draft is not None
    assert grown.draft.initial_state == STATE


@pytest.mark.parametrize("natural", [True, False])
async def test_what_does_not_belong_there_is_left_out_where_a_model_is_asked(
    natural: bool, jail: Sandbox, monkeypatch: Any
) -> None:
    monkeypatch.setattr("envmill.stages.growing.measure_complexity", lambda *_: 1.0)
    author = Author([LISTED, CONFIRMED], [CONFIRMED], against="list_repairs")
    grown, told, _ = await grow(jail, author, natural=natural, suspicions="judge")
    assert grown.draft is not None
    assert (grown.draft.initial_state == STATE) is natural
    assert told["unnatural"] == ({"list_repairs": "No."} if natural else {})
    assert ("natural" in author.asked) is natural


async def test_a_simple_world_is_judged_seldom_and_a_complex_one_always(
    jail: Sandbox, monkeypatch: Any
) -> None:
    asked = []
    for complexity in (0.0, 1.0):
        monkeypatch.setattr(
            "envmill.stages.growing.measure_complexity", lambda *_, now=complexity: now
        )
        author = Author([LISTED, CONFIRMED])
        await grow(jail, author, suspicions="judge")
        asked.append("natural" in author.asked)
    assert asked == [False, True]


async def test_a_call_off_the_path_that_breaks_the_program_is_named(jail: Sandbox) -> None:
    """A refusal is an answer; a program that falls over is none."""
    guard = 'if self._find("tools", tool_id)["status"] != "free":'
    assert guard in SOURCE
    files = {
        **SHED.files,
        "program.py": SOURCE.replace(guard, 'if self._find("tools", tool_id)["state"] != "free":'),
    }
    broken = Environment.model_validate(SHED.model_dump() | {"id": "", "files": files})
    found = await try_tools(
        broken, (), [STATE], ["lend_tool", "find_tools", "confirm_repair"], "seed", jail
    )
    assert list(found.crashed) == ["lend_tool"]
    assert "failure" in found.crashed["lend_tool"]
    whole = await try_tools(
        SHED, (), [STATE], ["lend_tool", "find_tools", "confirm_repair"], "seed", jail
    )
    assert whole.crashed == {}
    assert whole.tools["confirm_repair"].done is None


async def test_a_question_is_left_alone_and_counted(jail: Sandbox) -> None:
    author = Author()
    _, told, reason = await grow(jail, author, "answer", PATH[:1])
    assert reason == "left_alone"
    assert sorted(told["by_execution"]) == ["find_tools", "lend_tool"]
    assert author.asked == []


async def test_the_switch_counts_and_stops(jail: Sandbox) -> None:
    author = Author()
    _, told, reason = await grow(jail, author, reach=3)
    assert (reason, told["wanted"]) == ("", 3)
    assert author.asked == [], "as many as wanted succeed already"
    with pytest.raises(ValueError, match="not enough values"):
        await grow(jail, author, reach=0)


async def test_neighbours_of_the_path_come_first() -> None:
    graph = await weave_environment(SHED)
    names = [tool.name for tool in SHED.tools]
    assert order_outwards(graph, ["list_repairs"], names)[0] == "confirm_repair"
    assert sorted(order_outwards(graph, ["list_repairs"], names)) == sorted(
        name for name in names if name != "list_repairs"
    )
    assert (
        measure_complexity(graph, ["list_repairs"]) == 1 / 50 < measure_complexity(graph, names) < 1
    )
