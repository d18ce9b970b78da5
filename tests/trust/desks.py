"""Candidates of the recipe `tau2`, made by its own functions of an author who errs in one place, and
put to what stands in its way.

trade ─► plan ─► document ─► program ─► W gates ─► atoms, PROVED ─► composed ─► words ─► verifier ─► S gates
         each step may be the one that is spoilt, and drops it, or lets it pass to the next
"""

import ast
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from pydantic import ValidationError

import offline as author
from envmill.base.errors import BuildError, EnvMillError
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, GateContext, ScenarioCase
from envmill.kinds import KINDS
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.dialogue.atoms import ATOMS, find_atom_faults, read_repertoire
from envmill.kinds.dialogue.equipping import judge_repertoire
from envmill.kinds.dialogue.kind import DialogueKind
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.dialogue.wording import render_policy
from envmill.kinds.start import CLOCK, start_test
from envmill.models.gateway import ModelSession
from envmill.recipes import tau2
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.contract import make_contract
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.recipes.drafting.themes import read_desks
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.stages.build import assemble_environment, store_tests
from schemas.base import Json
from schemas.dialogue import Repertoire
from schemas.dialogue_prompts import ComposedReply
from schemas.environment import Blueprint, Environment, Test
from schemas.run import RecipeName
from schemas.scenario import Draft, Scenario, Verifier
from schemas.seed import Brief, Seed
from tests.offline.questions import SEED
from tests.trust.desk_faults import FAULTS, spread
from tests.trust.jobs import CLEAN, SEARCHED, TRIES, Job, Outcome, judge

NAME: RecipeName = "tau2"
RECIPE = tau2.make([])
KIND = cast(DialogueKind, KINDS["dialogue"])
POSED = ("scenario", "words", "verifier")
"""What is spoilt where the environment is right."""
EACH, FEW, ENVIRONMENTS, SCENARIOS = 16, 8, 12, 160
"""Faults of each kind, fewer of those whose candidates run for long, and honest work."""
_TRACES, _LONG = 40, 5
"""Witness runs at random, and their length."""
_DRAWN = 12
"""Compositions that are drawn for one scenario."""
_APART = 3
"""Atoms that are judged beside each other where one is spoilt."""


def list_kinds() -> list[tuple[str, str]]:
    return [(prompt, kind) for prompt, kinds in FAULTS.items() for kind in kinds]


def list_series() -> list[tuple[int, list[Job]]]:
    """How many of each are wanted, and places that are tried for them: more, since not every trade
    has a place for each."""
    wanted = {prompt: FEW if prompt in ("desk_program", "atoms") else EACH for prompt in FAULTS}
    faults = [(wanted[prompt], list_jobs(prompt, kind, EACH * 4)) for prompt, kind in list_kinds()]
    environments = list_jobs("program", CLEAN, ENVIRONMENTS)
    return [
        (SCENARIOS, list_jobs("scenario", "achieve", SCENARIOS)),
        *faults,
        (ENVIRONMENTS, environments),
    ]


def list_jobs(prompt: str, kind: str, most: int) -> list[Job]:
    """All trades before any comes again, each time at another place."""
    trades = list(read_desks())
    numbers = [divmod(turn, len(trades)) for turn in range(most)]
    return [
        Job(prompt, kind, trades[which], turn % 3, turn, recipe="tau2") for turn, which in numbers
    ]


@dataclass
class Spoiling:
    """An account that asks the offline author, and spoils one reply at one place."""

    job: Job | None = None
    provider: str = "offline"
    model: str = "offline"
    last_asked: Any = None
    planted: bool = False
    clean: Any = field(default=None, repr=False)
    """The reply as it was."""

    def list_parts(self, _: Any) -> list[str]:
        return []

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **_: Any) -> Any:
        asked = inputs.model_dump(mode="json")
        made = reply.model_validate_json(author.answer(prompt.name, asked, SEED, 0, 0.0))
        if self.job is None or prompt.name != self.job.prompt:
            return made
        if prompt.name == "desk_program":
            tree = self.spoil(ast.parse(made.source))
            return made if tree is None else made.model_copy(update={"source": _unparse(tree)})
        if prompt.name == "words" and "hidden" in self.job.kind and not inputs.hidden:
            return made  # nothing is hidden that could be told
        told = self.spoil(made.model_dump(mode="json"))
        return made if told is None else reply.model_validate(told)

    def spoil(self, told: Any) -> Any:
        """None where it has no such place."""
        job = self.job
        kinds = FAULTS.get(job.prompt, {}) if job else {}
        made = spread(told, kinds[job.kind]) if job and job.kind in kinds else []
        if job is None or job.place >= len(made):
            return None
        self.clean, self.planted = told, True
        random.Random(f"{job.theme}/{job.kind}").shuffle(made)
        return made[job.place]


