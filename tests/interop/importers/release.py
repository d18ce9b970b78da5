"""A small release in EnvScaler's format, written here: one program takes a state, one does not;
tests damage one part at a time."""

import json
from pathlib import Path
from typing import Any

LIBRARY = '''
import uuid
from typing import Dict, List, TypedDict


class BookInfo(TypedDict):
    book_id: str
    title: str
    copies: int


class Library:
    def __init__(self, init_config: dict):
        self.books: Dict[str, BookInfo] = {}
        self.loans: Dict[str, dict] = {}
        self.closed_days: set = {"sunday"}
        self._served = 0
        self.init_config = init_config

    def get_book(self, book_id: str) -> dict:
        """
        Look up one book.

        Args:
            book_id (str): Number of the book.

        Returns:
            dict: what was found
        """
        if book_id not in self.books:
            return {"success": False, "error": "No such book"}
        return {"success": True, "data": self.books[book_id]}

    def lend_book(self, book_id: str, reader: str) -> dict:
        """
        Lend a copy to a reader.

        Args:
            book_id (str): Number of the book.
            reader (str): Who takes it.
        """
        self._served += 1
        if self.books[book_id]["copies"] < 1:
            return {"success": False, "error": "No copy left"}
        self.books[book_id]["copies"] -= 1
        self.loans[str(uuid.uuid4())] = {"book_id": book_id, "reader": reader}
        return {"success": True, "message": "Lent"}

    def shut(self, day: str) -> dict:
        """
        Close on a day of the week.

        Args:
            day (str): The day.
        """
        self.closed_days.add(day)
        return {"success": True, "message": "Closed"}

    def count_everything(self):
        return 3
'''

GARDEN = '''
from typing import Dict, Tuple


class Garden:
    def __init__(self):
        self.beds: Dict[Tuple[int, int], str] = {}
        self.tools = {}

    def list_tools(self) -> dict:
        """List all the tools."""
        return {"success": True, "data": list(self.tools.values())}

    def buy_tool(self, name: str) -> dict:
        """
        Buy one more tool.

        Args:
            name (str): What it is.
        """
        self.tools[name] = {"name": name}
        return {"success": True, "message": "Bought"}
'''


def declare(name: str, *parameters: str) -> dict[str, Any]:
    shape = {
        "type": "object",
        "properties": {one: {"type": "string"} for one in parameters},
        "required": list(parameters),
    }
    return {
        "type": "function",
        "function": {"name": name, "description": f"Does {name} there.", "parameters": shape},
    }


def plan(**kinds: str) -> list[dict[str, str]]:
    return [
        {"operation_name": name, "operation_description": "", "operation_type": kind}
        for name, kind in kinds.items()
    ]


def make_environments() -> dict[str, Any]:
    """Both, in two of the formats that are about: lists, and lists as JSON text; the texts about
    state are damaged as they are there."""
    library = {
        "env_id": "env_1_rl",
        "env_class_name": "Library",
        "env_class_code": LIBRARY,
        "environment_summary": "Library",
        "constraints_rules": ["A book without a copy cannot be lent."],
        "state_space_definition": [
            {"entity": "Boo", "attributes": "book_i", "description": "damaged"}
        ],
        "operation_list": plan(get_book="query", lend_book="state_change", shut="state_change"),
        "tools": [
            declare("get_book", "book_id"),
            declare("lend_book", "book_id", "reader"),
            declare("shut", "day"),
        ],
        "env_func_details": {},
    }
    garden = {
        "env_class_name": "Garden",
        "env_class_code": GARDEN,
        "operation_list": json.dumps(plan(list_tools="query", buy_tool="state_change")),
        "tools": json.dumps(
            [declare("list_tools"), declare("buy_tool", "name"), declare("sell_tool", "name")]
        ),
        "env_structure": {"states": []},
    }
    return {"env_1_rl": library, "env_2_sft": garden}


STATE: dict[str, Any] = {
    "books": {"B1": {"book_id": "B1", "title": "Atlas", "copies": 2}},
    "loans": {},
    "closed_days": ["monday", "sunday"],
}
LENT = "def check_func(final_state):\n    return final_state['books']['B1']['copies'] == 1"
FEWER = (
    "def check_func(final_state):\n    return final_state['books']['B1']['copies'] < "
    "initial_state['books']['B1']['copies']"
)
KEPT = "def check_func(final_state):\n    return 'B1' in final_state['books']"
RAISES = "def check_func(final_state):\n    return final_state['shelves']['S1'] > 1"


def make_scenario(
    name: str = "task_1", state: dict[str, Any] | None = None, *checks: str
) -> dict[str, Any]:
    listed = [
        {"check_item": f"Has thing {place} been done?", "check_func": text}
        for place, text in enumerate(checks or (LENT, FEWER, KEPT))
    ]
    return {
        "env_id": "env_1_rl",
        "env_class_name": "Library",
        "task_id": name,
        "init_config": STATE if state is None else state,
        "task": "Lend the atlas to Bo.",
        "checklist_with_func": listed,
    }


def write_release(folder: Path, environments: Any, scenarios: Any) -> Path:
    folder.mkdir()
    (folder / "environments.json").write_text(json.dumps(environments))
    (folder / "rl_scenario_metadata.json").write_text(json.dumps(scenarios))
    return folder
