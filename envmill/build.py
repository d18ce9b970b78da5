"""Build: blueprint → program that runs, by a bounded repair loop, and draft → scenario with a verifier that runs.

write ─► load in the jail ─► tests ─► review, where it is asked for ─► built
  ▲                 └─ failing case ─┴──────────┘
  └──── repair of program or tests, twice at most, then once afresh; the best version goes on to the gates
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.drafting.checklist import Checklist, write_checklist
from envmill.drafting.endings import derive_verifier, play_twice
from envmill.drafting.errands.outfitting import outfit
from envmill.drafting.locked import REASON, spell_checks, spell_facts
from envmill.drafting.mending import Mended
from envmill.drafting.perturbing import assemble_machine
from envmill.drafting.repair import give_up, strive, tell_builds
from envmill.errors import BadReply, BuildError
from envmill.gates.base import Built, Finding, Means, drop
from envmill.gates.w3 import find_unruled, find_untested, find_untyped, judge_test, play_tests
from envmill.gates.w4 import look, spell_failure
from envmill.kinds import KINDS
from envmill.kinds.docstring import join_descriptions
from envmill.kinds.sql import add_touches
from envmill.kinds.terminal import compose_checks
from envmill.mill import Mill, Placed, Result, Subject
from envmill.models.door import Account
from envmill.models.prompt import Prompt, tell_prompt
from envmill.sandbox import Program
from envmill.sandbox.machines.files import ERRAND
from envmill.verifiers.compose import Composed
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from envmill.verifiers.weights import balance
from schemas.base import Json, is_object
from schemas.environment import Blueprint, Effect, Environment, Fault, Test, Tool
from schemas.prompts import ProgramReply, TestsReply
from schemas.run import Reward
from schemas.scenario import Draft, Scenario, Verifier
from schemas.sketch import Signature

_REFUSED_UNASKED = ("invalid_arguments", "unknown_tool")


@dataclass(frozen=True)
class _Version:
    """One version of a program with its tests, and how far it got."""

    program: ProgramReply | None = None
    plan: TestsReply | None = None
    environment: Environment | None = None
    """None where it does not load."""
    tests: tuple[Test, ...] = ()
    failing: int = 0
    failure: str = ""
    """As quoted to the author."""
    fault: Fault = "code"
    mended: Mended | None = None
    """What comes next, where a debugger was asked."""
    program_prompt: Prompt | None = None
    """What the program was got with; likewise its tests and what was mended."""
    plan_prompt: Prompt | None = None
    mended_prompt: Prompt | None = None

    @property
    def content(self) -> Json:
        return [part.model_dump(mode="json") for part in (self.program, self.plan) if part]


async def build_environment(subject: Subject[Blueprint], mill: Mill, account: Account) -> Result:
    """The best version is kept even if tests fail: the gate says so, with the evidence."""
    blueprint = subject.record
    if ERRAND in blueprint.files:
        made = await outfit(blueprint, mill.recipe, mill.sandbox, account)
        built = (made.environment,) if made.environment else ()
        return Result((*made.builds, *built), (drop("build", made.reason, made.detail),) if not built else ())
    if blueprint.kind == "terminal":
        return Result((assemble_machine(blueprint),))

    async def write(before: _Version | None, asking: Account) -> _Version:
        version = await _write_version(blueprint, before or _Version(), mill, asking)
        return version if version.failure or not mill.config.review else await _review(version, mill, account)

    versions = await strive(write, account)
    builds = tell_builds(blueprint.id, versions)
    ran = [version for version in versions if isinstance(version, _Version) and version.environment is not None]
    if not ran:
        return Result(builds, (drop("build", *give_up("does_not_build", versions)),))
    best = min(ran, key=lambda version: version.failing)
    assert best.environment is not None
    return Result((*builds, best.environment, *best.tests))


async def _write_version(blueprint: Blueprint, before: _Version, mill: Mill, account: Account) -> _Version:
    """What was at fault is written anew, program or tests, and told what failed; then the program is loaded and its tests run."""
    part = await _write_part(blueprint, before, mill, account)
    program, plan = part.program, part.plan
    assert program is not None
    try:
        environment = assemble_environment(blueprint, program, account, part.program_prompt)
        await mill.sandbox.inspect(Program.of(environment))
    except BuildError as error:
        return replace(part, failure=error.message, fault="code")
    if plan is None:
        plan = await mill.recipe.write_tests(environment, "", account, blueprint.rows)
        part = replace(part, plan=plan, plan_prompt=account.last_asked)
    tests = store_tests(environment, plan, part.plan_prompt)
    trial = await _run_tests(environment, tests, before, mill)
    failure = "\n".join(trial.failures[:5])
    version = replace(part, environment=environment, tests=tests, failing=len(trial.failures), failure=failure, fault=trial.fault)
    if not trial.red or trial.lacking:
        return version
    locked = mill.locks.of(blueprint.id).tell()
    try:
        mended = await mill.recipe.debug(environment, program, plan, trial.red, locked, account)
    except BadReply:
        # A verdict nobody can read costs no version that runs: what is at fault is written anew, as without one.
        return version
    return replace(version, mended=mended, fault=mended.fault, mended_prompt=account.last_asked) if mended else version


async def _write_part(blueprint: Blueprint, before: _Version, mill: Mill, account: Account) -> _Version:
    """Program and tests of the next version, where there are any yet, each with what it was got with."""
    program, plan = before.program, before.plan
    kept = _Version(program, plan, program_prompt=before.program_prompt, plan_prompt=before.plan_prompt)
    if (mended := before.mended) is not None:
        by = before.mended_prompt
        return _Version(
            mended.program,
            mended.plan,
            program_prompt=kept.program_prompt if mended.program == program else by,
            plan_prompt=kept.plan_prompt if mended.plan == plan else by,
        )
    if before.fault == "test" and before.environment is not None:
        plan = await mill.recipe.write_tests(before.environment, before.failure, account, blueprint.rows)
        return replace(kept, plan=plan, plan_prompt=account.last_asked)
    locked = mill.locks.of(blueprint.id).tell() if before.failure else ()
    program = await mill.recipe.write_program(blueprint, program.source if program else "", before.failure, locked, account)
    return replace(kept, program=program, program_prompt=account.last_asked)


async def _review(version: _Version, mill: Mill, account: Account) -> _Version:
    """What two readers find of a program whose tests are green. The gate asks the same later, and is answered from the journal."""
    assert version.environment is not None
    finding = await look(Built(version.environment, version.tests), Means(mill.sandbox, account, mill.config.seed or 0))
    if finding.outcome != "dropped":
        return version
    failures = [spell_failure(one) for one in finding.evidence["failures"]]
    return replace(version, failing=len(failures), failure="\n".join([finding.detail, *failures[1:5]]), fault="code")


@dataclass(frozen=True)
class _Trial:
    """What came of running tests."""

    lacking: list[str]
    red: dict[int, str]
    """Place of a test → how it ended."""
    fault: Fault = "none"

    @property
    def failures(self) -> list[str]:
        return [*self.lacking, *self.red.values()]


async def _run_tests(environment: Environment, tests: Sequence[Test], before: _Version, mill: Mill) -> _Trial:
    """What is red or lacking, and whose fault it is: what the interface refuses never reached the program, nor did what a mended program
    left as it was."""
    played = await play_tests(environment, tests, mill.sandbox)
    red = {place: fault for place, (test, seen) in enumerate(played) if (fault := judge_test(test, seen))}
    # What a debugger mended may be there already: a test told twice is one.
    lacking = find_untested(environment, list({test.id: test for test in tests}.values())) or (
        [] if red else find_unruled(environment, played)
    )
    if not lacking and not red and (untyped := find_untyped(environment, played)):
        return _Trial(untyped, {}, "code")
    if not lacking and not red:
        return _Trial([], {})
    unasked = all(played[place][1][-1].code in _REFUSED_UNASKED for place in red)
    return _Trial(lacking, red, "test" if lacking or unasked or before.fault == "unknown" else "unknown")


def assemble_environment(blueprint: Blueprint, reply: ProgramReply, account: Account, prompt: Prompt | None = None) -> Environment:
    """Interface and tables are read from what was written; BuildError where it is not what was planned."""
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in blueprint.tools}
    kind, files = KINDS[blueprint.kind], {**blueprint.files, "program.py": reply.source}
    tools = kind.derive_tools(reply.source, reply.class_name, effects)
    planned, written = set(effects), {tool.name for tool in tools}
    if planned != written:
        amiss = f"Missing: {sorted(planned - written)}; not planned: {sorted(written - planned)}."
        raise BuildError(f"The class must offer exactly the planned tools. {amiss}")
    if blueprint.brief.user_side and sum("agent" not in tool.actors for tool in tools) != 1:
        raise BuildError('One tool, and no other, is the user\'s alone: decorate it with @actors("user"), and import actors.')
    plans = {tool.name: tool.description for tool in blueprint.tools}
    tools = [tool.model_copy(update={"description": join_descriptions(plans[tool.name], tool.description)}) for tool in tools]
    tables = kind.derive_tables(files, blueprint.policies)
    return Environment(
        kind=blueprint.kind,
        files=files,
        entry=f"program:{reply.class_name}",
        tools=add_outputs(add_touches(tools, blueprint.touches, tables) if tables else tools, blueprint.signatures),
        tables=tables,
        rules=blueprint.rules,
        policy_document=blueprint.policy_document,
        name=blueprint.name,
        summary=blueprint.summary,
        brief=blueprint.brief,
        blueprint=blueprint.id,
        licence=blueprint.licence,
        origin=blueprint.origin.model_copy(update={"provider": account.provider, "model": account.model, **tell_prompt(prompt)}),
    )


def add_outputs(tools: Sequence[Tool], signatures: Mapping[str, Signature]) -> list[Tool]:
    """The tools, each with what it was promised to reply; BuildError where one does not take what was promised."""
    for tool in tools:
        if (signed := signatures.get(tool.name)) is None:
            continue
        promised, taken = (set(one.get("properties", {})) for one in (signed.inputs, tool.parameters))
        if promised != taken:
            raise BuildError(f"The tool {tool.name} takes {sorted(taken)}; its type says {sorted(promised)}.", tool=tool.name)
    signed = {name: each.outputs for name, each in signatures.items()}
    return [tool.model_copy(update={"outputs": signed[tool.name]}) if tool.name in signed else tool for tool in tools]


def store_tests(environment: Environment, plan: TestsReply, prompt: Prompt | None = None) -> tuple[Test, ...]:
    """Tests as they are kept."""
    return tuple(
        Test(
            environment=environment.id,
            name=test.name,
            initial_state=plan.begin(place),
            setup=test.setup,
            call=test.call,
            expect=test.expect,
            reply=test.reply,
            after=test.after,
            origin=environment.origin.model_copy(update=tell_prompt(prompt)),
        )
        for place, test in enumerate(plan.tests)
    )


async def build_scenario(subject: Subject[Placed[Draft]], mill: Mill, account: Account) -> Result:
    """A verifier from what the oracle did, measured on the oracle's ending, on doing nothing, and on the right words alone."""
    draft, environment = subject.record.record, subject.record.environment
    endings = await play_twice(draft, environment, mill.sandbox)
    if endings is None:
        return Result(findings=(drop("verifier", "oracle_unstable", "the oracle does not run again under another seed and clock"),))
    ending, elsewhere = endings
    try:
        composed = _compose(draft, environment, ending, elsewhere)
    except BuildError as error:
        return Result(findings=(drop("verifier", "no_verifier", error.message),))
    checklist = Checklist(composed.verifier, ())
    is_machine = environment.kind == "terminal"
    if mill.config.checks == "written" and draft.changes and not is_machine:
        checklist = await _ask_for_checks(subject.record, composed, (ending, elsewhere), mill, account)
        if checklist.verifier is None:
            return Result(checklist.builds, (drop("verifier", *checklist.end),))
        composed = replace(composed, verifier=checklist.verifier)
    # A machine that is well by half is not mended.
    composed = replace(composed, verifier=_pay(composed.verifier, "binary" if is_machine else mill.config.reward))
    rewards, fault = await _measure(draft, composed, ending, mill)
    if fault:
        return Result(checklist.builds, (fault,))
    return Result((_make_scenario(subject.record, composed, rewards), *checklist.builds))


