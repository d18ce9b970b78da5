"""Build: blueprint → program that runs, by a bounded repair loop, and draft → scenario with a verifier that runs.

write ─► load in the jail ─► tests ─► green: built
  ▲                 └─ failing case ─┘
  └────── repair, at most twice; the best version goes on to the gates ──────┘
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from envmill.errors import BadReply, BuildError
from envmill.gates.base import drop
from envmill.gates.w3 import find_failures
from envmill.kinds import KINDS
from envmill.kinds.start import start
from envmill.mill import Mill, Placed, Result, Subject
from envmill.models.door import Account
from envmill.sandbox import Invoke, Look, Program, Reset
from envmill.verifiers.derive import asks_for_something, derive_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.base import Json, digest
from schemas.environment import Blueprint, Build, Effect, Environment, Fault, Test
from schemas.prompts import ProgramReply, TestsReply
from schemas.scenario import Draft, Scenario

_REPAIRS = 2


@dataclass(frozen=True)
class _Version:
    """One version of a program and how far it got."""

    build: Build
    environment: Environment | None = None
    tests: tuple[Test, ...] = ()
    failing: int = 0


async def build_environment(subject: Subject[Blueprint], mill: Mill, account: Account) -> Result:
    """The best version is kept even if tests fail: the gate says so, with the evidence."""
    blueprint, versions, plan = subject.record, list[_Version](), None
    source = failure = ""
    for repair in range(1 + _REPAIRS):
        try:
            reply = await mill.recipe.write_program(blueprint, source, failure, account)
        except BadReply as error:
            if not versions:
                raise
            versions.append(_Version(_record(blueprint, repair, source, error.message, "unknown")))
            break
        version, plan = await _try_version(blueprint, reply, repair, plan, mill, account)
        versions.append(version)
        source, failure = reply.source, version.build.failure
        if not failure:
            break
    builds = tuple(version.build for version in versions)
    ran = [version for version in versions if version.environment is not None]
    if not ran:
        return Result(builds, (drop("build", "does_not_build", f"after {_REPAIRS} repairs: {failure}"),))
    best = min(ran, key=lambda version: version.failing)
    assert best.environment is not None
    return Result((*builds, best.environment, *best.tests))


async def _try_version(
    blueprint: Blueprint, reply: ProgramReply, repair: int, plan: TestsReply | None, mill: Mill, account: Account
) -> tuple[_Version, TestsReply | None]:
    """Load it and run the tests; tests are written once, for the first version that loads."""
    try:
        environment = _assemble(blueprint, reply, account)
        await mill.sandbox.inspect(Program.of(environment))
    except BuildError as error:
        return _Version(_record(blueprint, repair, reply.source, error.message, "code")), plan
    plan = plan or await mill.recipe.write_tests(environment, account)
    tests = _store_tests(environment, plan)
    failures = await find_failures(environment, tests, mill.sandbox)
    quoted = "\n".join(str(failure["seen"]) for failure in failures[:5])
    fault: Fault = "unknown" if failures else "none"
    return _Version(_record(blueprint, repair, reply.source, quoted, fault), environment, tests, len(failures)), plan


def _assemble(blueprint: Blueprint, reply: ProgramReply, account: Account) -> Environment:
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in blueprint.tools}
    tools = KINDS[blueprint.kind].derive_tools(reply.source, reply.class_name, effects)
    planned, written = set(effects), {tool.name for tool in tools}
    if planned != written:
        amiss = f"Missing: {sorted(planned - written)}; not planned: {sorted(written - planned)}."
        raise BuildError(f"The class must offer exactly the planned tools. {amiss}")
    return Environment(
        kind=blueprint.kind,
        files={"program.py": reply.source},
        entry=f"program:{reply.class_name}",
        tools=tools,
        rules=blueprint.rules,
        policy_document=blueprint.policy_document,
        name=blueprint.name,
        summary=blueprint.summary,
        brief=blueprint.brief,
        blueprint=blueprint.id,
        licence=blueprint.licence,
        origin=blueprint.origin.model_copy(update={"provider": account.provider, "model": account.model, "prompt": "program"}),
    )


def _store_tests(environment: Environment, plan: TestsReply) -> tuple[Test, ...]:
    return tuple(
        Test(
            environment=environment.id,
            name=test.name,
            initial_state=plan.initial_state,
            setup=test.setup,
            call=test.call,
            expect=test.expect,
            origin=environment.origin.model_copy(update={"prompt": "tests"}),
        )
        for test in plan.tests
    )


def _record(blueprint: Blueprint, repair: int, source: str, failure: str, fault: Fault) -> Build:
    return Build(
        subject=blueprint.id,
        repair=repair,
        outcome="failed" if failure else "built",
        failure=failure,
        fault=fault,
        content_hash=digest(source),
    )


async def build_scenario(subject: Subject[Placed[Draft]], mill: Mill, account: Account) -> Result:  # noqa: ARG001  no model is asked
    """A verifier from the oracle's changes, run on the oracle's end and on the untouched state."""
    draft = subject.record.record
    final = await _play_oracle(draft, subject.record.environment, mill, start(draft))
    elsewhere = await _play_oracle(draft, subject.record.environment, mill, _start_elsewhere(draft))
    if final is None or elsewhere is None:
        return Result(findings=(drop("verifier", "oracle_unstable", "the oracle does not run again under another seed and clock"),))
    try:
        verifier = derive_verifier(draft.initial_state, draft.changes, diff_states(draft.initial_state, elsewhere))
    except BuildError as error:
        return Result(findings=(drop("verifier", "no_verifier", error.message),))
    if not asks_for_something(verifier):
        return Result(findings=(drop("verifier", "no_goal", "nothing the oracle changes can be asked for"),))
    kept = draft.model_dump(
        include={"environment", "number", "initial_state", "request", "user", "oracle", "polarity", "clock", "seed", "origin"}
    )
    scenario = Scenario.model_validate(
        kept
        | {
            "draft": draft.id,
            "verifier": verifier,
            "features": {"oracle_calls": len(draft.oracle), "changes": len(draft.changes)},
            "split": "train",
            "oracle_reward": judge(verifier, Ending(draft.initial_state, final)).reward,
            "do_nothing_reward": judge(verifier, Ending(draft.initial_state, draft.initial_state)).reward,
        }
    )
    return Result((scenario,))


async def _play_oracle(draft: Draft, environment: Environment, mill: Mill, reset: Reset) -> Json:
    seen = await mill.sandbox.play(Program.of(environment), [reset, *map(Invoke, draft.oracle), Look()])
    return seen[-1].state if all(step.outcome == "ok" for step in seen) else None


def _start_elsewhere(draft: Draft) -> Reset:
    later = datetime.fromisoformat(draft.clock) + timedelta(minutes=7)
    return Reset(state=draft.initial_state, clock=later.isoformat(), seed=draft.seed + 1)
