"""The importer of EnvFactory's servers: a server runs as it is behind stand-ins, and what cannot be
mapped says why."""

import json
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, read_folder, write_folder
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import Harvest
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from schemas.environment import Call

SERVER = '''
from typing import Dict, List, Literal, Optional
from pydantic import BaseModel, Field
from fastmcp import FastMCP


class Desk(BaseModel):
    """One desk."""
    desk_id: str = Field(..., pattern=r"^D\\d+$")
    seats: int = Field(default=1, ge=1, le=8)
    state: Literal["free", "taken"] = "free"
    taken_by: Optional[str] = None


class OfficeScenario(BaseModel):
    desks: Dict[str, Desk] = Field(default={})
    floors: Dict[int, List[str]] = Field(default_factory=dict)
    current_time: str = Field(..., pattern=r"^\\d{4}-\\d{2}-\\d{2}")


Scenario_Schema = [Desk, OfficeScenario]


class Office:
    def __init__(self):
        self.desks: Dict[str, Desk] = {}
        self.floors = {}
        self.current_time = ""

    def load_scenario(self, scenario: dict) -> None:
        model = OfficeScenario(**scenario)
        self.desks, self.floors, self.current_time = model.desks, model.floors, model.current_time

    def save_scenario(self) -> dict:
        return {
            "desks": {key: desk.model_dump() for key, desk in self.desks.items()},
            "floors": self.floors,
            "current_time": self.current_time,
        }


mcp = FastMCP(name="Office")
api = Office()


@mcp.tool()
def load_scenario(scenario: dict) -> str:
    """Load."""
    api.load_scenario(scenario)
    return "Successfully loaded scenario"


@mcp.tool()
def save_scenario() -> dict:
    """Save."""
    return api.save_scenario()


@mcp.tool()
def get_desk(desk_id: str) -> dict:
    """
    Look at a desk.

    Args:
        desk_id (str): Number of the desk.
    """
    try:
        if desk_id not in api.desks:
            raise ValueError(f"Desk {desk_id} not found")
        return api.desks[desk_id].model_dump()
    except Exception as e:
        raise e


@mcp.tool()
def book_desk(desk_id: str, who: str, guests: list = None) -> dict:
    """
    Take a desk.

    Args:
        desk_id (str): Number of the desk.
        who (str): Who sits there.
    """
    desk = api.desks[desk_id]
    if desk.state == "taken":
        raise ValueError("It is taken")
    desk.state, desk.taken_by = "taken", who
    return {"booked": desk_id, "at": api.current_time}


@mcp.tool
def sweep() -> str:
    """Nobody knows of it."""
    return "swept"


if __name__ == "__main__":
    mcp.run()
'''
STATE: dict[str, Any] = {
    "desks": {
        "D1": {"desk_id": "D1", "seats": 2},
        "D2": {"desk_id": "D2", "state": "taken", "taken_by": "Bo"},
    },
    "floors": {"1": ["D1"]},
    "current_time": "2025-03-01",
}


def describe(name: str, **parameters: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in parameters.items()},
        "required": [*parameters][:1],
    }
    return {
        "name": f"Office-{name}",
        "description": f"Does {name}.",
        "input_schema": schema,
        "output_schema": {"type": "object"},
    }


TOOLS = [
    describe("load_scenario", scenario="object"),
    describe("save_scenario"),
    describe("get_desk", desk_id="string"),
    describe("book_desk", desk_id="string", who="string"),
    describe("paint", colour="string"),
]


def scenario(name: str, expected: str, data: Any) -> dict[str, Any]:
    return {
        "scenario_id": name,
        "complexity_level": "simple",
        "description": "",
        "expected_behavior": expected,
        "scenario_data": data,
    }


TRIED = [
    scenario("plain", "pass", STATE),
    scenario(
        "too many seats",
        "validation_error",
        {"desks": {"D1": {"desk_id": "D1", "seats": 9}}, "current_time": "2025-03-01"},
    ),
    scenario("drifted", "pass", {"desks": {}}),
    scenario("lenient", "validation_error", STATE),
]


def write_release(
    folder: Path, server: str | None = SERVER, tools: Any = TOOLS, tried: Any = TRIED
) -> Path:
    for part in ("metadata", "tools", "intermediate"):
        (folder / part).mkdir(parents=True)
    told = {"class_name": "Office", "description": "Desks of an office.", "tools": tools}
    (folder / "metadata/Office_metadata.json").write_text(json.dumps(told))
    (folder / "intermediate/Office_checkpoint.json").write_text(
        json.dumps({"scenarios": tried, "reports": []})
    )
    (folder / "tools/Orphan.py").write_text("x = 1\n")
    if server is not None:
        (folder / "tools/Office.py").write_text(server)
    return folder


async def bring(folder: Path, jail: Sandbox, **changed: Any) -> Harvest:
    return await IMPORTERS["envfactory"](write_release(folder / "release", **changed), jail)


