"""Every kind fills every hook: each is called over one specimen of the kind, and what comes back is
what the callers expect."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.interop.exporters import EXPORTERS
from envmill.kinds import KINDS, kind_of
from envmill.kinds.base import BuildResult, Composition, CompositionFindings, Kind
from envmill.kinds.endings import play_twice
from envmill.kinds.sql import list_policies
from envmill.sandbox import Sandbox
from envmill.verifiers.derive import asks_for_something
from envmill.verifiers.ending import Ending
from schemas.environment import Blueprint, Effect, Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, Scenario
from tests.kinds import terminals
from tests.samples import dialogue, sql
from tests.samples.dialogue import atoms
from tests.specimens import make_environment, make_scenario

HOOKS = {name for name in (*vars(Kind), *Kind.__annotations__) if not name.startswith("_")}
Specimen = tuple[Environment, Scenario]


def _stateful() -> Specimen:
    environment = make_environment()
    return environment, make_scenario(environment)


def _sql() -> Specimen:
    folder = sql.load("workshop")
    return folder.environment, next(one for one in folder.scenarios if one.polarity == "achieve")


def _terminal() -> Specimen:
    environment = terminals.make_environment()
    return environment, terminals.make_scenario(environment, terminals.break_system(), {"posts"})


def _dialogue() -> Specimen:
    folder = dialogue.load()
    return folder.environment, next(
        one for one in folder.scenarios if any(call.asks for call in one.oracle)
    )


SPECIMENS: dict[str, Callable[[], Specimen]] = {
    "stateful": _stateful,
    "sql": _sql,
    "terminal": _terminal,
    "dialogue": _dialogue,
}


COLLECTIONS: dict[str, dict[str, list[str]]] = {
    "stateful": {"tools": ["id", "name"]},
    "terminal": {"tools": ["id", "name"]},
    "dialogue": {
        name: [*next(iter(rows.values()), {"id": ""})] for name, rows in atoms.START.items()
    },
}
"""Where states are no tables."""


class Asked:
    """A kind that remembers which of its hooks were asked for."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.hooks = kind, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.hooks.add(name)
        return getattr(self.kind, name)


@dataclass(frozen=True)
class Bench:
    """A workshop in which programs are there already."""

    environment: Environment
    sandbox: Any = None
    models: Any = None
    author: Any = None
    rehearses: bool = False

    async def write_program(self, blueprint: Blueprint) -> BuildResult:
        return BuildResult((self.environment.model_copy(update={"blueprint": blueprint.id}),))

    async def judge_scenario(
        self, environment: Environment, reply: ScenarioReply, models: Any
    ) -> CompositionFindings:
        return CompositionFindings()


def plan_of(environment: Environment) -> Blueprint:
    """A blueprint that the environment could have come from."""
    kept = environment.model_dump(
        include={
            "kind",
            "brief",
            "name",
            "summary",
            "rules",
            "policy_document",
            "licence",
            "origin",
        }
    )
    tools = [
        {"name": tool.name, "description": tool.description, "effect": tool.effect}
        for tool in environment.tools
    ]
    touches = {
        tool.name: {"reads": tool.reads, "writes": tool.writes}
        for tool in environment.tools
        if tool.reads or tool.writes
    }
    files = {path: text for path, text in environment.files.items() if path != "program.py"}
    tables = {table.name: [column.name for column in table.columns] for table in environment.tables}
    rest = {
        "tools": tools,
        "touches": touches,
        "files": files,
        "collections": tables or COLLECTIONS[environment.kind],
    }
    return Blueprint.model_validate({**kept, **rest, "policies": list_policies(environment.tables)})


def draft_of(scenario: Scenario) -> Draft:
    kept = {
        "environment",
        "number",
        "initial_state",
        "request",
        "user",
        "oracle",
        "polarity",
        "clock",
        "seed",
        "say",
        "origin",
    }
    changed = [{"path": ["a"], "op": "set"}]
    return Draft.model_validate(
        scenario.model_dump(include=kept)
        | {"changes": changed, "gold_hash": "", "tell": scenario.verifier.facts}
    )


