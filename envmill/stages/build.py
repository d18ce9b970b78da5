"""Build: blueprint → program that runs, by a bounded repair loop, and draft → scenario with a
verifier that runs.

write ─► load in the jail ─► tests ─► review, where it is asked for ─► gates ─► built
  ▲                 └─ failing case ─┴──────────┴──────────────────────┘
  └──── repair of program or tests, twice at most, then once afresh; the best version goes on to the gates
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from envmill.base.errors import BadReply, BuildError
from envmill.gates import w3, w4
from envmill.gates.base import EnvironmentCase, GateContext, drop
from envmill.gates.w3 import find_unruled, find_untested, find_untyped, judge_test, play_tests
from envmill.kinds import kind_of
from envmill.kinds.authoring.complaint import Complaint, list_once
from envmill.kinds.authoring.repair import FIRST, Repair, describe_builds, give_up, strive
from envmill.kinds.base import BuildResult, CompositionFindings, PartAuthor
from envmill.kinds.docstring import ToolWords, fill_docstrings, join_descriptions, read_words
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt, describe_prompt
from envmill.recipes.drafting.checklist import Checklist, write_checklist
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.recipes.drafting.locked import REASON, render_checks, render_facts
from envmill.recipes.drafting.mending import Mended
from envmill.recipes.drafting.weakening import REASON as WEAKENED
from envmill.sandbox import Program, Sandbox
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.covering import BREAKS, Coverage
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import rehearse_reply
from envmill.stages.promises import UNPROMISED, PromiseCheck, PromiseKeeper
from envmill.stages.rehearsal import UNASKED, GateFindings, WeakeningGuard, blame, rehearse
from envmill.toolgraph.siblings import show_siblings
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.ending import Ending
from schemas.base import Json, Record, canonical_json, order_keys
from schemas.environment import Blueprint, Build, Call, Effect, Environment, Fault, Test, Tool
from schemas.prompts import ProgramReply, ScenarioReply, TestsReply
from schemas.scenario import Draft
from schemas.sketch import Signature

R = TypeVar("R", bound=Record)

_REFUSED_UNASKED = ("invalid_arguments", "unknown_tool")


@dataclass(frozen=True)
class _Version:
    """One version of a program with its tests, and how far it got."""

    program: ProgramReply | None = None
    plan: TestsReply | None = None
    environment: Environment | None = None
    """None where it does not load."""
    tests: tuple[Test, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    fault: Fault = "code"
    mended: Mended | None = None
    """What comes next, where a debugger was asked."""
    program_prompt: Prompt | None = None
    """What the program was got with; likewise its tests and what was mended."""
    plan_prompt: Prompt | None = None
    mended_prompt: Prompt | None = None
    rehearsal: GateFindings = UNASKED
    """What the gates found, where it got as far as them."""
    promised: PromiseCheck = UNPROMISED

    @property
    def is_weakened(self) -> bool:
        return any(complaint.code == WEAKENED for complaint in self.complaints)

    @property
    def content(self) -> Json:
        return [part.model_dump(mode="json") for part in (self.program, self.plan) if part]


@dataclass(frozen=True)
class _Workshop:
    """What a kind builds with."""

    context: RunContext
    models: ModelSession

    @property
    def sandbox(self) -> Sandbox:
        return self.context.sandbox

    @property
    def author(self) -> PartAuthor:
        return self.context.recipe

    @property
    def rehearses(self) -> bool:
        return self.context.config.rehearse

    async def write_program(self, blueprint: Blueprint) -> BuildResult:
        return await _write_program(blueprint, self.context, self.models)

    async def judge_scenario(
        self, environment: Environment, reply: ScenarioReply, models: ModelSession
    ) -> CompositionFindings:
        posed = await rehearse_reply(reply, ScenarioSlot(environment, 0), self.context, models)
        return CompositionFindings(posed.complaints, posed.rehearsal.list_findings())


async def build_environment(
    subject: Subject[Blueprint], context: RunContext, models: ModelSession
) -> Result:
    """As its kind is built."""
    made = await kind_of(subject.record).build(subject.record, _Workshop(context, models))
    return Result(made.records, made.findings)


async def _write_program(
    blueprint: Blueprint, context: RunContext, models: ModelSession
) -> BuildResult:
    """The best version is kept even if tests fail: the gate says so, with the evidence."""
    locks, tried, guard, coverage = (
        context.locks.of(blueprint.id),
        list[_Version](),
        WeakeningGuard(),
        Coverage(),
    )
    keeper = PromiseKeeper(blueprint.promises if context.config.promises else {})

    async def write(before: _Version | None, repair: Repair, asking: ModelSession) -> _Version:
        tried.append(before or _Version())
        if context.config.summary and repair.complaints:
            repair = await context.recipe.sum_errors(
                blueprint, [one.complaints for one in tried if one.complaints], repair, asking
            )
        version = await _write_version(
            blueprint, before or _Version(), repair, coverage, context, asking
        )
        weakened = guard.refuse(version.plan, repair) if version.plan else ()
        if not version.complaints and context.config.review:
            version = await _review(version, context, models)
        if weakened and not version.complaints:
            return replace(version, complaints=weakened, fault="test")
        if not version.complaints and version.environment is not None:
            promised = await keeper.check(version.environment, version.tests, context.sandbox)
            version = replace(
                version,
                promised=promised,
                complaints=promised.new,
                fault="code" if promised.new else version.fault,
            )
        return version if version.complaints else await _rehearse(version, context, models)

    versions = await strive(write, models, lambda: locks.render() if tried else [])
    builds = describe_builds(blueprint.id, versions)
    ran = [
        version
        for version in versions
        if isinstance(version, _Version) and version.environment is not None
    ]
    if not ran:
        return BuildResult(builds, (drop("build", *give_up(versions)),))
    best = min(ran, key=lambda version: (version.is_weakened, len(version.complaints)))
    assert best.environment is not None
    return BuildResult(
        (*builds, best.environment, *best.tests),
        (*best.rehearsal.list_findings(), *best.promised.list_findings()),
    )


def _show_gates(version: _Version) -> EnvironmentCase:
    """The version as the lake will give it to verify: each test once, in order of ids. Gates
    explore in the order of tests."""
    assert version.environment is not None
    tests = {test.id: test for test in version.tests}
    return EnvironmentCase(version.environment, tuple(tests[key] for key in sorted(tests)))


async def _rehearse(version: _Version, context: RunContext, models: ModelSession) -> _Version:
    """A version whose tests are green, put to the gates."""
    rehearsal = await rehearse(_show_gates(version), context, models)
    fault, complaints = blame(rehearsal.complaints)
    return replace(version, rehearsal=rehearsal, complaints=complaints, fault=fault)


async def _write_version(
    blueprint: Blueprint,
    before: _Version,
    repair: Repair,
    coverage: Coverage,
    context: RunContext,
    models: ModelSession,
) -> _Version:
    """What was at fault is written anew, program or tests, and told what failed; then the program
    is loaded and its tests run."""
    part = await _write_part(blueprint, before, repair, context, models)
    program, plan = part.program, part.plan
    assert program is not None
    try:
        environment = show_siblings(
            assemble_environment(blueprint, program, models, part.program_prompt), context.config
        )
        await context.sandbox.inspect(Program.of(environment))
    except BuildError as error:
        return replace(
            part, complaints=(Complaint("build", "does_not_build", error.message),), fault="code"
        )
    if plan is None:
        plan = await context.recipe.write_tests(environment, None, FIRST, models, blueprint.rows)
        part = replace(part, plan=plan, plan_prompt=models.last_asked)
    tests = (
        *store_tests(environment, plan, part.plan_prompt, exact=context.config.exact),
        *coverage.list_tests(environment),
    )
    trial = await _run_tests(environment, tests, before, context)
    if not trial.complaints and (
        more := await coverage.find_missing(EnvironmentCase(environment, tests), context, models)
    ):
        tests = (*tests, *more)
        trial = await _run_tests(environment, tests, before, context)
    version = replace(
        part, environment=environment, tests=tests, complaints=trial.complaints, fault=trial.fault
    )
    if not trial.red or trial.lacking:
        return version
    if any(place >= len(plan.tests) for place in trial.red):
        # A rule that the tests' author forgot as well: two readers say that it forbids the call.
        return replace(version, fault="code")
    try:
        mended = await context.recipe.debug(environment, program, plan, trial.red, repair, models)
    except BadReply:
        # A verdict nobody can read costs no version that runs: what is at fault is written anew, as
        # without one.
        return version
    return (
        replace(version, mended=mended, fault=mended.fault, mended_prompt=models.last_asked)
        if mended
        else version
    )


async def _write_part(
    blueprint: Blueprint,
    before: _Version,
    repair: Repair,
    context: RunContext,
    models: ModelSession,
) -> _Version:
    """Program and tests of the next version, where there are any yet, each with what it was got
    with."""
    program, plan = before.program, before.plan
    kept = _Version(
        program, plan, program_prompt=before.program_prompt, plan_prompt=before.plan_prompt
    )
    if (mended := before.mended) is not None:
        by = before.mended_prompt
        return _Version(
            mended.program,
            mended.plan,
            program_prompt=kept.program_prompt if mended.program == program else by,
            plan_prompt=kept.plan_prompt if mended.plan == plan else by,
        )
    if before.fault == "test" and before.environment is not None:
        plan = await context.recipe.write_tests(
            before.environment, plan, repair, models, blueprint.rows
        )
        return replace(kept, plan=plan, plan_prompt=models.last_asked)
    program = await context.recipe.write_program(blueprint, program, repair, models)
    return replace(kept, program=program, program_prompt=models.last_asked)


async def _review(version: _Version, context: RunContext, models: ModelSession) -> _Version:
    """What two readers find of a program whose tests are green. The gate asks the same later, and
    is answered from the journal."""
    finding = await w4.check(
        _show_gates(version),
        GateContext(
            context.sandbox, models, context.config.run_seed, reviewed=context.config.reviewed
        ),
    )
    if finding.outcome != "dropped":
        return version
    told = [w4.render_failure(failure) for failure in finding.evidence["failures"]] or [
        finding.detail
    ]
    return replace(
        version,
        complaints=list_once(Complaint(w4.GATE, finding.reason, words) for words in told),
        fault="code",
    )


@dataclass(frozen=True)
class _Trial:
    """What came of running tests."""

    lacking: tuple[Complaint, ...]
    red: dict[int, str]
    """Place of a test → how it ended."""
    failing: tuple[Complaint, ...] = ()
    """One for each red test."""
    fault: Fault = "none"

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        return list_once([*self.lacking, *self.failing])


async def _run_tests(
    environment: Environment, tests: Sequence[Test], before: _Version, context: RunContext
) -> _Trial:
    """What is red or lacking, and whose fault it is: what the interface refuses never reached the
    program, nor did what a mended program
    left as it was."""
    played = await play_tests(environment, tests, context.sandbox)
    red = {
        place: fault
        for place, (test, seen) in enumerate(played)
        if (fault := judge_test(test, seen))
    }
    # What a debugger mended may be there already: a test told twice is one.
    untested = find_untested(environment, list({test.id: test for test in tests}.values()))
    lacking = [*_blame_tools(environment, "too_few_tests", untested)]
    if not lacking and not red:
        lacking = [*_blame_tools(environment, "no_rule_tested", find_unruled(environment, played))]
    if not lacking and not red and kind_of(environment).tests_move:
        lacking = [*_blame_tools(environment, "too_few_tests", w3.find_idle(environment, played))]
    if not lacking and not red and (untyped := find_untyped(environment, played)):
        return _Trial((*_blame_tools(environment, "untyped_reply", untyped),), {}, fault="code")
    if not lacking and not red:
        return _Trial((), {})
    failing = tuple(_complain_of_test(place, tests, fault) for place, fault in red.items())
    unasked = all(played[place][1][-1].code in _REFUSED_UNASKED for place in red)
    return _Trial(
        tuple(lacking),
        red,
        failing,
        "test" if lacking or unasked or before.fault == "unknown" else "unknown",
    )


def _blame_tools(environment: Environment, code: str, faults: Sequence[str]) -> Iterator[Complaint]:
    """Faults of tests, each under the tool that it names first."""
    for fault in faults:
        named = [tool.name for tool in environment.tools if re.search(rf"\b{tool.name}\b", fault)]
        yield Complaint(w3.GATE, code, fault, tool=min(named, key=fault.index, default=""))


def _complain_of_test(place: int, tests: Sequence[Test], fault: str) -> Complaint:
    """A red test, by its place among those of its tool; the words say what it expects and how it
    ended, and not whether program or test is
    wrong."""
    call = tests[place].call
    if tests[place].name.startswith(BREAKS):
        rule = tests[place].name.removeprefix(BREAKS)
        setup = "".join(
            f"after {one.name} {canonical_json(one.arguments)}: " for one in tests[place].setup
        )
        words = f"{setup}the call is accepted, and a rule forbids it"
        return Complaint(
            w3.GATE,
            "test_failed",
            words,
            tool=call.name,
            arguments=call.arguments,
            contract=f"The rule: {rule}",
        )
    number = sum(test.call.name == call.name for test in tests[: place + 1])
    return Complaint(
        w3.GATE,
        "test_failed",
        fault,
        item="test",
        index=number,
        tool=call.name,
        arguments=call.arguments,
    )


def assemble_environment(
    blueprint: Blueprint, reply: ProgramReply, models: ModelSession, prompt: Prompt | None = None
) -> Environment:
    """Interface and tables as they were written; BuildError where it is not what was planned."""
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in blueprint.tools}
    source = fill_docstrings(reply.source, reply.class_name, describe_plan(blueprint))
    kind, files = kind_of(blueprint), {**blueprint.files, "program.py": source}
    tools = kind.derive_tools(source, reply.class_name, effects)
    planned, written = set(effects), {tool.name for tool in tools}
    if planned != written:
        amiss = f"Missing: {sorted(planned - written)}; not planned: {sorted(written - planned)}."
        raise BuildError(f"The class must offer exactly the planned tools. {amiss}")
    if blueprint.brief.user_side and sum("agent" not in tool.actors for tool in tools) != 1:
        raise BuildError(
            'One tool, and no other, is the user\'s alone: decorate it with @actors("user"), and '
            "import actors."
        )
    plans = {tool.name: tool.description for tool in blueprint.tools}
    tools = [
        tool.model_copy(
            update={"description": join_descriptions(plans[tool.name], tool.description)}
        )
        for tool in tools
    ]
    tables = kind.derive_tables(files, blueprint.policies)
    made = Environment(
        kind=blueprint.kind,
        files=files,
        entry=f"program:{reply.class_name}",
        tools=add_outputs(kind.add_touches(tools, blueprint.touches, tables), blueprint.signatures),
        tables=tables,
        shared=blueprint.shared,
        rules=blueprint.rules,
        policy_document=blueprint.policy_document,
        name=blueprint.name,
        summary=blueprint.summary,
        brief=blueprint.brief,
        blueprint=blueprint.id,
        licence=blueprint.licence,
        origin=blueprint.origin.model_copy(
            update={"provider": models.provider, "model": models.model, **describe_prompt(prompt)}
        ),
    )
    return _as_stored(made)


def _as_stored(made: R) -> R:
    """A record as the lake gives it back. Programs list rows in the order of keys, and prompts show
    tools so: with another order in the
    loop, gates would see other replies than in verify, and models would be asked twice."""
    return type(made).model_validate(order_keys(made.model_dump(mode="json")))


def describe_plan(blueprint: Blueprint) -> dict[str, ToolWords]:
    """What the plan, the settled types and the documents say of each tool and its parameters."""
    outline = blueprint.brief.outline
    documented = {sketch.name: sketch.inputs for sketch in outline.tools} if outline else {}
    settled = {name: signature.inputs for name, signature in blueprint.signatures.items()}
    return {
        tool.name: ToolWords(
            tool.description,
            read_words(documented.get(tool.name)) | read_words(settled.get(tool.name)),
        )
        for tool in blueprint.tools
    }


def add_outputs(tools: Sequence[Tool], signatures: Mapping[str, Signature]) -> list[Tool]:
    """The tools, each with what it was promised to reply; BuildError where one does not take what
    was promised."""
    for tool in tools:
        if (signed := signatures.get(tool.name)) is None:
            continue
        promised, taken = (
            set(one.get("properties", {})) for one in (signed.inputs, tool.parameters)
        )
        if promised != taken:
            raise BuildError(
                f"The tool {tool.name} takes {sorted(taken)}; its type says {sorted(promised)}.",
                tool=tool.name,
            )
    signed = {name: each.outputs for name, each in signatures.items()}
    return [
        tool.model_copy(update={"outputs": signed[tool.name]}) if tool.name in signed else tool
        for tool in tools
    ]


def store_tests(
    environment: Environment, plan: TestsReply, prompt: Prompt | None = None, *, exact: bool = True
) -> tuple[Test, ...]:
    """As they are kept, each call by an actor who may make it; whole changes with `exact` alone."""
    program = Program.of(environment)

    def sign(call: Call) -> Call:
        return (
            call
            if call.actor != "agent"
            else call.model_copy(update={"actor": program.name_actor(call.name)})
        )

    return tuple(
        _as_stored(
            Test(
                environment=environment.id,
                name=test.name,
                initial_state=plan.begin(place),
                setup=[sign(call) for call in test.setup],
                call=sign(test.call),
                expect=test.expect,
                reply=test.reply,
                after=test.after,
                exact=exact and plan.exact and test.expect == "success",
                origin=environment.origin.model_copy(update=describe_prompt(prompt)),
            )
        )
        for place, test in enumerate(plan.tests)
    )


async def build_scenario(
    subject: Subject[PlacedScenario[Draft]], context: RunContext, models: ModelSession
) -> Result:
    """The scenario that the repair loop held, finished: a verifier from what the reference path
    did, and its rewards."""
    draft, environment = subject.record.record, subject.record.environment
    builds: tuple[Build, ...] = ()
    try:
        prepared = await prepare(draft, environment, context.sandbox)
        if (
            context.config.checks == "written"
            and draft.changes
            and kind_of(environment).takes_checklists
        ):
            checklist = await _ask_for_checks(
                subject.record, prepared.composed, prepared.endings, context, models
            )
            builds = checklist.builds
            if checklist.verifier is None:
                return Result(builds, (drop("verifier", *checklist.end),))
            prepared = replace(
                prepared, composed=replace(prepared.composed, verifier=checklist.verifier)
            )
        scenario = await finish(
            prepared, context.config.reward, context.sandbox, subject.record.split
        )
    except BuildError as error:
        return Result(
            builds,
            (drop("verifier", error.facts["reason"], error.message, error.facts.get("verdict")),),
        )
    return Result((scenario, *builds))


async def _ask_for_checks(
    placed: PlacedScenario[Draft],
    composed: ComposedVerifier,
    endings: Sequence[Ending],
    context: RunContext,
    models: ModelSession,
) -> Checklist:
    """The author's own checklist in place of what was derived."""
    draft, environment = placed.record, placed.environment
    locked = context.locks.of(draft.id).beyond(render_facts(draft.user.facts))
    if out_of_reach := list(
        locked.within(render_checks([*composed.verifier.goals, *composed.verifier.guards])).parts
    ):
        detail = (
            f"no written list can hold {out_of_reach[0]!r}, which was derived and a reviewer "
            "locked: build with --checks derived"
        )
        return Checklist(None, (), (REASON, detail))
    return await write_checklist(
        draft,
        composed.verifier,
        endings,
        lambda repair, asking: context.recipe.write_checks(environment, draft, repair, asking),
        context.sandbox,
        models,
        locked,
    )