def _unparse(tree: Any) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


Drop = tuple[str, str, str]


async def do(job: Job, sandbox: Sandbox) -> Outcome:
    """What came of it; an outage is tried again."""
    empty = Outcome(key=job.key, recipe=job.recipe, prompt=job.prompt, kind=job.kind)
    outcome = empty
    for again in range(TRIES):
        try:
            work = _pose if job.prompt in POSED else _make
            outcome = await work(job, empty, sandbox)
        except EnvMillError as error:
            outcome = empty.model_copy(update={"outage": error.message[:300]})
        outcome = outcome.model_copy(update={"again": again})
        if not outcome.outage:
            break
    return outcome


def _drop(outcome: Outcome, gate: str, reason: str, words: object) -> Outcome:
    return outcome.model_copy(update={"drops": ((gate, reason, str(words)[:300]),)})


async def _make(job: Job, outcome: Outcome, sandbox: Sandbox) -> Outcome:
    """An environment: planned, written, tested, and its atoms proved."""
    models = Spoiling(job)
    try:
        plan = await _plan(job, models)
    except (BuildError, ValidationError) as error:
        return _drop(outcome, "plan", "bad_reply", error)
    if job.prompt in ("desk", "document") and not models.planted:
        return outcome.model_copy(update={"made": False})
    if faults := KIND.find_plan_faults(plan):
        return _drop(outcome, "plan", "refused", faults[0])
    try:
        environment, tests = await _write(plan, models)
        await sandbox.inspect(Program.of(environment))
    except (BuildError, ValidationError, SyntaxError) as error:
        return _drop(outcome, "program", "does_not_load", error)
    if job.prompt == "desk_program" and not (
        models.planted and await _shows(job, environment, tests, sandbox)
    ):
        return outcome.model_copy(update={"made": False})
    gates = [gate for gate in ENVIRONMENT_GATES if gate.name != "W4"]
    if job.prompt in ("desk_program", "desk", "document") or job.is_clean:
        means = GateContext(sandbox, seed=SEED)
        outcome = await judge(outcome, gates, EnvironmentCase(environment, tests), means)
        if outcome.drops or outcome.outage:
            return outcome
    return await _prove(job, outcome, environment, models, sandbox)


async def _plan(job: Job, models: Spoiling) -> Blueprint:
    plan = await RECIPE.think_up(_seed(job.theme, job.number), FIRST, cast(ModelSession, models))
    lines = render_policy(read_dialogue(plan.files).clauses).splitlines()
    if job.prompt == "document" and (told := models.spoil(lines)) is not None:
        return plan.model_copy(update={"policy_document": "\n".join([*told, ""])})
    return plan


def _seed(theme: str, number: int) -> Seed:
    text = read_desks()[theme]["text"]
    brief = Brief(theme=theme, text=text, number=number)
    return Seed(recipe="tau2", brief=brief, licence="Apache-2.0")


async def _write(plan: Blueprint, models: Spoiling) -> tuple[Environment, tuple[Test, ...]]:
    asking = cast(ModelSession, models)
    document = plan.policy_document or render_policy(read_dialogue(plan.files).clauses)
    told = plan.model_copy(update={"policy_document": document})
    program = await RECIPE.write_program(told, None, FIRST, asking)
    environment = assemble_environment(told, program, asking)
    tests = await RECIPE.write_tests(environment, None, FIRST, asking, {})
    return environment, tuple(store_tests(environment, tests))


async def _shows(
    job: Job, environment: Environment, tests: Sequence[Test], sandbox: Sandbox
) -> bool:
    """Whether some run ends otherwise than with the faultless program: the calls of the tests, in
    any order, from their own start."""
    clean, _ = await _write(await _plan(job, Spoiling()), Spoiling())
    dice, calls = random.Random(job.key), [test.call for test in tests]
    drawn = [(start_test(test), [*test.setup, test.call]) for test in tests]
    some = [(begin, dice.sample(calls, min(_LONG, len(calls)))) for begin, _ in drawn[:_TRACES]]
    steps = [
        step
        for begin, trace in [*drawn, *some]
        for step in (begin, *(one for call in trace for one in (Invoke(call), Look())))
    ]
    seen = [await sandbox.play(Program.of(one), steps) for one in (clean, environment)]
    told = [[(one.outcome, one.code, one.parts, one.state) for one in run] for run in seen]
    return told[0] != told[1]


