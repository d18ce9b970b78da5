"""Tries one domain as the factory would: `python -m tests.author.try_domain THEME [NUMBERS] [SEEDS]` prints what fails.

every composition ──► program, tests, scenarios ──jail──► stored tests as foretold · model and program agree · oracles run
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import date

from envmill.author.compose import _list_choices, compose_domain  # pyright: ignore[reportPrivateUsage]
from envmill.author.dice import make_dice
from envmill.author.domain import Domain, State
from envmill.author.draw import draw_arguments
from envmill.author.formula import parse_statement, spell_statement
from envmill.author.knowledge import load_domain
from envmill.author.program import name_class, write_program
from envmill.author.scenario import write_scenario
from envmill.author.tests import try_operations
from envmill.author.world import World
from envmill.kinds.start import CLOCK
from envmill.kinds.stateful import derive_tools
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.settings import Settings
from schemas.base import canonical_json
from schemas.environment import Call
from schemas.seed import Brief

CALLS = 120
SCENARIOS = 3


def list_touched(domain: Domain, name: str) -> set[str]:
    """Collections whose rows an operation writes, by the names its effects use."""
    operation = domain.operations[name]
    owners = {each.local: each.row for each in operation.takes if each.row}
    touched = set[str]()
    for step in (*operation.fetch, *operation.then):
        for line in spell_statement(parse_statement(step.do), domain):
            touched |= _read_line(line.strip(), owners)
    return touched | {owners[each.row] for each in operation.moves if each.row in owners}


def _read_line(line: str, owners: dict[str, str]) -> set[str]:
    left, _, right = line.partition(" = ")
    if left.isidentifier() and right.startswith("self."):
        owners[left] = right.removeprefix("self.").split("[")[0]
    elif line.startswith("for "):
        owners[line.split()[1]] = line.split("self.")[1].split(".")[0]
    elif line.startswith("self."):
        return {line.removeprefix("self.").split("[")[0]}
    elif '["' in line and ("= " in line.split("]", 1)[1]) and line.split("[")[0] in owners:
        return {owners[line.split("[")[0]]}
    return set()


async def try_domain(theme: str, numbers: int, seeds: int) -> int:
    """How many compositions failed; what failed is printed."""
    whole = load_domain(theme)
    changes = [name for name, each in whole.operations.items() if each.effect == "change"]
    deep = [name for name in changes if len(list_touched(whole, name)) > 1]
    shapes = len(_list_choices(theme))
    sys.stdout.write(
        f"{theme}: {len(changes)} changes, {len(deep)} touch two collections or more, {len(whole.operations)} operations, {shapes} shapes\n"
    )
    failed = 0 if len(changes) >= 12 and len(deep) >= 0.3 * len(changes) and shapes >= 8 else 1
    async with Sandbox.open(Settings.read({})) as sandbox:
        for number in range(numbers):
            for seed in range(seeds):
                began = time.monotonic()
                try:
                    faults = [each async for each in _try_composition(sandbox, theme, number, seed)]
                except Exception as error:  # noqa: BLE001 - one composition's failure is a printed line
                    faults = [f"{type(error).__name__}: {error}"]
                failed += bool(faults)
                for text, times in Counter(faults).items():
                    sys.stdout.write(f"  {number}/{seed} {text} (x{times}, {time.monotonic() - began:.1f} s)\n")
    sys.stdout.write(f"  {failed} failures\n")
    return failed


async def _try_composition(sandbox: Sandbox, theme: str, number: int, seed: int) -> AsyncIterator[str]:
    domain = compose_domain(Brief(theme=theme, text=load_domain(theme).text, number=number), seed)
    for fault in _check_words(domain, theme):
        yield fault
    source = write_program(domain)
    tools = derive_tools(source, name_class(domain), {name: each.effect for name, each in domain.operations.items()})
    jailed = Program({"office.py": source}, f"office:{name_class(domain)}", tools)
    world, trials = try_operations(domain, seed)
    for name, operation in domain.operations.items():
        codes = [each.code for each in trials if each.call.name == name]
        if "" not in codes or len(codes) < 3:
            yield f"{name} has too few tests: {codes}"
        if operation.takes and not any(codes):
            yield f"{name} is never rejected"
    for trial in trials:
        seen = await _play(sandbox, jailed, world.state, [*trial.setup, trial.call])
        told = [_tell(each) for each in seen[1:-1]]
        if told != [""] * len(trial.setup) + [trial.code]:
            yield f"{trial.call} ended {told[-1]!r}, foretold {trial.code!r}"
    async for fault in _compare(sandbox, jailed, domain, world.state, seed):
        yield fault
    async for fault in _try_scenarios(sandbox, jailed, domain, f"{number}/{seed}"):
        yield fault


def _check_words(domain: Domain, theme: str) -> Iterator[str]:
    for operation in domain.changes:
        whole = load_domain(theme).operations[operation.name]
        if not (operation.asks and operation.tells) and (whole.asks or whole.tells):
            yield f"{operation.name} has no words with features {sorted(domain.features)}"


async def _compare(sandbox: Sandbox, jailed: Program, domain: Domain, start: State, seed: int) -> AsyncIterator[str]:
    world = World(domain, start, date.fromisoformat(CLOCK[:10]), "play").copy()
    dice = make_dice("try", domain.theme, seed)
    calls, expected = list[Call](), list[str]()
    for _ in range(CALLS):
        operation = dice.choice(list(domain.operations.values()))
        arguments = draw_arguments(operation, world, start, dice, wild=0.08)
        codes = world.find_violations(operation, arguments)
        if not codes:
            world.apply(operation, arguments)
        calls.append(Call(name=operation.name, arguments=arguments))
        expected.append(codes[0] if codes else "")
    seen = await _play(sandbox, jailed, start, calls)
    for call, observation, code in zip(calls, seen[1:-1], expected, strict=True):
        if _tell(observation) != code:
            yield f"model says {code!r}, program {_tell(observation)!r} for {call}"
            return
    if _erase(seen[-1].state or {}, start) != _erase(world.state, start):
        yield "model and program end in different states"


async def _try_scenarios(sandbox: Sandbox, jailed: Program, domain: Domain, key: str) -> AsyncIterator[str]:
    for scenario in range(SCENARIOS):
        reply = write_scenario(domain, f"{key}/{scenario}")
        seen = await _play(sandbox, jailed, reply.initial_state, reply.oracle)
        told = [_tell(each) for each in seen[1:-1]]
        if any(told):
            yield f"oracle is refused: {told}"
        if seen[-1].state == reply.initial_state:
            yield "oracle changes nothing"
        idle = await _play(sandbox, jailed, reply.initial_state, [])
        if idle[-1].state != reply.initial_state:
            yield "doing nothing changes the state"


async def _play(sandbox: Sandbox, jailed: Program, state: State, calls: list[Call]) -> list[Observation]:
    return await sandbox.play(jailed, [Reset(state, CLOCK, 7), *map(Invoke, calls), Look()])


def _tell(seen: Observation) -> str:
    return {"ok": "", "rejection": "{0.code}", "failure": "failure: {0.message}"}[seen.outcome].format(seen)


def _erase(state: State, start: State) -> list[str]:
    return sorted(
        canonical_json([name, {**row, "id": row_id if row_id in start[name] else "new"}])
        for name, rows in state.items()
        for row_id, row in rows.items()
    )


if __name__ == "__main__":
    theme, *sizes = sys.argv[1:]
    numbers, seeds = int(sizes[0]) if sizes else 20, int(sizes[1]) if len(sizes) > 1 else 2
    sys.exit(bool(asyncio.run(try_domain(theme, numbers, seeds))))
