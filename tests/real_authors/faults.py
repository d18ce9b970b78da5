"""Faults planted in the recorded programs: drawn once, frozen in `faults.json`, and held against
the stored tests and the W gates.

places of all programs ─► in turn, by chance ─► tests, gates ─► caught: frozen
                                                      └─► 200 calls on both programs ─► a witness: frozen, missed
                                                                                   └─► the same everywhere: equivalent, left out
"""

import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envmill.base.errors import BuildError, SandboxError
from envmill.gates import ENVIRONMENT_GATES
from envmill.gates.base import EnvironmentCase, Finding, Gate, GateContext
from envmill.kinds.start import start_test
from envmill.sandbox import Invoke, Observation, Program, Sandbox
from envmill.stages.passing import settle
from schemas.base import Json
from schemas.environment import Call, Environment, Test
from tests.real_authors.making import EPISODES, SEED, Made
from tests.real_authors.operators import FAMILIES, Place, is_sound, list_places

PATH = Path(__file__).parent / "faults.json"
SOURCE = "program.py"
PER_FAMILY = 40
_WALKS, _LENGTH = 10, 20


@dataclass(frozen=True)
class Fault:
    """One frozen fault."""

    item: str
    place: Place


def read_faults() -> list[Fault]:
    told: Any = json.loads(PATH.read_text(encoding="utf-8"))
    return [Fault(one["item"], Place(**one["place"])) for one in told["faults"]]


async def draw_faults(
    built: Mapping[str, Made], sandbox: Sandbox, catch: Callable[[Fault], Awaitable[str]]
) -> list[str]:
    """Freeze the list anew: of each family as many as are wanted, programs in turn; and what
    catches each.

    What nothing catches has to differ in 200 random calls, or is left out as equivalent.
    """
    drawn: list[tuple[Fault, str]] = []
    equivalent: Counter[str] = Counter()
    queues = {family: _take_turns(built, family) for family in FAMILIES}
    for family in [family for _ in range(PER_FAMILY) for family in FAMILIES]:
        for fault in queues[family]:
            if (caught := await catch(fault)) or await differs(
                built[fault.item], fault.place, sandbox
            ):
                drawn.append((fault, caught))
                break
            equivalent[family] += 1
        told = {
            "left_out_as_equivalent": dict(equivalent),
            "faults": [asdict(fault) for fault, _ in drawn],
        }
        PATH.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [caught for _, caught in drawn]


def _take_turns(built: Mapping[str, Made], family: str) -> Iterator[Fault]:
    queues: list[tuple[str, list[Place]]] = []
    for item, made in built.items():
        assert made.environment is not None
        places = list(list_places(made.environment.files[SOURCE], family))
        random.Random(f"{item}/{family}").shuffle(places)
        queues.append((item, places))
    while any(places for _, places in queues):
        for item, place in [(item, places.pop()) for item, places in queues if places]:
            environment = built[item].environment
            if environment is not None and is_sound(place, environment.files[SOURCE]):
                yield Fault(item, place)


def plant(environment: Environment, place: Place) -> Environment:
    files = environment.files | {SOURCE: place.apply(environment.files[SOURCE])}
    return Environment.model_validate(environment.model_dump() | {"id": "", "files": files})


async def differs(made: Made, place: Place, sandbox: Sandbox) -> bool:
    """Whether any of 200 random calls, most of them of the tool in question, is answered or ends
    otherwise."""
    assert made.environment is not None
    faulty = plant(made.environment, place)
    return await differs_from(
        made.environment, made.tests, faulty, place.function, f"{made.item.id}/{place}", sandbox
    )


async def differs_from(
    environment: Environment,
    tests: Sequence[Test],
    faulty: Environment,
    tool: str,
    seed: str,
    sandbox: Sandbox,
) -> bool:
    """The same of any two programs. One that does not load, or does not come to an end, is no fault
    of this sort."""
    dice = random.Random(seed)
    try:
        for _ in range(_WALKS):
            test = dice.choice(tests)
            steps = [start_test(test), *(Invoke(call) for call in _draw_calls(tests, tool, dice))]
            seen = [await sandbox.play(Program.of(one), steps) for one in (environment, faulty)]
            if list(map(_tell, seen[0])) != list(map(_tell, seen[1])):
                return True
    except (BuildError, SandboxError):
        return False
    return False


def _tell(one: Observation) -> Json:
    return [one.outcome, one.code, one.parts, one.state_hash]


def _draw_calls(tests: Sequence[Test], tool: str, dice: random.Random) -> Iterator[Call]:
    """Calls of the stored tests, each argument now and then with what another test gave it, or a
    number beside it."""
    told = [call for test in tests for call in (*test.setup, test.call)]
    pool: dict[str, list[Json]] = {}
    for call in told:
        for name, value in call.arguments.items():
            pool.setdefault(name, []).append(value)
    own = [call for call in told if call.name == tool] or told
    for _ in range(_LENGTH):
        call = dice.choice(own if dice.random() < 0.6 else told)
        changed = {
            name: dice.choice(pool[name]) if dice.random() < 0.3 else value
            for name, value in call.arguments.items()
        }
        moved = {
            name: value + dice.choice((-1, 1))
            for name, value in changed.items()
            if type(value) is int and dice.random() < 0.3
        }
        yield call.model_copy(update={"arguments": changed | moved})


async def find_catch(
    made: Made,
    place: Place,
    known: Callable[[Gate[EnvironmentCase]], Awaitable[Sequence[Finding]]],
    sandbox: Sandbox,
) -> Finding | None:
    """The first finding that the program without the fault does not have; `known` gives those that
    it has of a gate."""
    assert made.environment is not None
    built = EnvironmentCase(plant(made.environment, place), made.tests)
    first = sorted(
        (each for each in ENVIRONMENT_GATES if not each.asks), key=lambda gate: gate.name != "W3"
    )
    for gate in first:
        found = [
            one
            for one in await ask(gate, built, sandbox)
            if one.outcome in ("dropped", "suspected")
        ]
        told = {(one.gate, one.reason, one.detail) for one in (await known(gate) if found else ())}
        for one in found:
            if (one.gate, one.reason, one.detail) not in told:
                return one
    return None


async def ask(
    gate: Gate[EnvironmentCase], built: EnvironmentCase, sandbox: Sandbox
) -> list[Finding]:
    means = GateContext(sandbox, seed=SEED, episodes=EPISODES)
    return [settle(gate, one) for one in (await gate.check(built, means)).spread()]
