"""An environment looked through: its program in the jail beside the domain model, on foretold calls
and on random walks.

domain ──► program ──jail──┐
       ──► model ──────────┴─► where outcome, code or state differ, which rules were met, which tools never worked
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from envmill.gates import w1
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.kinds.start import CLOCK
from envmill.kinds.stateful import derive_tools
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from offline.dice import make_dice
from offline.domain import TODAY, Domain
from offline.draw import sample_arguments
from offline.program import name_class, write_program
from offline.tests import try_operations
from offline.witness import erase_new_ids
from offline.world import DomainWorld
from schemas.environment import Call
from tests.offline.jail import JAIL
from tests.specimens import make_environment

WALKS = 2
CALLS = 120
WILD = 0.08

Met = tuple[str, str, str]
"""Theme, operation, code of the rule."""


@dataclass
class Exploration:
    """What was found."""

    faults: list[str] = field(default_factory=list[str])
    rules: set[Met] = field(default_factory=set[Met])
    """Rules the environment has."""
    met: set[Met] = field(default_factory=set[Met])
    """Those that a call was rejected by, as foretold."""


def explore_all(domains: Iterable[tuple[Domain, int]]) -> list[Exploration]:
    """Every environment, with the seed of its trials."""

    async def go(sandbox: Sandbox) -> list[Exploration]:
        return [await explore(sandbox, domain, seed) for domain, seed in domains]

    return JAIL.enter(go)


async def explore(sandbox: Sandbox, domain: Domain, seed: int) -> Exploration:
    """Everything that is wrong with a composed environment."""
    found = Exploration(
        rules={
            (domain.theme, each.name, rule.code)
            for each in domain.operations.values()
            for rule in each.must
        }
    )
    program = await _load(sandbox, domain, found)
    world, trials = try_operations(domain, seed)
    for name, operation in domain.operations.items():
        codes = [each.code for each in trials if each.call.name == name]
        if "" not in codes or len(codes) < 3 or (operation.takes and not any(codes)):
            found.faults.append(f"{name} has too few tests: {codes}")
    for trial in trials:
        await _compare(sandbox, program, world, [*trial.setup, trial.call], found)
    for walk in range(WALKS):
        await _compare(sandbox, program, world, _draw_walk(world, walk), found)
    return found


async def _load(sandbox: Sandbox, domain: Domain, found: Exploration) -> Program:
    source = write_program(domain)
    tools = derive_tools(
        source, name_class(domain), {name: each.effect for name, each in domain.operations.items()}
    )
    program = Program({"office.py": source}, f"office:{name_class(domain)}", tools)
    await sandbox.inspect(program)
    lint = await w1.check(EnvironmentCase(make_environment(tools=tools)), GateContext(sandbox))
    if lint.outcome != "kept":
        found.faults.append(f"W1: {lint}")
    return program


def _draw_walk(start: DomainWorld, number: int) -> list[Call]:
    world, dice = start.copy(), make_dice("walk", start.domain.theme, start.key, number)
    calls: list[Call] = []
    for _ in range(CALLS):
        operation = dice.choice(list(world.domain.operations.values()))
        arguments = sample_arguments(operation, world, start.state, dice, WILD)
        if world.allows(operation, arguments):
            world.apply(operation, arguments)
        calls.append(Call(name=operation.name, arguments=arguments))
    return calls


async def _compare(
    sandbox: Sandbox, program: Program, start: DomainWorld, calls: list[Call], found: Exploration
) -> None:
    """Play calls in the jail and on the model; ids of rows made on the way are chance in both, so
    walks name none of them."""
    seen = await sandbox.play(
        program, [Reset(start.state, CLOCK, 7), *map(Invoke, calls), Look()], hashes="none"
    )
    world = DomainWorld(start.domain, start.copy().state, TODAY, "play")
    for call, observation in zip(calls, seen[1:-1], strict=True):
        operation = world.domain.operations[call.name]
        code = next(iter(world.find_violations(operation, call.arguments)), "")
        if not code:
            world.apply(operation, call.arguments)
        if tell_outcome(observation) != code:
            found.faults.append(f"{call} ended {tell_outcome(observation)!r}, foretold {code!r}")
            return
        found.met.add((world.domain.theme, call.name, code))
    if erase_new_ids(seen[-1].state or {}, start.state) != erase_new_ids(world.state, start.state):
        found.faults.append(
            f"model and program end in different states after {[call.name for call in calls]}"
        )


def tell_outcome(seen: Observation) -> str:
    """Empty for success, the code of a rejection, or what failed."""
    return {"ok": "", "rejection": "{0.code}", "failure": "failure: {0.message}"}[
        seen.outcome
    ].format(seen)
