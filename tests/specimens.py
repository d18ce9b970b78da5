"""A small hand-written environment and its scenario, right in every part; tests break one part at a
time.

Its program runs only in the jail.
"""

from typing import Any

from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from schemas.environment import Call, Environment, Test
from schemas.origin import Origin
from schemas.scenario import Check, Scenario, UserContract, Verifier
from schemas.seed import Brief

PROGRAM = '''
from envmill.runtime import Rejection, new_id, now


class Shed:
    """Tools that members borrow."""

    def __init__(self, state: dict):
        self.tools = state["tools"]
        self.members = state["members"]
        self.loans = state["loans"]

    def list_tools(self, free_only: bool = False) -> list:
        """List the tools of the shed.

        Args:
            free_only: Leave out what is lent.
        """
        return [dict(row, id=key) for key, row in self.tools.items() if row["free"] or not free_only]

    def get_member(self, member_id: str) -> dict:
        """Look up one member.

        Args:
            member_id: Number on the member's card.
        """
        if member_id not in self.members:
            raise Rejection("unknown_member", f"There is no member {member_id}.")
        return dict(self.members[member_id])

    def lend(self, tool_id: str, member_id: str) -> dict:
        """Lend a free tool to a member.

        Args:
            tool_id: Number on the tool.
            member_id: Number on the member's card.
        """
        if tool_id not in self.tools or member_id not in self.members:
            raise Rejection("unknown", "No such tool or member.")
        if not self.tools[tool_id]["free"]:
            raise Rejection("taken", "The tool is lent already.")
        self.tools[tool_id]["free"] = False
        key = new_id("loan")
        self.loans[key] = {"tool": tool_id, "member": member_id, "since": now().isoformat()}
        return {"loan": key}
'''

STATE: dict[str, Any] = {
    "tools": {
        "T1": {"name": "drill", "free": True},
        "T2": {"name": "saw", "free": True},
        "T3": {"name": "axe", "free": False},
    },
    "members": {"M1": {"name": "Ada"}, "M2": {"name": "Bo"}},
    "loans": {},
}

EFFECTS: dict[str, Any] = {"list_tools": "query", "get_member": "query", "lend": "change"}

ORIGIN = Origin(
    recipe="envscaler",
    seed="seed_x",
    provider="offline",
    model="m",
    prompt="program",
    prompt_hash="h",
)


def make_environment(program: str = PROGRAM, **changes: Any) -> Environment:
    """The shed, or a shed with another program."""
    fields: dict[str, Any] = {
        "kind": "stateful",
        "files": {"program.py": program},
        "entry": "program:Shed",
        "tools": KINDS["stateful"].derive_tools(PROGRAM, "Shed", EFFECTS),
        "rules": ["A tool that is lent cannot be lent again."],
        "policy_document": "",
        "name": "Shed",
        "summary": "A shed.",
        "brief": Brief(theme="tool_lending", text="A shed.", number=0),
        "blueprint": "bp_x",
        "licence": "Apache-2.0",
        "origin": ORIGIN,
    }
    return Environment.model_validate(fields | changes)


def make_tests(environment: Environment) -> list[Test]:
    """Three tests a tool, rejections among them."""
    planned: list[tuple[str, dict[str, Any], str]] = [
        ("list_tools", {}, "success"),
        ("list_tools", {"free_only": True}, "success"),
        ("list_tools", {"free_only": "yes"}, "rejection"),
        ("get_member", {"member_id": "M1"}, "success"),
        ("get_member", {"member_id": "M2"}, "success"),
        ("get_member", {"member_id": "M9"}, "rejection"),
        ("lend", {"tool_id": "T1", "member_id": "M1"}, "success"),
        ("lend", {"tool_id": "T3", "member_id": "M1"}, "rejection"),
        ("lend", {"tool_id": "T9", "member_id": "M1"}, "rejection"),
    ]
    return [
        Test.model_validate(
            {
                "environment": environment.id,
                "name": f"{name} {arguments}",
                "initial_state": STATE,
                "setup": [],
                "call": Call(name=name, arguments=arguments),
                "expect": expect,
                "origin": ORIGIN,
            }
        )
        for name, arguments, expect in planned
    ]


LEND = Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"})

VERIFIER = Verifier(
    goals=[
        Check(name="the drill is lent", op="equals", path=["tools", "T1", "free"], value=False),
        Check(
            name="Ada has it",
            op="present",
            path=["loans"],
            value={"tool": "T1", "member": "M1", "since": {"$any": "string"}},
        ),
    ],
    guards=[],
    frame=[["tools", "T1", "free"]],
)


def make_scenario(environment: Environment, **changes: Any) -> Scenario:
    """Lend the drill to Ada."""
    fields: dict[str, Any] = {
        "environment": environment.id,
        "number": 0,
        "draft": "dft_x",
        "initial_state": STATE,
        "request": "Please lend the drill to Ada.",
        "user": UserContract(opening="Please lend the drill to Ada."),
        "oracle": [Call(name="list_tools"), LEND],
        "polarity": "achieve",
        "clock": CLOCK,
        "seed": 7,
        "verifier": VERIFIER,
        "features": {},
        "split": "train",
        "oracle_reward": 1.0,
        "do_nothing_reward": 0.0,
        "origin": ORIGIN,
    }
    return Scenario.model_validate(fields | changes)
