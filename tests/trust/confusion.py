"""Which gates catch which fault, and what honest work they let pass: `python -m
tests.trust.confusion [COUNT] [SEED] [KINDS]`.

offline author ──clean──► environments' gates ──► kept?
               ──fault──► witness? ──► build ──► every gate ──► caught by, and why
               ──operator on the syntax tree──► witness? ──► the same

`ast` among the kinds stands for the operators, `none` for honest work; without kinds, all of them. `review` among them
lets W4 ask the offline author's readers, too.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import offline as author
from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.gates import ENVIRONMENT_GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext
from envmill.kinds.stateful import derive_tools
from envmill.sandbox import Program, Sandbox
from envmill.verifiers.bounds import limit_share
from offline.compose import compose_domain
from offline.faults import KINDS, PlantedFault
from offline.operators import ProgramMutant, sample_mutants, sample_traces
from offline.tests import try_operations
from offline.witness import PlannedProgram, Play, find_witness
from schemas.environment import Effect, Environment, Test
from schemas.prompts import BlueprintReply, ProgramReply, TestsReply
from schemas.seed import Brief
from tests.gates.specimens import ORIGIN
from tests.offline.questions import THEMES, pose
from tests.trust.readers import open_readers

MUTANTS = 4
"""Operators' mutants per environment."""
PLANTED = [(prompt, kind) for prompt in ("program", "tests") for kind in KINDS[prompt]]
UNSIZED: Mapping[str, int] = {}
UNASKED = ("W4",)
"""Gates that want a model's opinions."""
REVIEW = "review"
"""Among the kinds: W4 is asked, too."""


@dataclass
class Row:
    """One kind of fault over many environments."""

    kind: str
    """Its name in the catalogue; `none` for honest work, `ast …` for an operator."""
    tried: int = 0
    """Planted, with a witness or with words that say why it is a fault."""
    silent: int = 0
    """Planted where nothing shows: these do not count."""
    kept: int = 0
    """Dropped by nobody."""
    caught: Counter[str] = field(default_factory=Counter[str])
    """Gate and reason → how often; one fault may be caught by several."""
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """One of each, in words."""

    @property
    def rate(self) -> float:
        return 1 - self.kept / self.tried if self.tried else 0.0

    @property
    def low(self) -> float:
        """Lower bound of the rate, one-sided at 95 %, after Clopper and Pearson."""
        return 1 - limit_share(self.kept, self.tried)

    def note(self, where: str, drops: Sequence[Finding]) -> None:
        self.tried += 1
        self.kept += not drops
        for drop in drops:
            key = f"{drop.gate} {drop.reason}".strip()
            self.caught[key] += 1
            self.examples.setdefault(key, f"{where}: {drop.detail}")
        if not drops:
            self.examples[f"kept {self.kept}"] = where


Place = tuple[str, int]
"""Theme and number of an environment."""


async def measure_environments(count: int, seed: int, kinds: Sequence[str] = ()) -> list[Row]:
    """Rows by kind, each over `count` environments of all domains: see `follow_environments`."""
    rows: dict[str, Row] = {}
    async for kind, where, drops in follow_environments(count, seed, kinds):
        add(rows, kind, where, drops)
    return list(rows.values())


def add(rows: dict[str, Row], kind: str, where: str, drops: Sequence[Finding] | None) -> None:
    row = rows.setdefault(kind, Row(kind))
    if drops is None:
        row.silent += 1
    else:
        row.note(where, drops)


async def follow_environments(
    count: int, seed: int, kinds: Sequence[str] = ()
) -> AsyncIterator[tuple[str, str, Sequence[Finding] | None]]:
    """Kind, place, and the gates that drop it; None for a fault that does not show. Environment by
    environment."""
    review, kinds = REVIEW in kinds, [kind for kind in kinds if kind != REVIEW]
    async with Sandbox.open(Settings.read({})) as sandbox, open_readers(seed) as readers:
        means = GateContext(sandbox, readers if review else None, seed)
        for place in _list_places(count, seed):
            where = f"{place[0]}/{place[1]}"
            if _is_wanted("none", kinds):
                yield "none", where, await _judge(_build(*place, seed), means)
            for prompt, kind in PLANTED:
                if _is_wanted(kind, kinds) and (
                    fault := author.plant(prompt, kind, pose(prompt, *place), seed, 0)
                ):
                    shows = fault.words or await find_witness(fault.pairs, sandbox)
                    spoilt = (
                        _build(*place, seed, program=fault)
                        if prompt == "program"
                        else _build(*place, seed, tests=fault)
                    )
                    yield kind, where, await _judge(spoilt, means) if shows else None
            if _is_wanted("ast", kinds):
                async for found in _follow_mutants(place, seed, means):
                    yield found


def _is_wanted(kind: str, kinds: Sequence[str]) -> bool:
    return not kinds or kind in kinds


def _list_places(count: int, seed: int) -> Iterator[Place]:
    themes = sorted(THEMES)
    for number in range(count):
        yield themes[(number + seed) % len(themes)], number // len(themes)


