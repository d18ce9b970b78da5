"""Environments of the offline author, as the factory makes them of replies: clean, with a planted
fault, or with a mutant of the code."""

import random
from collections.abc import Iterator

import offline as author
from envmill.base.errors import BuildError
from envmill.gates.base import EnvironmentCase
from envmill.kinds.stateful import derive_tools
from envmill.sandbox import Program, Sandbox
from offline.compose import compose_domain
from offline.faults import PlantedFault
from offline.operators import ProgramMutant, sample_mutants, sample_traces
from offline.tests import try_operations
from offline.witness import PlannedProgram, Play, find_witness
from schemas.environment import Effect, Environment, Test
from schemas.origin import Origin
from schemas.prompts import BlueprintReply, ProgramReply, TestsReply
from schemas.seed import Brief
from tests.offline.questions import SEED, THEMES, pose

ORIGIN = Origin(
    recipe="envscaler",
    seed="seed_x",
    provider="offline",
    model="m",
    prompt="program",
    prompt_hash="h",
)
MUTANTS = 4
"""Operators' mutants drawn of one program; each place tries one of them."""


async def make_clean(theme: str, number: int, sandbox: Sandbox) -> EnvironmentCase | str:
    """The environment; text says which step could not make it, and why."""
    return await _build(theme, number, "", sandbox)


async def make_faulty(
    theme: str, number: int, prompt: str, kind: str, sandbox: Sandbox
) -> EnvironmentCase | str | None:
    """The same with a fault; None where it has no place, or shows nowhere."""
    fault: PlantedFault | None = author.plant(prompt, kind, pose(prompt, theme, number), SEED, 0)
    if fault is None or not (fault.words or await find_witness(fault.pairs, sandbox)):
        return None
    return await _build(
        theme,
        number,
        fault.text if prompt == "program" else "",
        sandbox,
        fault.text if prompt == "tests" else "",
    )


async def make_mutant(
    theme: str, number: int, which: int, sandbox: Sandbox
) -> tuple[str, EnvironmentCase | None] | None:
    """(operator, environment) of one mutant of the code; no environment where nothing shows it."""
    built = await make_clean(theme, number, sandbox)
    mutants: list[ProgramMutant] = (
        sample_mutants(
            built.environment.files["program.py"], MUTANTS, random.Random(f"{theme}/{number}")
        )
        if isinstance(built, EnvironmentCase)
        else []
    )
    if not isinstance(built, EnvironmentCase) or which >= len(mutants):
        return None
    mutant, environment = mutants[which], built.environment
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in environment.tools}
    class_name = environment.entry.partition(":")[2]
    domain = compose_domain(Brief(theme=theme, text="", number=number), SEED)
    traces = sample_traces(try_operations(domain, SEED), SEED, mutant.function)
    clean, faulty = (
        PlannedProgram(source, class_name, effects)
        for source in (environment.files["program.py"], mutant.source)
    )
    if not await find_witness(((Play(clean, one), Play(faulty, one)) for one in traces), sandbox):
        return mutant.operator, None
    spoilt = environment.model_copy(update={"files": {"program.py": mutant.source}})
    return mutant.operator, EnvironmentCase(
        Environment.model_validate(spoilt.model_dump(exclude={"id"})), built.tests
    )


async def _build(
    theme: str, number: int, program: str, sandbox: Sandbox, tests: str = ""
) -> EnvironmentCase | str:
    plan = BlueprintReply.model_validate_json(_answer("blueprint", theme, number))
    try:
        written = ProgramReply.model_validate_json(program or _answer("program", theme, number))
        tested = TestsReply.model_validate_json(tests or _answer("tests", theme, number))
        tools = derive_tools(
            written.source, written.class_name, {tool.name: tool.effect for tool in plan.tools}
        )
    except (BuildError, ValueError) as error:
        return f"does_not_load: {error}"
    if strange := {tool.name for tool in tools} ^ {tool.name for tool in plan.tools}:
        return f"plan: not exactly the planned tools: {', '.join(sorted(strange))}"
    environment = Environment(
        kind="stateful",
        files={"program.py": written.source},
        entry=f"program:{written.class_name}",
        tools=tools,
        rules=plan.rules,
        policy_document=plan.policy,
        name=plan.name,
        summary=plan.summary,
        brief=Brief(theme=theme, text=THEMES[theme], number=number),
        blueprint="bp_x",
        licence="Apache-2.0",
        origin=ORIGIN,
    )
    try:
        await sandbox.inspect(Program.of(environment))
    except BuildError as error:
        return f"does_not_load: {error.message}"
    return EnvironmentCase(environment, tuple(_store(environment, tested)))


def _answer(prompt: str, theme: str, number: int) -> str:
    return author.answer(prompt, pose(prompt, theme, number), SEED, 0, 0.0)


def _store(environment: Environment, reply: TestsReply) -> Iterator[Test]:
    for one in reply.tests:
        fields = {
            "environment": environment.id,
            "initial_state": reply.initial_state,
            "origin": ORIGIN,
        }
        yield Test.model_validate(fields | dict(one))
