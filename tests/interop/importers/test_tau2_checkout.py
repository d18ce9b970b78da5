"""Toolkits of a checkout answer for their domain: models, both sides, functions without a mark, and what couples the sides."""

import json
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.importers.tau2 import import_release
from envmill.interop.importers.tau2.checkout import read_folder
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from schemas.environment import Call

MODELS = """
import datetime
from enum import Enum
from typing import Annotated, Dict, List, Literal, Optional, Union

from pydantic import BaseModel, Field
from tau2.domains.lamp.utils import TODAY
from tau2.environment.db import DB


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


class Bulb(BaseModel):
    kind: Literal["bulb"] = Field(description="x")
    watts: float = Field(default=4.0, description="x")


class Tube(BaseModel):
    kind: Literal["tube"]
    metres: int


Part = Union[Bulb, Tube]


class Lamp(BaseModel):
    key: str = Field(description="x")
    on: bool = False
    colour: Colour = Field(Colour.RED, description="x")
    part: Optional[Part] = None
    since: Annotated[Optional[datetime.date], Field(default=None, description="x")]
    log: List[str] = Field(default_factory=list)


class LampDB(DB):
    lamps: Dict[str, Lamp] = Field(description="x")


class RoomDB(DB):
    room: Dict[str, bool] = Field(default_factory=lambda: {"light": False, "blind": False})
"""
TOOLS = '''
from loguru import logger
from tau2.domains.lamp.data_model import Bulb, Colour, LampDB, Part
from tau2.domains.lamp.utils import TODAY
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class LampTools(ToolKitBase):
    db: LampDB

    @is_tool(ToolType.WRITE)
    def switch(self, key: str, on: bool, colour: Colour = None) -> dict:
        """Switch a lamp.

        Args:
            key: Its key.
            on: Whether it is on.
        """
        lamp = self._find(key)
        lamp.on, lamp.since = on, TODAY
        lamp.log.append("switched")
        logger.info(key)
        return {"lamp": lamp}

    @is_tool(ToolType.READ)
    def show(self, key: str) -> object:
        """Show a lamp."""
        return self._find(key)

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand over."""
        return "Transfer successful"

    def _find(self, key):
        if key not in self.db.lamps:
            raise ValueError(f"Lamp {key} not found")
        return self.db.lamps[key]

    def set_watts(self, key: str, watts: float):
        self._find(key).part = Bulb(kind="bulb", watts=watts)

    def assert_on(self, key: str, expected: bool) -> bool:
        return self._find(key).on == expected
'''
USER = '''
from tau2.domains.lamp.data_model import RoomDB
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class LampUserTools(ToolKitBase):
    db: RoomDB

    @property
    def room(self):
        return self.db.room

    @is_tool(ToolType.READ)
    def look(self) -> str:
        """Look around."""
        return "light" if self.room["light"] else "dark"

    @is_tool(ToolType.WRITE)
    def close_blind(self) -> str:
        """Close the blind."""
        self.room["blind"] = True
        return "closed"

    def assert_light(self, expected: bool) -> bool:
        return self.room["light"] == expected
'''
AROUND = """
from pathlib import Path
from tau2.data_model.tasks import Task
from tau2.environment.environment import Environment
from tau2.utils import load_file


class LampEnvironment(Environment):
    def sync_tools(self):
        self.user_tools.db.room["light"] = any(one.on for one in self.tools.db.lamps.values())


def get_tasks() -> list[Task]:
    return load_file(Path("tasks.json"))
"""
UTILS = """
import datetime

from tau2.utils.utils import DATA_DIR

PLACE = DATA_DIR / "tau2" / "lamp"
TODAY = datetime.date(2025, 2, 25)
"""
SWITCH = {"action_id": "1", "name": "switch", "arguments": {"key": "L1", "on": True}}
CLOSE = {"action_id": "2", "requestor": "user", "name": "close_blind", "arguments": {}}
ASSERTIONS = [
    {"env_type": "user", "func_name": "assert_light", "arguments": {"expected": True}},
    {
        "env_type": "assistant",
        "func_name": "assert_on",
        "arguments": {"key": "L1", "expected": True},
    },
]


def write_checkout(root: Path, **changed: str) -> tuple[Path, Path]:
    """Data of a domain, and a checkout with its toolkits."""
    data, code = root / "data" / "lamp", root / "checkout" / "src" / "tau2" / "domains" / "lamp"
    for folder in (data, code):
        folder.mkdir(parents=True)
    lamp = {"key": "L1", "part": {"kind": "tube", "metres": 2}, "since": "2024-01-02"}
    task = {
        "id": "t",
        "user_scenario": {"instructions": "Make light."},
        "initial_state": {
            "initialization_actions": [
                {
                    "env_type": "assistant",
                    "func_name": "set_watts",
                    "arguments": {"key": "L1", "watts": 9},
                }
            ]
        },
        "evaluation_criteria": {
            "actions": [SWITCH, CLOSE],
            "env_assertions": ASSERTIONS,
            "reward_basis": ["ENV_ASSERTION", "ACTION"],
        },
    }
    other = task | {"id": "db", "evaluation_criteria": {"actions": [SWITCH]}}
    texts = {
        "db.json": json.dumps({"lamps": {"L1": lamp}}),
        "user_db.json": '{"room": {"light": false, "blind": false}}',
        "policy.md": "Be brief.",
        "tasks.json": json.dumps([task, other]),
    }
    for name, text in texts.items():
        (data / name).write_text(text)
    parts = {
        "data_model": MODELS,
        "tools": TOOLS,
        "user_tools": USER,
        "environment": AROUND,
        "utils": UTILS,
    }
    for name, text in (parts | changed).items():
        (code / f"{name}.py").write_text(text)
    return data, root / "checkout"