async def _follow_mutants(
    place: Place, seed: int, means: GateContext
) -> AsyncIterator[tuple[str, str, Sequence[Finding] | None]]:
    reply = ProgramReply.model_validate_json(_answer("program", *place, seed))
    built = _build(*place, seed)
    assert isinstance(built, EnvironmentCase)
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in built.environment.tools}
    domain = compose_domain(Brief(theme=place[0], text="", number=place[1]), seed)
    tried = try_operations(domain, seed)
    clean = PlannedProgram(reply.source, reply.class_name, effects)
    for mutant in sample_mutants(reply.source, MUTANTS, random.Random(f"{place}/{seed}")):
        faulty = PlannedProgram(mutant.source, reply.class_name, effects)
        traces = sample_traces(tried, seed, mutant.function)
        shows = await find_witness(
            ((Play(clean, one), Play(faulty, one)) for one in traces), means.sandbox
        )
        told = f"{place[0]}/{place[1]}: {mutant.operator} in {mutant.function}"
        yield (
            f"ast {mutant.operator}",
            told,
            await _judge(_swap(built, mutant), means) if shows else None,
        )


def _swap(built: EnvironmentCase, mutant: ProgramMutant) -> EnvironmentCase:
    environment = built.environment.model_copy(update={"files": {"program.py": mutant.source}})
    environment = Environment.model_validate(environment.model_dump(exclude={"id"}))
    return EnvironmentCase(environment, built.tests)


async def _judge(built: EnvironmentCase | str, means: GateContext) -> list[Finding]:
    """Every gate that drops or errs, not only the first; what cannot be built is dropped before."""
    if isinstance(built, str):
        return [Finding("build", "dropped", "", built)]
    try:
        await means.sandbox.inspect(Program.of(built.environment))
    except BuildError as error:
        return [Finding("build", "dropped", "does_not_load", error.message)]
    found = [
        await gate.check(built, means)
        for gate in ENVIRONMENT_GATES
        if means.models or gate.name not in UNASKED
    ]
    return [one for one in found if one.outcome in ("dropped", "error")]


def build_sized(theme: str, tools: int) -> EnvironmentCase:
    """An honest environment of so many tools."""
    built = _build(theme, 0, 0, size={"tools": tools})
    assert isinstance(built, EnvironmentCase), built
    return built


def _build(
    theme: str,
    number: int,
    seed: int,
    program: PlantedFault | None = None,
    tests: PlantedFault | None = None,
    size: Mapping[str, int] = UNSIZED,
) -> EnvironmentCase | str:
    """The environment as the factory makes it of the replies; text says why it cannot."""
    plan = BlueprintReply.model_validate_json(_answer("blueprint", theme, number, seed, size))
    try:
        written = ProgramReply.model_validate_json(
            program.text if program else _answer("program", theme, number, seed, size)
        )
        tested = TestsReply.model_validate_json(
            tests.text if tests else _answer("tests", theme, number, seed, size)
        )
        tools = derive_tools(
            written.source, written.class_name, {tool.name: tool.effect for tool in plan.tools}
        )
    except (BuildError, ValueError) as error:
        return str(error)[:200]
    environment = Environment(
        kind="stateful",
        files={"program.py": written.source},
        entry=f"program:{written.class_name}",
        tools=tools,
        rules=plan.rules,
        policy_document=plan.policy,
        name=plan.name,
        summary=plan.summary,
        brief=Brief(theme=theme, text="", number=number),
        blueprint="bp_x",
        licence="Apache-2.0",
        origin=ORIGIN,
    )
    return EnvironmentCase(environment, tuple(_store(environment, tested)))


def _answer(
    prompt: str, theme: str, number: int, seed: int, size: Mapping[str, int] = UNSIZED
) -> str:
    inputs = pose(prompt, theme, number)
    return author.answer(prompt, inputs | {"brief": inputs["brief"] | size}, seed, 0, 0.0)


def _store(environment: Environment, reply: TestsReply) -> Iterator[Test]:
    for one in reply.tests:
        fields = {
            "environment": environment.id,
            "initial_state": reply.initial_state,
            "origin": ORIGIN,
            **dict(one),
        }
        yield Test.model_validate(fields)


HEAD = "| fault | n | silent | caught | at least | by |\n|---|---|---|---|---|---|\n"


def render_row(row: Row) -> str:
    """One line of the confusion table."""
    by = ", ".join(f"{key} {times}" for key, times in row.caught.most_common())
    return f"| {row.kind} | {row.tried} | {row.silent} | {row.rate:.0%} | {row.low:.0%} | {by} |\n"


async def main(count: int, seed: int, kinds: Sequence[str]) -> None:
    """What is seen as soon as it is seen, on stderr; then the table, and one example of each
    outcome."""
    rows: dict[str, Row] = {}
    async for kind, where, drops in follow_environments(count, seed, kinds):
        add(rows, kind, where, drops)
        told = (
            "silent"
            if drops is None
            else [[one.gate, one.reason, one.detail[:200]] for one in drops]
        )
        sys.stderr.write(json.dumps([kind, where, told]) + "\n")
    sys.stdout.write(HEAD + "".join(map(render_row, rows.values())))
    for row in rows.values():
        for key, words in row.examples.items():
            sys.stdout.write(f"  {row.kind} -> {key}: {words[:300]}\n")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    count, seed = [*numbers, *(8, 11)[len(numbers) :]][:2]
    asyncio.run(main(count, seed, [one for one in sys.argv[1:] if not one.isdigit()]))