async def _prove(
    job: Job, outcome: Outcome, environment: Environment, models: Spoiling, sandbox: Sandbox
) -> Outcome:
    try:
        asking = cast(ModelSession, models)
        repertoire = await RECIPE.write_atoms(environment, None, FIRST, asking)
    except (BuildError, ValidationError) as error:
        return _drop(outcome, "atoms", "bad_reply", error)
    if job.prompt == "atoms":
        if not models.planted:
            return outcome.model_copy(update={"made": False})
        dialogue = read_dialogue(environment.files)
        if faults := find_atom_faults(repertoire, dialogue, environment.tools):
            return _drop(outcome, "atoms", "bad_atoms", faults[0])
        repertoire = _part(repertoire, models.clean)
    found = await judge_repertoire(repertoire, environment, KIND.derive_verifier, sandbox)
    return _drop(outcome, "atoms", found[0].code, found[0].words) if found else outcome


def _part(repertoire: Repertoire, clean: Json) -> Repertoire:
    """The spoilt atoms with a few others, which cost as much as they do."""
    known = {one["id"]: one for one in clean["atoms"]}
    spoilt = [one for one in repertoire.atoms if one.model_dump(mode="json") != known.get(one.id)]
    others = [one for one in repertoire.atoms if one not in spoilt and not one.unfixable]
    kept = {one.id for one in [*spoilt, *others[:_APART]]}
    atoms = [one for one in repertoire.atoms if one.id in kept]
    return repertoire.model_copy(update={"atoms": atoms})


@cache
def _remember() -> dict[tuple[str, int], Environment]:
    return {}


async def _equip(theme: str, number: int) -> Environment:
    """The right environment, with its atoms beside the program."""
    known = _remember()
    if (theme, number) not in known:
        models = Spoiling()
        plan = await _plan(Job("desk", CLEAN, theme, number, recipe="tau2"), models)
        environment, _ = await _write(plan, models)
        atoms = await RECIPE.write_atoms(environment, None, FIRST, cast(ModelSession, models))
        files = {**environment.files, ATOMS: atoms.model_dump_json()}
        told = environment.model_dump(mode="json") | {"id": "", "files": files}
        known[theme, number] = Environment.model_validate(told)
    return known[theme, number]


async def _pose(job: Job, outcome: Outcome, sandbox: Sandbox) -> Outcome:
    """A composed scenario in the words of one user, put to the gates."""
    models, environment = Spoiling(job), await _equip(job.theme, job.number)
    assert read_repertoire(environment.files)
    made = None
    for turn in range(_DRAWN):
        made = await KIND.compose_scenario(environment, job.place, SEED, turn, sandbox)
        if made is not None and not made.reason:
            break
    if made is None or made.reason:
        told = (made.reason, made.detail) if made else ("nothing", "")
        return _drop(outcome, "compose", *told)
    models.job = _place_first(job)
    brief = ScenarioBrief(environment, job.place, "achieve", composed=made.reply)
    try:
        reply = await RECIPE.pose(brief, FIRST, cast(ModelSession, models))
        assert isinstance(reply, ComposedReply)
        scenario = await _finish(reply, job.place, environment, sandbox)
    except (BuildError, ValidationError) as error:
        return _drop(outcome, "words", "refused", error)
    if job.prompt == "verifier":
        told = models.spoil(scenario.verifier.model_dump(mode="json"))
        verifier = Verifier.model_validate(told) if told else scenario.verifier
        scenario = scenario.model_copy(update={"verifier": verifier})
    if not (models.planted or job.is_clean):
        return outcome.model_copy(update={"made": False})
    searched = job.is_clean and job.place % SEARCHED == 0
    gates = [gate for gate in SCENARIO_GATES if gate.name != "S13" or searched]
    means = GateContext(sandbox, seed=SEED)
    return await judge(outcome, gates, ScenarioCase(scenario, environment, ()), means)


def _place_first(job: Job) -> Job:
    """The scenario has the number of the place; what is spoilt in it comes in turn."""
    return Job(job.prompt, job.kind, job.theme, job.number, job.place % 3, recipe=job.recipe)


async def _finish(
    reply: ComposedReply, number: int, environment: Environment, sandbox: Sandbox
) -> Scenario:
    draft = Draft(
        environment=environment.id, number=number, initial_state=reply.initial_state,
        request=reply.request, user=make_contract(reply), oracle=reply.oracle, polarity="achieve",
        clock=CLOCK, seed=SEED, changes=[], gold_hash="", say=reply.say, origin=environment.origin,
    )  # fmt: skip
    return await finish(await prepare(draft, environment, sandbox), "binary", sandbox)