def _compose(draft: Draft, environment: Environment, ending: Ending, elsewhere: Ending) -> Composed:
    """Of a machine by its probes; of anything else by what the reference path changed."""
    if environment.kind == "terminal":
        return Composed(balance(compose_checks(draft.initial_state)), ())
    return derive_verifier(draft, environment, ending, elsewhere)


def _pay(verifier: Verifier, reward: Reward) -> Verifier:
    """In part only what has to be done: words are said without doing anything, and would pay somebody who did nothing."""
    in_part = reward == "partial" and len(verifier.goals) > 1 and not verifier.facts
    return verifier.model_copy(update={"partial": True}) if in_part else verifier


async def _ask_for_checks(placed: Placed[Draft], composed: Composed, endings: Sequence[Ending], mill: Mill, account: Account) -> Checklist:
    """The author's own checklist in place of what was derived."""
    draft, environment = placed.record, placed.environment
    locked = mill.locks.of(draft.id).beyond(spell_facts(draft.user.facts))
    if out_of_reach := list(locked.within(spell_checks([*composed.verifier.goals, *composed.verifier.guards])).parts):
        detail = f"no written list can hold {out_of_reach[0]!r}, which was derived and a reviewer locked: build with --checks derived"
        return Checklist(None, (), (REASON, detail))
    return await write_checklist(
        draft,
        composed.verifier,
        endings,
        lambda failure, asking: mill.recipe.write_checks(environment, draft, failure, locked.tell(), asking),
        mill.sandbox,
        account,
        locked,
    )


