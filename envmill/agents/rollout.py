"""The rollout loop: request → moves and replies → verdict. A bad rollout is data, not a crash."""

from dataclasses import dataclass, replace
from typing import Any

from envmill.agents.base import Actor, Policy, Say, Wait
from envmill.agents.tape import Tape
from envmill.kinds.start import start
from envmill.sandbox import Advance, Invoke, Look, Observation, Program, Reset, Sandbox, Session
from envmill.verifiers.court import decide
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import make_error
from schemas.base import Json
from schemas.environment import Environment
from schemas.rollout import Rollout, Termination, Verdict
from schemas.scenario import Scenario

_STEP_LIMIT = 40


@dataclass(frozen=True)
class _Played:
    """A rollout before it is judged."""

    tape: Tape
    termination: Termination
    end: Observation


async def play_scenario(
    policy: Policy, scenario: Scenario, environment: Environment, sandbox: Sandbox, group: str, attempt: int, weather: Json = None
) -> Rollout:
    """One attempt, whatever comes of it; only a failure of the jail itself escapes."""
    seed = scenario.seed + attempt
    tape = Tape([*_preamble(environment), {"role": "user", "content": scenario.request}])
    async with sandbox.session(Program.of(environment)) as session:
        reset = replace(start(scenario), weather=weather)
        played = await _play(policy.begin(scenario, environment, seed), tape, session, reset)
    verdict = await _judge_end(scenario, played, sandbox)
    return Rollout(
        scenario=scenario.id,
        environment=environment.id,
        policy=policy.name,
        rollout_group=group,
        attempt=attempt,
        seed=seed,
        outcome=verdict.outcome,
        reward=verdict.reward,
        components=verdict.components,
        reason=verdict.reason,
        evidence=verdict.evidence,
        weather=weather,
        **_tell(scenario, played),
    )


async def _play(actor: Actor, tape: Tape, session: Session, reset: Reset) -> _Played:
    """Moves until the policy says its last words, breaks the environment, or has made too many."""
    began = await session.step(reset)
    tape.uses.update(began.uses)
    termination: Termination = "environment_error" if began.outcome != "ok" else "step_limit"
    last: Observation | None = None
    while termination == "step_limit" and tape.moves < _STEP_LIMIT:
        move = actor.act(last)
        if isinstance(move, Say):
            tape.speak(move.text)
            termination = "done"
        elif isinstance(move, Wait):
            last = await session.step(Advance(move.seconds))
            tape.wait(move.seconds, last)
        else:
            last = await session.step(Invoke(move))
            tape.record(move, last)
        if last is not None and last.outcome == "failure":
            termination = "environment_error"
    return _Played(tape, termination, await session.step(Look()))


def _tell(scenario: Scenario, played: _Played) -> dict[str, Any]:
    """What is stored of it, so that it can be judged again without being played."""
    state, tape = played.end.state, played.tape
    return {
        "steps": len(tape.deeds),
        "termination": played.termination,
        "final_state_hash": played.end.state_hash,
        "transcript": tape.messages,
        "changes": None if state is None else [change.model_dump(mode="json") for change in diff_states(scenario.initial_state, state)],
        "met": tape.met,
        "uses": dict(sorted(tape.uses.items())),
    }


async def _judge_end(scenario: Scenario, played: _Played, sandbox: Sandbox) -> Verdict:
    if played.termination == "environment_error" or played.end.state is None:
        return make_error("the environment failed, not the policy")
    ending = Ending(scenario.initial_state, played.end.state, played.tape.deeds, played.tape.said)
    return await decide(sandbox, scenario.verifier, ending, scenario.clock)


def _preamble(environment: Environment) -> list[dict[str, Any]]:
    return [{"role": "system", "content": environment.policy_document}] if environment.policy_document else []
