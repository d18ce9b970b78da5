"""Which gate catches which fault, and what honest work they let pass: `python -m tests.trust.confusion [COUNT] [SEED] [KINDS]`.

offline author ──clean──► environments' gates ──► kept?
               ──fault──► witness? ──► build ──► environments' gates ──► caught by, and why
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from envmill import author
from envmill.author.faults import KINDS, Fault
from envmill.author.witness import find_witness
from envmill.errors import BuildError
from envmill.gates import ENVIRONMENT_GATES
from envmill.gates.base import Built, Finding, Means
from envmill.kinds.stateful import derive_tools
from envmill.sandbox import Program, Sandbox
from envmill.settings import Settings
from schemas.environment import Environment, Test
from schemas.prompts import BlueprintReply, ProgramReply, TestsReply
from schemas.seed import Brief
from tests.author.questions import THEMES, pose
from tests.gates.specimens import ORIGIN


@dataclass
class Row:
    """One kind of fault over many environments."""

    kind: str
    """Its name in the catalogue; `none` for honest work."""
    tried: int = 0
    """Planted, with a witness or with words that say why it is a fault."""
    silent: int = 0
    """Planted where nothing shows: these do not count."""
    caught: Counter[str] = field(default_factory=Counter[str])
    """Gate and reason → how often; `kept` for those that went through."""
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """One of each, in words."""

    @property
    def rate(self) -> float:
        return 1 - self.caught["kept"] / self.tried if self.tried else 0.0


async def measure_environments(count: int, seed: int) -> list[Row]:
    """All of it: see `follow_environments`."""
    return [row async for row in follow_environments(count, seed)]


async def follow_environments(count: int, seed: int, kinds: Sequence[str] = ()) -> AsyncIterator[Row]:
    """Honest environments first, then every kind of fault in programs and tests, in `count` environments each, over all domains."""
    places = list(_list_places(count, seed))
    async with Sandbox.open(Settings.read({})) as sandbox:
        means = Means(sandbox, seed=seed)
        if not kinds or "none" in kinds:
            yield await _measure_honest(places, seed, means)
        for prompt in ("program", "tests"):
            for kind in KINDS[prompt]:
                if not kinds or kind in kinds:
                    yield await _measure_kind(prompt, kind, places, seed, means)


def _list_places(count: int, seed: int) -> Iterator[tuple[str, int]]:
    themes = sorted(THEMES)
    for number in range(count):
        yield themes[(number + seed) % len(themes)], number // len(themes)


async def _measure_honest(places: Sequence[tuple[str, int]], seed: int, means: Means) -> Row:
    row = Row("none")
    for theme, number in places:
        await _note(row, _build(theme, number, seed), means, f"{theme}/{number}")
    return row


async def _measure_kind(prompt: str, kind: str, places: Sequence[tuple[str, int]], seed: int, means: Means) -> Row:
    row = Row(kind)
    for theme, number in places:
        fault = author.plant(prompt, kind, pose(prompt, theme, number), seed, 0)
        if fault is None:
            continue
        if not fault.words and await find_witness(fault.pairs, means.sandbox) is None:
            row.silent += 1
            continue
        await _note(row, _build(theme, number, seed, **{prompt: fault}), means, f"{theme}/{number}")
    return row


async def _note(row: Row, built: Built | str, means: Means, where: str) -> None:
    row.tried += 1
    if isinstance(built, str):
        row.caught["build"] += 1
        row.examples.setdefault("build", f"{where}: {built}")
        return
    finding = await find_drop(built, means)
    key = f"{finding.gate} {finding.reason}" if finding else "kept"
    row.caught[key] += 1
    row.examples.setdefault(key, f"{where}: {finding.detail if finding else built.environment.name}")


async def find_drop(built: Built, means: Means) -> Finding | None:
    """As production asks: the first gate that drops or errs."""
    try:
        await means.sandbox.inspect(Program.of(built.environment))
    except BuildError as error:
        return Finding("build", "dropped", "does_not_load", error.message)
    for gate in ENVIRONMENT_GATES:
        finding = await gate.look(built, means)
        if finding.outcome in ("dropped", "error"):
            return finding
    return None


def _build(theme: str, number: int, seed: int, program: Fault | None = None, tests: Fault | None = None) -> Built | str:
    """The environment as the factory makes it of the replies; text says why it cannot."""
    plan = BlueprintReply.model_validate_json(author.answer("blueprint", pose("blueprint", theme, number), seed, 0, 0.0))
    try:
        written = ProgramReply.model_validate_json(program.text if program else _answer("program", theme, number, seed))
        tested = TestsReply.model_validate_json(tests.text if tests else _answer("tests", theme, number, seed))
        tools = derive_tools(written.source, written.class_name, {tool.name: tool.effect for tool in plan.tools})
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
    return Built(environment, tuple(_store(environment, tested)))


def _answer(prompt: str, theme: str, number: int, seed: int) -> str:
    return author.answer(prompt, pose(prompt, theme, number), seed, 0, 0.0)


def _store(environment: Environment, reply: TestsReply) -> Iterator[Test]:
    for one in reply.tests:
        fields = {
            "environment": environment.id,
            "initial_state": reply.initial_state,
            "origin": ORIGIN,
            **json.loads(one.model_dump_json()),
        }
        yield Test.model_validate(fields)


HEAD = "| fault | n | silent | caught | by |\n|---|---|---|---|---|\n"


def spell_row(row: Row) -> str:
    """One line of the confusion table."""
    by = ", ".join(f"{key} {times}" for key, times in row.caught.most_common())
    return f"| {row.kind} | {row.tried} | {row.silent} | {row.rate:.0%} | {by} |\n"


async def main(count: int, seed: int, kinds: Sequence[str]) -> None:
    """Each line as soon as it is known, then one example of each outcome."""
    sys.stdout.write(HEAD)
    rows: list[Row] = []
    async for row in follow_environments(count, seed, kinds):
        rows.append(row)
        sys.stdout.write(spell_row(row))
        sys.stdout.flush()
    for row in rows:
        for key, words in row.examples.items():
            sys.stdout.write(f"  {row.kind} -> {key}: {words[:300]}\n")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    count, seed = [*numbers, *(8, 11)[len(numbers) :]][:2]
    asyncio.run(main(count, seed, [one for one in sys.argv[1:] if not one.isdigit()]))