async def _measure(draft: Draft, composed: Composed, ending: Ending, mill: Mill) -> tuple[list[float], Finding | None]:
    """Rewards of the oracle, of doing nothing and of the right words alone, or what is wrong with one of them."""
    nothing = Ending(draft.initial_state, draft.initial_state)
    rewards: list[float] = []
    for name, one in (("oracle", ending), ("do_nothing", nothing), ("words_alone", replace(nothing, said=ending.said))):
        verdict = await decide(mill.sandbox, composed.verifier, one, draft.clock)
        if (name == "oracle") is not (verdict.outcome == "pass") or (name != "oracle" and verdict.reward != 0.0):
            detail = f"{name} ends in {verdict.outcome} with reward {verdict.reward}: {verdict.reason or 'nothing failed'}"
            return rewards, drop("verifier", f"{name}_misjudged", detail, verdict.model_dump(mode="json"))
        rewards.append(verdict.reward or 0.0)
    return rewards, None


def _make_scenario(placed: Placed[Draft], composed: Composed, rewards: Sequence[float]) -> Scenario:
    draft = placed.record
    kept = draft.model_dump(
        include={"environment", "number", "initial_state", "request", "user", "oracle", "polarity", "clock", "seed", "say", "origin"}
    )
    return Scenario.model_validate(
        kept
        | {
            "draft": draft.id,
            "verifier": composed.verifier,
            "features": find_features(draft, placed.environment, composed),
            "split": placed.split,
            "oracle_reward": rewards[0],
            "do_nothing_reward": rewards[1],
        }
    )


def find_features(draft: Draft, environment: Environment, composed: Composed) -> dict[str, Json]:
    """What may make a scenario hard, counted."""
    effects = {tool.name: tool.effect for tool in environment.tools}
    touched = sorted({change.path[0] for change in draft.changes})
    changed = {tuple(change.path[:2]) for change in draft.changes if change.op != "add"}
    rows = {name: len(draft.initial_state.get(name) or ()) for name in touched if is_object(draft.initial_state.get(name))}
    return {
        "oracle_calls": len(draft.oracle),
        "writes": sum(effects.get(call.name) == "change" for call in draft.oracle),
        "reads": sum(effects.get(call.name) == "query" for call in draft.oracle),
        "changes": len(draft.changes),
        "collections": touched,
        "distractors": sum(rows.values()) - sum(place[0] in rows for place in changed),
        "facts": len(composed.verifier.facts),
        "facts_refused": list(composed.refused),
        "polarity": draft.polarity,
        "request_length": len(draft.request),
    }