async def play(folder: Folder, jail: Sandbox, *calls: Call) -> list[Observation]:
    return await jail.play(
        Program.of(folder.environment),
        [Reset(folder.states["plain"], CLOCK, 0), *map(Invoke, calls), Look()],
    )


async def test_a_server_runs_as_it_is_behind_the_native_interface(
    tmp_path: Path, jail: Sandbox
) -> None:
    office = (await bring(tmp_path, jail)).folders["Office"]
    assert [(tool.name, tool.effect) for tool in office.environment.tools] == [
        ("get_desk", "query"),
        ("book_desk", "change"),
    ]
    assert office.environment.tools[0].parameters["properties"] == {
        "desk_id": {"description": "Number of the desk.", "type": "string"}
    }
    book = Call(name="book_desk", arguments={"desk_id": "D1", "who": "Ada"})
    seen = await play(office, jail, book, book, Call(name="get_desk", arguments={"desk_id": "D9"}))
    assert [(one.outcome, one.message) for one in seen[1:4]] == [
        ("ok", ""),
        ("rejection", "It is taken"),
        ("rejection", "Desk D9 not found"),
    ]
    state: Any = seen[-1].state
    assert state["desks"]["D1"] == {
        "desk_id": "D1",
        "seats": 2,
        "state": "taken",
        "taken_by": "Ada",
    }
    assert (state["floors"], state["current_time"]) == ({"1": ["D1"]}, "2025-03-01")


async def test_states_are_those_that_load_and_what_is_otherwise_than_released_is_said(
    tmp_path: Path, jail: Sandbox
) -> None:
    harvest = await bring(tmp_path, jail)
    assert list(harvest.folders["Office"].states) == ["plain"]
    assert {
        (one.code, one.part or one.subject) for one in harvest.remarks if one.weight == "refused"
    } == {
        ("no_metadata", "Orphan"),
        ("no_function", "paint"),
        ("state_unexpected", "drifted"),
        ("state_unexpected", "lenient"),
    }
    assert {one.part for one in harvest.remarks if one.code == "not_offered"} == {"sweep"}
    told = {one.part: one.code for one in harvest.remarks if one.code.startswith("effect_by")}
    assert told == {"get_desk": "effect_by_name", "book_desk": "effect_by_code"}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        pytest.param({"server": None}, "no_server", id="no-server"),
        pytest.param({"server": "class Office(:"}, "no_python", id="no-python"),
        pytest.param(
            {"server": "import numpy\n" + SERVER}, "foreign_import", id="imports-a-package"
        ),
        pytest.param(
            {"server": SERVER.replace("BaseModel, Field", "BaseModel, Field, field_validator")},
            "foreign_import",
            id="more-of-pydantic",
        ),
        pytest.param(
            {"server": SERVER.replace("def save_scenario() ->", "def save_all() ->")},
            "no_scenario",
            id="cannot-be-saved",
        ),
        pytest.param(
            {"server": SERVER.replace("api = Office()", "api = 1 / 0")},
            "does_not_load",
            id="breaks",
        ),
        pytest.param(
            {"server": SERVER + "\nopen('/etc/passwd').read()\n"},
            "does_not_load",
            id="reaches-for-a-file",
        ),
        pytest.param({"tools": "none"}, "unreadable", id="metadata-without-tools"),
        pytest.param({"tools": [describe("paint")]}, "no_tools", id="no-tool"),
        pytest.param(
            {"tools": [{"name": "Office-get_desk", "input_schema": [1]}]},
            "no_tools",
            id="schema-no-object",
        ),
        pytest.param({"tried": []}, "no_state", id="no-state"),
    ],
)
async def test_a_server_that_cannot_be_mapped_says_why(
    tmp_path: Path, jail: Sandbox, changed: dict[str, Any], code: str
) -> None:
    harvest = await bring(tmp_path, jail, **changed)
    assert harvest.folders == {}
    refused = [
        one
        for one in harvest.remarks
        if one.weight == "refused" and one.subject == "Office" and not one.part
    ]
    assert [one.code for one in refused] == [code], refused


REACHING = """
import glob
import requests as web
import tempfile
from httpx import Client, TimeoutException
from requests.exceptions import HTTPError

SESSION = web.Session()


class Printer:
    def __init__(self):
        self.known = {}

    def get(self, name: str) -> str:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            return file.name

    def recall(self, name: str) -> str:
        return self.known.get(name, "nothing")


printer = Printer()


def ask(place: str) -> str:
    try:
        return web.get(place, timeout=3).text
    except web.exceptions.RequestException:
        return ""


@mcp.tool()
def print_plan(place: str) -> str:
    return printer.get(place)


@mcp.tool()
def get_weather(place: str) -> str:
    return ask(place)


@mcp.tool()
def list_files(place: str) -> list:
    return glob.glob(place)


@mcp.tool()
def list_names(place: str) -> list:
    names = [name for name in ("plan.md", "plan[1].md", "desk.txt") if glob.fnmatch.fnmatch(name, place)]
    return [glob.escape(name) for name in names if not glob.has_magic(place) or names]


@mcp.tool()
def get_note(place: str) -> str:
    # It only looks as if it did: `get` of a dictionary.
    rows = {"a": "b"}
    return rows.get(place) or printer.recall(place)
"""


