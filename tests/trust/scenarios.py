"""Scenarios of the offline author put to their gates: clean ones must be kept, planted faults must be caught and named.

(theme, number, scenario) ──author──► reply ──oracle, run twice──► scenario ──gates──► row
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from pydantic import ValidationError

from envmill import author
from envmill.author.faults import KINDS
from envmill.errors import BuildError
from envmill.gates import SCENARIO_GATES
from envmill.gates.base import Finding, Means, Posed
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.settings import Settings
from envmill.verifiers.derive import derive_verifier
from envmill.verifiers.diff import diff_states
from schemas.environment import Effect, Environment
from schemas.origin import Origin
from schemas.prompts import ScenarioReply
from schemas.scenario import Scenario, UserContract
from schemas.seed import Brief
from tests.author.questions import SEED, THEMES, ask_blueprint, ask_program, pose, read_tools

ORIGIN = Origin(recipe="envscaler", seed="seed_x", provider="offline", model="m", prompt="scenario", prompt_hash="h")
ELSEWHERE = "2026-03-02T09:07:00+00:00"
SIBLINGS = 3


@dataclass(frozen=True)
class Row:
    """What came of one scenario."""

    theme: str
    kind: str
    """Planted fault; empty for clean work."""
    findings: dict[str, str]
    """Gate → outcome, or reason code where it is not kept; a draft that is no scenario has `draft`."""
    detail: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Gate → seconds."""

    @property
    def caught(self) -> list[str]:
        """Gates that dropped it, with their reason."""
        return [f"{gate}:{found}" for gate, found in self.findings.items() if found not in ("kept", "not_applicable", "not_measured")]


@cache
def make_environment(theme: str, number: int) -> Environment:
    """The clean environment."""
    blueprint, program = ask_blueprint(theme, number), ask_program(theme, number)
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in blueprint.tools}
    assert effects
    return Environment(
        kind="stateful",
        files={"program.py": program.source},
        entry=f"program:{program.class_name}",
        tools=read_tools(theme, number, program),
        rules=blueprint.rules,
        policy_document=blueprint.policy,
        name=blueprint.name,
        summary=blueprint.summary,
        brief=Brief(theme=theme, text=THEMES[theme], number=number),
        blueprint="bp_x",
        licence="Apache-2.0",
        origin=ORIGIN,
    )


async def build(environment: Environment, reply: ScenarioReply, number: int, sandbox: Sandbox) -> Scenario | str:
    """The scenario, or why the draft is none, as the line would say."""
    plan = [*map(Invoke, reply.oracle), Look()]
    ends = [
        await sandbox.play(Program.of(environment), [Reset(reply.initial_state, clock, seed), *plan])
        for clock, seed in ((CLOCK, SEED), (ELSEWHERE, SEED + 1))
    ]
    if worst := next((step for step in ends[0] if step.outcome != "ok"), None):
        return f"oracle_{worst.outcome}: {worst.message}"
    one, other = (diff_states(reply.initial_state, end[-1].state) for end in ends)
    if not one:
        return "oracle_idle"
    try:
        verifier = derive_verifier(reply.initial_state, one, other)
    except BuildError as error:
        return f"no_verifier: {error.message}"
    return Scenario(
        environment=environment.id,
        number=number,
        draft="dft_x",
        initial_state=reply.initial_state,
        request=reply.request,
        user=UserContract(opening=reply.request, facts=reply.facts),
        oracle=reply.oracle,
        polarity=reply.polarity,
        clock=CLOCK,
        seed=SEED,
        verifier=verifier,
        features={},
        split="train",
        oracle_reward=1.0,
        do_nothing_reward=0.0,
        say=reply.say,
        origin=ORIGIN,
    )


async def measure(theme: str, number: int, place: int, kind: str, sandbox: Sandbox, *, every: bool = False) -> Row | None:
    """One scenario through its gates, all of them or up to the first drop; None where the fault has no place."""
    inputs = pose("scenario", theme, number, number=place)
    if kind:
        fault = author.plant("scenario", kind, inputs, SEED, 0)
        if fault is None:
            return None
        text = fault.text
    else:
        text = author.answer("scenario", inputs, SEED, 0, 0.0)
    try:
        reply = ScenarioReply.model_validate(json.loads(text))
    except ValidationError as error:
        return Row(theme, kind, {"draft": "bad_reply"}, str(error)[:200])
    environment = make_environment(theme, number)
    scenario = await build(environment, reply, place, sandbox)
    if isinstance(scenario, str):
        return Row(theme, kind, {"draft": scenario.split(":")[0]}, scenario)
    posed = Posed(scenario, environment, tuple(await list_siblings(environment, theme, number, place, sandbox)))
    return await judge(posed, kind, sandbox, every=every)


