"""The kind `counters`: numbers under names, held by a host of its own. It shows what a new kind
takes.

counters.json ──Reset──► numbers ──read, add──► numbers
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from envmill.base.settings import Settings
from envmill.kinds.base import BuildContext, BuildResult, Composition, Look, Policies, Sources
from envmill.kinds.findings import EnvironmentCase, Finding, GateContext, drop, keep
from envmill.kinds.jailed import JailedKind
from envmill.kinds.start import CLOCK
from envmill.runtime.interface import Interface, ToolEntry
from envmill.sandbox import Invoke, Observation, Program, Reset, Restore, Sandbox, Snapshot, Step
from envmill.sandbox import Look as See
from envmill.sandbox.host import Host
from envmill.sandbox.plan import Outcome
from schemas.base import Json, digest
from schemas.database import Table
from schemas.environment import Blueprint, Call, Effect, Environment, Tool
from schemas.ledger import ReasonClass
from schemas.prompts import ScenarioReply
from schemas.scenario import Scenario

HOME = "counters.json"
NAMES = {"type": "string", "description": "Name of the counter.", "minLength": 1}


def _describe(properties: dict[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


TOOLS = [
    Tool(
        name="read_counter",
        description="Read one counter.",
        parameters=_describe({"name": NAMES}),
        effect="query",
    ),
    Tool(
        name="add_to_counter",
        description="Add to one counter.",
        parameters=_describe(
            {
                "name": NAMES,
                "amount": {"type": "integer", "description": "How much is added.", "minimum": 1},
            }
        ),
        effect="change",
    ),
]


class Numbers:
    """One session."""

    def __init__(self, tools: Sequence[ToolEntry]) -> None:
        self._interface = Interface(tools)
        self._state: dict[str, Json] = {}

    async def play(self, step: Step) -> Observation:
        match step:
            case Reset(state=state):
                self._state = json.loads(json.dumps(state))
                return self._answer("ok")
            case Invoke(call=call):
                return self._call(call)
            case See():
                return self._answer("ok", state=json.loads(json.dumps(self._state)))
            case Snapshot():
                return self._answer(
                    "ok", [{"type": "json", "value": json.loads(json.dumps(self._state))}]
                )
            case Restore(snapshot=snapshot):
                self._state = json.loads(json.dumps(snapshot))
                return self._answer("ok")
            case _:
                return self._answer(
                    "rejection", code="not_here", message=f"Counters know no {type(step).__name__}."
                )

    def _call(self, call: Call) -> Observation:
        if call.name not in self._interface.tools:
            return self._answer(
                "rejection", code="unknown_tool", message=f"There is no tool {call.name!r}."
            )
        if fault := self._interface.check(call.name)(call.arguments):
            return self._answer("rejection", code="invalid_arguments", message=f"arguments{fault}.")
        counters = self._state["counters"]
        if (name := call.arguments["name"]) not in counters:
            return self._answer(
                "rejection", code="unknown_counter", message=f"There is no counter {name!r}."
            )
        if call.name == "add_to_counter":
            counters[name]["value"] += call.arguments["amount"]
        return self._answer("ok", [{"type": "json", "value": dict(counters[name])}])

    def _answer(
        self,
        outcome: Outcome,
        parts: list[Json] | None = None,
        code: str = "",
        message: str = "",
        state: dict[str, Json] | None = None,
    ) -> Observation:
        return Observation(outcome, parts or [], code, message, digest(self._state), state)


class Shelf:
    """Opens sessions over counters; nothing has to be closed."""

    @asynccontextmanager
    async def open(
        self, files: Mapping[str, str], tools: Sequence[ToolEntry], *, fresh: bool = False
    ) -> AsyncGenerator[Numbers]:  # fmt: skip
        yield Numbers(tools)

    async def close(self) -> None:
        return


async def look_at_odd_arguments(built: EnvironmentCase, means: GateContext) -> Finding:
    """The kind's own W6."""
    odd = Invoke(Call(name="add_to_counter", arguments={"name": "", "amount": -1}))
    reset = Reset(json.loads(built.environment.files[HOME]), CLOCK, 0)
    _, seen = await means.sandbox.play(Program.of(built.environment), [reset, odd])
    return (
        keep("W6")
        if seen.outcome == "rejection"
        else drop("W6", "counted", "what is no amount was added")
    )


_NOT_HERE = dict.fromkeys(
    (
        "W3",
        "W4",
        "W5",
        "W7",
        "W8",
        "W9",
        "W11",
        "W12",
        "W13",
        "S7",
        "S8",
        "S9",
        "S10",
        "S15",
        "S17",
        "S18",
    ),
    "counters are written by no author",
)


class Counters(JailedKind):
    """Sessions are a host's; the verifier is derived as of any state."""

    name = "counters"
    resets_in_place = False
    takes_checklists = False
    gates: Mapping[str, Look | str] = {"W6": look_at_odd_arguments, **_NOT_HERE}
    codes: Mapping[str, Mapping[str, ReasonClass]] = {"W6": {"counted": "proof"}}

    def open_host(self, settings: Settings) -> Host | None:
        return Shelf()

    def find_plan_faults(self, plan: Blueprint) -> list[str]:
        return [] if HOME in plan.files else [f"There are no counters: add {HOME}."]

    async def build(self, blueprint: Blueprint, workshop: BuildContext) -> BuildResult:
        told = blueprint.model_dump(
            include={
                "kind",
                "files",
                "brief",
                "rules",
                "policy_document",
                "name",
                "summary",
                "licence",
                "origin",
            }
        )
        made = {
            "entry": "counters:Counters",
            "tools": [tool.model_dump() for tool in TOOLS],
            "blueprint": blueprint.id,
        }
        return BuildResult((Environment.model_validate(told | made),))

    def find_home(self, entry: str) -> str:
        return HOME

    def derive_tools(
        self, source: str, class_name: str, effects: Mapping[str, Effect]
    ) -> list[Tool]:
        return TOOLS

    def derive_tables(self, files: Mapping[str, str], policies: Policies) -> list[Table]:
        return []

    def list_sources(self, environment: Environment) -> Sources:
        return Sources([environment.files[HOME]])

    async def compose_scenario(
        self, environment: Environment, number: int, seed: int, turn: int, sandbox: Sandbox
    ) -> Composition | None:
        """Two counters go up, by amounts that follow from number, seed and turn."""
        state = json.loads(environment.files[HOME])
        names = sorted(state["counters"])
        one, other = names[number % len(names)], names[(number + 1) % len(names)]
        amounts = {one: 2 + number + turn, other: 7 + number + seed % 5}
        oracle = [
            Call(name="add_to_counter", arguments={"name": name, "amount": amount})
            for name, amount in amounts.items()
        ]
        wishes = " and ".join(f"{amount} to {name}" for name, amount in amounts.items())
        return Composition(
            ScenarioReply(initial_state=state, request=f"Please add {wishes}.", oracle=oracle)
        )

    def find_formless(self, exporter: str, scenario: Scenario) -> str:
        return (
            "nothing outside of the factory holds counters"
            if exporter in ("bundle", "harbor")
            else ""
        )

    def locate_verifier(self, environment: Environment, scenario: Scenario) -> Json:
        return {"counters": environment.id, "id": scenario.id}

    def describe(self, environment: Environment) -> Iterator[str]:
        yield f"Counters: {', '.join(sorted(json.loads(environment.files[HOME])['counters']))}."