async def test_tools_that_reach_out_are_left_out_by_name_and_the_others_run(
    tmp_path: Path, jail: Sandbox
) -> None:
    server = SERVER.replace("if __name__", REACHING + "\n\nif __name__")
    named = [
        describe(one, place="string")
        for one in ("print_plan", "get_note", "get_weather", "list_files", "list_names")
    ]
    harvest = await bring(tmp_path, jail, server=server, tools=[*TOOLS, *named])
    left = {one.part: one.detail for one in harvest.remarks if one.code == "reaches_out"}
    assert {name: detail.split(",")[0] for name, detail in left.items()} == {
        "print_plan": "it uses tempfile", "get_weather": "it uses requests", "list_files": "it uses glob",
    }  # fmt: skip
    office = harvest.folders["Office"]
    assert {tool.name for tool in office.environment.tools} == {
        "get_desk",
        "book_desk",
        "get_note",
        "list_names",
    }
    seen = await play(
        office, jail, *(Call(name="get_note", arguments={"place": place}) for place in "ac")
    )
    assert [one.parts[0]["text"] for one in seen[1:3]] == ["b", "nothing"]
    seen = await play(office, jail, Call(name="list_names", arguments={"place": "plan*"}))
    assert seen[1].parts[0]["value"] == ["plan.md", "plan[[]1].md"]


async def test_what_a_stand_in_is_asked_for_is_refused_by_name(
    tmp_path: Path, jail: Sandbox
) -> None:
    """A call that nobody saw coming: it reaches through a variable."""
    hidden = """
import requests

ASK = getattr(requests, "get")


@mcp.tool()
def get_weather(place: str) -> str:
    try:
        return globals()["ASK"](place)
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}")


@mcp.tool()
def get_plan(place: str) -> str:
    try:
        return globals()["requests"].Session().get(place)
    except globals()["requests"].RequestException:
        return "nothing is reached"
"""
    server = SERVER.replace("if __name__", hidden + "\n\nif __name__")
    tools = [*TOOLS, describe("get_weather", place="string"), describe("get_plan", place="string")]
    office = (await bring(tmp_path, jail, server=server, tools=tools)).folders["Office"]
    seen = await play(
        office,
        jail,
        *(Call(name=name, arguments={"place": "x"}) for name in ("get_weather", "get_plan")),
    )
    assert (seen[1].outcome, seen[1].message) == (
        "rejection",
        "Unreachable: requests.get reaches out of the environment, where nothing is",
    )
    assert seen[2].parts[0]["text"] == "nothing is reached"


async def test_a_folder_without_metadata_says_what_is_missing(
    tmp_path: Path, jail: Sandbox
) -> None:
    with pytest.raises(SettingsError, match="metadata"):
        await IMPORTERS["envfactory"](tmp_path, jail)


async def test_what_is_mapped_is_written_and_read_back(tmp_path: Path, jail: Sandbox) -> None:
    office = (await bring(tmp_path, jail)).folders["Office"]
    write_folder(tmp_path / "Office", office)
    assert read_folder(tmp_path / "Office") == office


NAMED = [
    ("query_desks", "query", "name", "return list(api.desks)"),
    ("lookupDesk", "query", "name", "return api.desks.get(desk_id)"),
    ("desk_cancel", "change", "name", "return 'cancelled'"),
    ("get_desk_count", "query", "name", "api.desks.clear()"),
    ("nearby_desks", "query", "code", "return sorted(api.desks)"),
    ("lostDesk", "change", "code", "api.desks.pop(desk_id, None)"),
    ("check_in", "change", "code", "desk = api.desks[desk_id]\n    desk.state = 'taken'"),
    ("check_desk", "query", "code", "return api.desks[desk_id].state"),
]


async def test_a_tool_is_a_query_or_a_change_by_its_name_or_else_by_its_code(
    tmp_path: Path, jail: Sandbox
) -> None:
    """Names in the form of the release: `query_…`, `camelCase`, a subject before the verb, or no
    verb at all."""
    code = "".join(
        f"@mcp.tool()\ndef {name}(desk_id: str) -> object:\n    {body}\n\n\n"
        for name, _, _, body in NAMED
    )
    tools = [*TOOLS, *(describe(name, desk_id="string") for name, *_ in NAMED)]
    harvest = await bring(
        tmp_path, jail, server=SERVER.replace("if __name__", code + "if __name__"), tools=tools
    )
    effects = {tool.name: tool.effect for tool in harvest.folders["Office"].environment.tools}
    by = {
        one.part: one.code.removeprefix("effect_by_")
        for one in harvest.remarks
        if one.code.startswith("effect_by")
    }
    assert [(name, effects[name], by[name]) for name, *_ in NAMED] == [
        (name, effect, word) for name, effect, word, _ in NAMED
    ]