def check_reading(kind: Kind, environment: Environment) -> None:
    """What a folder or a reply is read by gives the environment again."""
    assert kind.name == environment.kind
    home = kind.find_home(environment.entry)
    assert home in environment.files
    tables = kind.derive_tables(environment.files, kind.list_policies(environment.tables) or {})
    assert tables == environment.tables
    assert bool(tables) is kind.tabled
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in environment.tools}
    tools = kind.derive_tools(environment.files[home], environment.entry.partition(":")[2], effects)
    touches: Any = plan_of(environment).touches
    assert [tool.name for tool in kind.add_touches(tools, touches, tables)] == [
        tool.name for tool in environment.tools
    ]
    assert set(kind.list_sources(environment).texts) <= set(environment.files.values())
    assert kind.list_sources(environment).texts
    assert all(line.strip() for line in kind.describe(environment))
    assert list(kind.describe(environment))


def check_gates(kind: Kind) -> None:
    own = {name for name, look in kind.gates.items() if callable(look)}
    assert set(kind.gates) <= set(GATES)
    assert all(look.strip() for look in kind.gates.values() if isinstance(look, str))
    assert set(kind.codes) == own
    for name in own:
        assert set(kind.codes[name]) <= set(GATES[name].codes)


def check_leaving(kind: Kind, environment: Environment, scenario: Scenario) -> None:
    assert all(text.strip() for text in kind.render_demands(environment, scenario))
    assert list(kind.render_demands(environment, scenario))
    formless = {name: kind.find_formless(name, scenario) for name in EXPORTERS}
    assert not formless["sft"]
    assert sum(bool(why) for why in (formless["bundle"], formless["harbor"])) == 1
    assert not kind.find_formless("rl", scenario)
    where: Any = kind.locate_verifier(environment, scenario)
    assert where["id"] == scenario.id


async def check_planning(kind: Kind, environment: Environment, sandbox: Sandbox) -> None:
    empty = {
        "files": {},
        "collections": {},
        "rules": [],
        "tools": [],
        "touches": {},
        "policies": {},
    }
    plan = plan_of(environment)
    assert kind.find_plan_faults(plan.model_copy(update=empty))
    assert kind.find_plan_faults(plan) == []
    assert await kind.try_plan(plan, sandbox) == []
    made = await kind.build(plan, Bench(environment))
    assert [type(one) for one in made.records if isinstance(one, Environment)] == [Environment]
    assert made.findings == ()
    built = cast(Environment, made.records[-1])
    assert (built.files, built.blueprint) == (environment.files, plan.id)


async def check_scenarios(
    kind: Kind, environment: Environment, scenario: Scenario, sandbox: Sandbox
) -> None:
    assert 1 <= kind.count_scenarios(environment, 5) <= 5
    composed = await kind.compose_scenario(environment, 0, 1, 0, sandbox)
    assert composed is None or composed.reply.oracle
    assert kind.choose_reward("binary") == "binary"
    draft = draft_of(scenario)
    if kind.open_host(Settings.read({})) is None:
        ends = await play_twice(draft, environment, sandbox)
        assert not isinstance(ends, str), ends
    else:
        ends = (
            Ending(draft.initial_state, draft.initial_state),
            Ending(draft.initial_state, draft.initial_state),
        )
    for breach in kind.list_breaches(environment, scenario, ends[0]):
        assert breach.rule
        assert breach.ending != ends[0]
    composed_verifier = await kind.derive_verifier(draft, environment, ends, sandbox)
    assert asks_for_something(composed_verifier.verifier)


@pytest.mark.parametrize("name", KINDS)
async def test_every_hook_of_every_kind(
    name: str, jail: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def compose(environment: Environment, *_: Any) -> Composition:
        return Composition(ScenarioReply(initial_state={}, request="", oracle=scenario.oracle))

    monkeypatch.setattr("envmill.kinds.terminal.kind.perturb", compose)
    environment, scenario = SPECIMENS[name]()
    asked = Asked(kind_of(environment))
    kind = cast(Kind, asked)
    check_reading(kind, environment)
    check_gates(kind)
    check_leaving(kind, environment, scenario)
    await check_planning(kind, environment, jail)
    await check_scenarios(kind, environment, scenario, jail)
    facts = (
        kind.resets_in_place,
        kind.looks_freely,
        kind.keeps_clock,
        kind.takes_checklists,
        kind.tests_move,
        kind.knows_near_misses,
    )
    assert {type(fact) for fact in facts} == {bool}
    assert asked.hooks == HOOKS


def test_a_hook_that_is_missing_is_seen() -> None:
    """The list of hooks is the protocol's own, so that a new hook is asked for here as well."""
    assert {"build", "gates", "tabled", "describe", "open_host"} <= HOOKS
    assert "_name" not in HOOKS
    assert all(hasattr(kind, hook) for kind in KINDS.values() for hook in HOOKS)
