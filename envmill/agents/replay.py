"""A stored rollout played again in a fresh session: its calls, its scenario's clock and seed; identical, or the first difference."""

from collections.abc import Iterator
from dataclasses import dataclass

from envmill.agents.rollout import tell_reply
from envmill.kinds.start import start
from envmill.runtime.recorder import Difference, list_differences
from envmill.sandbox import Invoke, Look, Observation, Program, Sandbox
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.rollout import Rollout
from schemas.scenario import Scenario


@dataclass(frozen=True)
class Asked:
    """A call of the rollout, and what was recorded of it."""

    call: Call
    content: Json
    state_hash: str


async def replay_rollout(rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox) -> Difference | None:
    """The first call whose reply or state differs from the record (step 0 is the start), or None."""
    asked = list(read_calls(rollout))
    plan = [start(scenario), *(Invoke(one.call) for one in asked), Look()]
    began, *replies, end = await sandbox.play(Program.of(environment), plan, fresh=True)
    if began.outcome != "ok" and asked:
        return Difference(0, ("outcome",), "ok", f"{began.code}: {began.message}")
    for place, (one, reply) in enumerate(zip(asked, replies, strict=True), start=1):
        for path, before, after in list_differences(_record(one.content, one.state_hash), _record(tell_reply(reply), reply.state_hash)):
            return Difference(place, (one.call.name, *path), before, after)
    return _compare_ends(rollout, end, len(asked) + 1)


def read_calls(rollout: Rollout) -> Iterator[Asked]:
    """The calls of a transcript, in order, each with the reply that bears its number."""
    replies = {entry["tool_call_id"]: entry for entry in rollout.transcript if entry["role"] == "tool"}
    for entry in rollout.transcript:
        for asked in entry.get("tool_calls", ()):
            reply = replies[asked["id"]]
            call = Call(name=asked["name"], arguments=asked["arguments"], actor=asked.get("actor", "agent"))
            yield Asked(call, reply["content"], reply["state_hash"])


def _record(content: Json, state_hash: str) -> Json:
    return {"reply": content, "state_hash": state_hash}


def _compare_ends(rollout: Rollout, end: Observation, place: int) -> Difference | None:
    same = end.state_hash == rollout.final_state_hash
    return None if same else Difference(place, ("final_state_hash",), rollout.final_state_hash, end.state_hash)
