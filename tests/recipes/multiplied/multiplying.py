"""Items multiplied by operators: each case is put to the checks of its part, and what they say is
held against what they must say.

World × Operator ─► case ─► checks ─► says more than of the item as it was?   fault: caught   honest: refused
"""

import ast
import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, cast

from envmill.base.errors import BuildError, EnvMillError
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, GateContext, ScenarioCase
from envmill.kinds import KINDS
from envmill.kinds.dialogue.atoms import find_atom_faults, read_repertoire
from envmill.kinds.dialogue.kind import DialogueKind
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.dialogue.posing import Poser
from envmill.kinds.dialogue.proving import Bench
from envmill.kinds.sql.database import find_database_faults
from envmill.recipes.tau2 import find_word_fault
from envmill.sandbox import Sandbox
from envmill.stages.passing import settle
from schemas.dialogue import Repertoire
from schemas.environment import Blueprint, Environment
from schemas.run import RecipeName
from tests.real_authors.faults import differs_from
from tests.recipes.multiplied import desks
from tests.recipes.multiplied.machines import (
    ERRANDS,
    LIVE,
    SYSTEMS,
    Proposed,
    Said,
    Written,
    check_errand,
    check_system,
    list_errands,
    list_replies,
    plan_system,
)
from tests.recipes.multiplied.operators import SEED, SOURCE, Operator
from tests.recipes.multiplied.plans import PLANS
from tests.recipes.multiplied.programs import PROGRAMS
from tests.recipes.multiplied.scenarios import SCENARIOS
from tests.recipes.multiplied.worlds import list_worlds

RESULTS = Path(__file__).parent / "results.json"
MOST = 210
"""Cases of a recipe."""
MORE: dict[str, int] = {"tau2": 450}
"""Of those with more operators."""
_BESIDE, _BESIDE_ATOMS = 8, 2
_FIRST = ("W1", "W2", "W3")
"""Gates that see most faults of programs: asked before those that explore."""


@dataclass(frozen=True)
class Case:
    """One item, changed once."""

    item: str
    operator: Operator
    subject: Any
    original: Any

    @property
    def label(self) -> str:
        return f"{self.item} {self.operator.part}/{self.operator.name}"


@dataclass(frozen=True)
class Result:
    """What became of it."""

    item: str
    part: str
    operator: str
    honest: bool
    said: str
    """First check that says more than before, with its reason; empty where none does."""
    idle: bool = False
    """A change of a program that no check and no call of 200 shows: no fault."""


Subjects = Sequence[tuple[Sequence[Operator], Sequence[tuple[str, Any]]]]
"""Operators, and the items that they change, by name."""


async def list_subjects(recipe: RecipeName, sandbox: Sandbox) -> Subjects:
    if recipe == "endless_terminals":
        return [(ERRANDS, list_errands())]
    if recipe == "perturb":
        return [(SYSTEMS, list_replies(await plan_system()))]
    worlds = await list_worlds(recipe, sandbox)
    plans = [(world.name, world.plan) for world in worlds]
    built = [(world.name, world.built) for world in worlds]
    posed = [(world.name, posed) for world in worlds for posed in world.posed]
    if recipe == "tau2":  # each environment before any comes again
        turns = zip_longest(*([(world.name, one) for one in world.posed] for world in worlds))
        posed = [one for turn in turns for one in turn if one]
    if recipe != "tau2":
        return [(PLANS, plans), (PROGRAMS, built), (SCENARIOS, posed)]
    return [
        ((*PLANS, *desks.PLANS), plans),
        ((*PROGRAMS, *desks.PROGRAMS, *desks.ATOM_OPERATORS), built),
        ((*SCENARIOS, *desks.SCENARIOS), posed),
        (desks.WORDS, [(name, desks.read_words(one)) for name, one in posed]),
    ]


def list_cases(subjects: Subjects, most: int, seed: int = SEED) -> list[Case]:
    """Operators in turn, of each the items in turn, until there are enough or no more."""
    queues = [
        _deal(operator, items, seed) for operators, items in subjects for operator in operators
    ]
    cases: list[Case] = []
    while queues and len(cases) < most:
        left: list[Iterator[Case]] = []
        for queue in queues:
            if (case := next(queue, None)) is not None:
                cases.append(case)
                left.append(queue)
        queues = left
    return cases[:most]


def _deal(operator: Operator, items: Sequence[tuple[str, Any]], seed: int) -> Iterator[Case]:
    made = [
        (name, item, operator.change(item, Random(f"{seed}/{name}/{place}/{operator.name}")))
        for place, (name, item) in enumerate(items)
    ]
    while made:
        left: list[Any] = []
        for name, item, versions in made:
            if (changed := next(versions, None)) is not None:
                yield Case(name, operator, changed, item)
                left.append((name, item, versions))
        made = left