async def test_a_domains_own_toolkits_run_in_the_jail_and_its_tasks_are_judged_by_its_own_functions(
    tmp_path: Path, jail: Sandbox
) -> None:
    data, checkout = write_checkout(tmp_path)
    harvest = await import_release(data, jail, checkout)
    assert [one.code for one in harvest.remarks if one.weight == "refused"] == []
    told: Any = harvest.parity["lamp"]
    assert told["tools"] == "the toolkits of a checkout, lamp"
    rewards = {name: one["components"] for name, one in told["vectors"]["t"].items()}
    assert rewards == {
        "gold": {"ENV_ASSERTION": 1.0, "ACTION": 1.0},
        "do_nothing": {"ENV_ASSERTION": 0.0, "ACTION": 0.0},
        "drop_one/0": {"ENV_ASSERTION": 0.0, "ACTION": 0.0},
        "drop_one/1": {"ENV_ASSERTION": 1.0, "ACTION": 0.0},
        "transfer_at_once": {"ENV_ASSERTION": 0.0, "ACTION": 0.0},
        "empty_args": {"ENV_ASSERTION": 0.0, "ACTION": 1.0},
    }
    # There, nothing couples the sides between gold calls: a path that lights the room is not paid.
    paid = {name: one["reward"] for name, one in told["vectors"]["db"].items()}
    assert paid == {
        "gold": 0.0,
        "do_nothing": 0.0,
        "drop_one/0": 0.0,
        "transfer_at_once": 0.0,
        "empty_args": 0.0,
    }


async def test_models_keep_what_they_are_given_and_fill_in_what_is_left_out(
    tmp_path: Path, jail: Sandbox
) -> None:
    data, checkout = write_checkout(tmp_path)
    folder = (await import_release(data, jail, checkout)).folders["lamp"]
    lamp = folder.scenarios[0].initial_state["lamps"]["L1"]
    assert lamp == {
        "key": "L1",
        "on": False,
        "colour": "red",
        "part": {"kind": "bulb", "watts": 9.0},
        "since": "2024-01-02",
        "log": [],
    }
    dialogue = read_dialogue(folder.environment.files)
    assert (dialogue.sides, dialogue.user_tools) == (
        {"lamps": "agent", "room": "user"},
        ["look", "close_blind"],
    )
    shapes = {tool.name: tool.parameters["properties"] for tool in folder.environment.tools}
    assert shapes["switch"]["on"] == {"type": "boolean", "description": "Whether it is on."}
    assert shapes["switch"]["colour"] == {"description": "colour"}
    calls = [
        Call(name="switch", arguments={"key": "L9", "on": True}),
        Call(name="switch", arguments={"key": "L1", "on": True}),
        Call(name="look", actor="user"),
        Call(name="set_watts", arguments={"key": "L1", "watts": 1}),
    ]
    steps = [Reset(folder.scenarios[0].initial_state, CLOCK, 0), *map(Invoke, calls), Look()]
    seen = await jail.play(Program.of(folder.environment), steps)
    assert [step.code for step in seen[1:5]] == ["refused", "", "", "unknown_tool"]
    assert "Lamp L9 not found" in seen[1].message
    assert seen[3].parts == [{"type": "text", "text": "light"}] or seen[3].parts == [
        {"type": "json", "value": "light"}
    ]
    assert seen[-1].state is not None
    assert seen[-1].state["lamps"]["L1"]["since"] == "2025-02-25"


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"tools": "class LampTools(:"}, "no_tools", "cannot be parsed"),
        ({"tools": "x = 1"}, "no_tools", "defines no ToolKitBase"),
        ({"tools": TOOLS.replace("    db: LampDB\n", "")}, "no_tools", "of which class its db is"),
        ({"utils": UTILS + "import litellm\n"}, "does_not_load", "litellm"),
        ({"utils": UTILS + "open('/etc/passwd').read()\n"}, "does_not_load", ""),
        (
            {"data_model": MODELS.replace("metres: int", "metres: Literal[9]")},
            "does_not_construct",
            "part",
        ),
        (
            {
                "data_model": MODELS.replace(
                    "class Lamp(BaseModel):", "class Lamp(DB):\n    extra: str"
                )
            },
            "does_not_construct",
            "extra",
        ),
    ],
)
async def test_toolkits_that_cannot_answer_refuse_their_domain_and_say_why(
    changed: dict[str, str], code: str, words: str, tmp_path: Path, jail: Sandbox
) -> None:
    data, checkout = write_checkout(tmp_path, **changed)
    harvest = await import_release(data, jail, checkout)
    (remark,) = [one for one in harvest.remarks if one.weight == "refused"]
    assert (harvest.folders, remark.code) == ({}, code)
    assert words in remark.detail


def test_a_folder_is_read_and_never_run(tmp_path: Path) -> None:
    write_checkout(tmp_path, utils="raise SystemExit")
    found = read_folder(tmp_path / "checkout/src/tau2/domains/lamp", "lamp")
    assert not isinstance(found, str)
    assert {side: kit.name for side, kit in found.kits.items()} == {
        "assistant": "LampTools",
        "user": "LampUserTools",
    }
    assert found.couples
