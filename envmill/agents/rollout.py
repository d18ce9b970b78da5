"""The rollout loop: request → moves and replies → verdict. A bad rollout is data, not a crash."""

from dataclasses import dataclass, field
from typing import Any

from envmill.agents.base import Policy, Say
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Observation, Program, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Deed, Ending
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.rollout import Rollout, Termination, Verdict
from schemas.scenario import Scenario

_STEP_LIMIT = 40


@dataclass
class _Tape:
    """What was said and done, in order."""

    messages: list[Json]
    hashes: list[str] = field(default_factory=list[str])
    deeds: list[Deed] = field(default_factory=list[Deed])
    said: list[str] = field(default_factory=list[str])

    def speak(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": text})
        self.said.append(text)

    def record(self, call: Call, reply: Observation) -> None:
        number = f"call_{len(self.hashes) + 1}"
        asked = {"id": number, "name": call.name, "arguments": call.arguments}
        self.messages.append({"role": "assistant", "content": "", "tool_calls": [asked]})
        self.messages.append({"role": "tool", "tool_call_id": number, "content": tell_reply(reply), "state_hash": reply.state_hash})
        self.hashes.append(reply.state_hash)
        self.deeds.append(Deed.of(call, reply))


async def play_scenario(
    policy: Policy, scenario: Scenario, environment: Environment, sandbox: Sandbox, group: str, attempt: int
) -> Rollout:
    """One attempt, whatever comes of it; only a failure of the jail itself escapes."""
    seed = scenario.seed + attempt
    actor = policy.begin(scenario, environment, seed)
    tape = _Tape([*_preamble(environment), {"role": "user", "content": scenario.request}])
    async with sandbox.session(Program.of(environment)) as session:
        last: Observation | None = await session.step(start(scenario))
        termination: Termination = "environment_error" if last.outcome != "ok" else "step_limit"
        last = None
        while termination == "step_limit" and len(tape.hashes) < _STEP_LIMIT:
            move = actor.act(last)
            if isinstance(move, Say):
                tape.speak(move.text)
                termination = "done"
                break
            last = await session.step(Invoke(move))
            tape.record(move, last)
            if last.outcome == "failure":
                termination = "environment_error"
        end = await session.step(Look())
    verdict = await _judge_end(scenario, tape, end, termination, sandbox)
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
        steps=len(tape.hashes),
        termination=termination,
        final_state_hash=end.state_hash,
        transcript=tape.messages,
    )


async def _judge_end(scenario: Scenario, tape: _Tape, end: Observation, termination: Termination, sandbox: Sandbox) -> Verdict:
    if termination == "environment_error" or end.state is None:
        return Verdict(outcome="error", reward=None, components={}, reason="the environment failed, not the policy")
    ending = Ending(scenario.initial_state, end.state, tape.deeds, tape.said)
    return await decide(sandbox, scenario.verifier, ending, scenario.clock)


def _preamble(environment: Environment) -> list[dict[str, Any]]:
    return [{"role": "system", "content": environment.policy_document}] if environment.policy_document else []


def tell_reply(reply: Observation) -> Json:
    """A reply as the policy gets it."""
    if reply.outcome == "ok":
        return {"ok": True, "parts": reply.parts}
    return {"ok": False, "error": {"code": reply.code, "message": reply.message}}