class Court:
    """Puts cases to the checks. What they say of an item as it was is asked once."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._known: dict[int, tuple[Any, dict[str, Said]]] = {}

    async def judge_all(self, cases: Sequence[Case]) -> list[Result]:
        """Some side by side: most of the time is spent waiting for the jail."""
        room = asyncio.Semaphore(_BESIDE)

        async def judge(case: Case) -> Result:
            async with room:
                return await self.judge(case)

        return list(await asyncio.gather(*map(judge, cases)))

    async def judge(self, case: Case) -> Result:
        _, known = self._known.setdefault(id(case.original), (case.original, {}))
        said = ""
        for name, check in self._list_checks(case):
            if more := await check(case.subject):
                if name not in known:
                    known[name] = await check(case.original)
                if more := more - known[name]:
                    said = " ".join(next(iter(more)))
                    break
        told = (case.item, case.operator.part, case.operator.name, case.operator.honest, said)
        return Result(*told, idle=not said and await self._is_idle(case))

    async def _is_idle(self, case: Case) -> bool:
        if case.operator.part != "program" or case.operator.honest:
            return False
        built, changed = case.original, case.subject.environment
        return not await differs_from(
            built.environment,
            built.tests,
            changed,
            _name_changed(built.environment, changed),
            case.label,
            self._sandbox,
        )

    def _list_checks(self, case: Case) -> Iterator[tuple[str, Callable[[Any], Awaitable[Said]]]]:
        if isinstance(case.subject, Blueprint):
            yield "plan", self._ask_plan
        elif isinstance(case.subject, Written):
            yield (
                "errand",
                lambda subject: check_errand(
                    subject, self._sandbox, live=case.operator.part in LIVE
                ),
            )
        elif isinstance(case.subject, Proposed):
            yield "system", check_system
        elif isinstance(case.subject, desks.Worded):
            yield "words", _ask_words
        else:
            composed = case.subject.environment.kind == "dialogue" and isinstance(
                case.subject, EnvironmentCase
            )
            if composed:
                yield "marks", _ask_marks
            if case.operator in desks.PROVED:
                yield "atoms", self._ask_atoms(case)
            if case.operator.part == "atoms":
                return
            gates = (
                ENVIRONMENT_GATES if isinstance(case.subject, EnvironmentCase) else SCENARIO_GATES
            )
            for gate in sorted(gates, key=lambda gate: gate.name not in _FIRST):
                if not gate.asks and gate.when != "late":
                    yield gate.name, self._ask_gate(gate)

    async def _ask_plan(self, plan: Blueprint) -> Said:
        faults = [
            *KINDS[plan.kind].find_plan_faults(plan),
            *await find_database_faults(plan, self._sandbox),
        ]
        return Counter(("plan", _shorten(fault)) for fault in faults)

    def _ask_atoms(self, case: Case) -> Callable[[Any], Awaitable[Said]]:
        """Their proofs over the program, as before an environment of recipe `tau2` is kept. Of
        changed ones a few others are proved beside them, which cost as much as they do."""
        kind = cast(DialogueKind, KINDS["dialogue"])

        async def ask(built: EnvironmentCase) -> Said:
            environment = built.environment
            dialogue, tools = read_dialogue(environment.files), environment.tools
            written, before = (
                _read_atoms(environment),
                _read_atoms(case.original.environment),
            )
            if faults := find_atom_faults(written, dialogue, tools):
                return Counter([("atoms", _shorten(faults[0]))])
            if case.operator.part == "atoms":
                changed = [atom for atom in written.atoms if atom not in before.atoms]
                others = [atom for atom in written.atoms if atom in before.atoms]
                kept = [*changed, *others[:_BESIDE_ATOMS]]
                written = written.model_copy(
                    update={"atoms": [atom for atom in written.atoms if atom in kept]}
                )
            try:
                bench = Bench(environment, dialogue, written, self._sandbox)
                found = await Poser(bench, kind.derive_verifier).judge()
            except EnvMillError as error:
                return Counter([("atoms", f"error: {_shorten(str(error))}")])
            return Counter(("atoms", f"{one.code}: {_shorten(one.words)}") for one in found)

        return ask

    def _ask_gate(self, gate: Any) -> Callable[[Any], Awaitable[Said]]:
        async def ask(subject: EnvironmentCase | ScenarioCase) -> Said:
            try:
                found = (
                    await gate.check(subject, GateContext(self._sandbox, seed=SEED, episodes=20))
                ).spread()
            except EnvMillError as error:
                return Counter([(gate.name, f"error: {_shorten(str(error))}")])
            settled = [settle(gate, one) for one in found]
            return Counter(
                (one.gate, one.reason)
                for one in settled
                if one.outcome in ("dropped", "suspected", "corrected")
            )

        return ask


def _read_atoms(environment: Environment) -> Repertoire:
    repertoire = read_repertoire(environment.files)
    assert repertoire is not None
    return repertoire


async def _ask_marks(built: EnvironmentCase) -> Said:
    environment = built.environment
    try:
        KINDS[environment.kind].derive_tables(environment.files, {})
    except BuildError as error:
        return Counter([("marks", _shorten(str(error)))])
    return Counter()


async def _ask_words(worded: desks.Worded) -> Said:
    fault = find_word_fault(worded.reply, worded.composed)
    return Counter([("words", _shorten(fault))] if fault else [])


def _name_changed(environment: Environment, changed: Environment) -> str:
    """The first method that reads otherwise: calls of it are tried most."""
    before, after = (
        {
            node.name: ast.unparse(node)
            for node in ast.walk(ast.parse(one.files[SOURCE]))
            if isinstance(node, ast.FunctionDef)
        }
        for one in (environment, changed)
    )
    return next((name for name, text in before.items() if after.get(name) != text), "")


def _shorten(text: str) -> str:
    return " ".join(text.split())[:60]


def read_results() -> dict[str, list[Result]]:
    told: dict[str, list[list[Any]]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {recipe: [Result(*line) for line in lines] for recipe, lines in told.items()}


def write_results(found: dict[str, list[Result]]) -> None:
    told = {
        recipe: [
            [one.item, one.part, one.operator, one.honest, one.said, one.idle] for one in lines
        ]
        for recipe, lines in sorted(found.items())
    }
    text = ",\n".join(
        f' "{recipe}": [\n'
        + ",\n".join(f"  {json.dumps(line, ensure_ascii=False)}" for line in lines)
        + "\n ]"
        for recipe, lines in told.items()
    )
    RESULTS.write_text("{\n" + text + "\n}\n", encoding="utf-8")