async def judge(posed: Posed, kind: str, sandbox: Sandbox, *, every: bool) -> Row:
    """The gates' answers."""
    row = Row(posed.environment.brief.theme, kind, {})
    details: list[str] = []
    for gate in SCENARIO_GATES:
        start = time.process_time()
        finding: Finding = await gate.look(posed, Means(sandbox))
        row.seconds[gate.name] = time.process_time() - start
        row.findings[gate.name] = finding.reason if finding.outcome == "dropped" else finding.outcome
        if finding.outcome == "dropped":
            details.append(f"{gate.name} {finding.reason}: {finding.detail}")
            if not every:
                break
    return Row(row.theme, kind, row.findings, " | ".join(details), row.seconds)


async def list_siblings(environment: Environment, theme: str, number: int, place: int, sandbox: Sandbox) -> list[Scenario]:
    """Clean scenarios of the same environment."""
    others = [other for other in range(SIBLINGS + 1) if other != place][:SIBLINGS]
    built = [await _build_clean(environment, theme, number, other, sandbox) for other in others]
    return [one for one in built if isinstance(one, Scenario)]


_SIBLINGS: dict[tuple[str, int, int], Scenario | str] = {}


async def _build_clean(environment: Environment, theme: str, number: int, place: int, sandbox: Sandbox) -> Scenario | str:
    key = (theme, number, place)
    if key not in _SIBLINGS:
        text = author.answer("scenario", pose("scenario", theme, number, number=place), SEED, 0, 0.0)
        _SIBLINGS[key] = await build(environment, ScenarioReply.model_validate_json(text), place, sandbox)
    return _SIBLINGS[key]


def pick(count: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """Themes in turn, all of them before any comes again; variation and scenario by chance."""
    dice, themes = random.Random(seed), sorted(THEMES)
    for number in range(count):
        yield themes[number % len(themes)], dice.randrange(6), dice.randrange(4)


def measure_scenarios(count: int, seed: int, kinds: Sequence[str] = ("",), *, every: bool = False) -> list[Row]:
    """So many scenarios of each kind; the empty kind is clean work."""

    async def measure_all() -> list[Row]:
        async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
            rows = [await measure(*where, kind, sandbox, every=every) for kind in kinds for where in pick(count, seed)]
        return [row for row in rows if row is not None]

    return asyncio.run(measure_all())


def tabulate(rows: Iterable[Row]) -> Iterator[str]:
    """Fault → what it met, most frequent first."""
    by_kind: dict[str, Counter[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind or "clean", Counter())[", ".join(row.caught) or "kept"] += 1
    for kind, found in sorted(by_kind.items()):
        yield f"{kind:24} n={found.total():4} kept={found['kept']:4}  {dict(found.most_common(8))}"


def main(count: int, kinds: Sequence[str], *, every: bool, missed: bool) -> Iterator[str]:
    """The table, what was wrongly dropped or missed, and what each gate spent in this process."""
    rows = measure_scenarios(count, 1, kinds, every=every)
    yield from tabulate(rows)
    for row in rows:
        if (not row.kind and row.caught) or (missed and row.kind and not row.caught):
            yield f"{row.theme} {row.kind or 'clean'}: {row.detail[:600]}"
    spent: Counter[str] = Counter()
    for row in rows:
        spent.update(row.seconds)
    yield "ms of CPU in this process, per scenario: " + ", ".join(f"{gate} {1000 * spent[gate] / len(rows):.1f}" for gate in spent)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    planted = sys.argv[2].split(",") if len(sys.argv) > 2 else ["", *KINDS["scenario"]]
    for line in main(number, planted, every="every" in sys.argv, missed="missed" in sys.argv):
        sys.stdout.write(f"{line}\n")
