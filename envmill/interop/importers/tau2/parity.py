"""What a scenario pays for right, empty and wrong dialogues, in the components of τ²-bench.

policy ──► calls ──► session in the jail ──► ending ──► verdict ──► vector {reward, components, calls, errors}
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envmill.interop.importers.tau2.checks import NAMES
from envmill.sandbox import Changes, Invoke, Observation, Program, Reset, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.diff import apply_changes
from envmill.verifiers.ending import CompletedCall, Ending
from schemas.base import Json, is_object
from schemas.environment import Call, Environment
from schemas.rollout import Termination, Verdict
from schemas.scenario import Change, Scenario

HAND_OVER = "transfer_to_human_agents"
STOPPED: frozenset[Termination] = frozenset(("done", "user_stopped"))
"""How a rollout ends that the benchmark judges. It gives 0 to every other, and looks at nothing."""
MAX_ERRORS = 10
"""Failed calls after which a live run of the benchmark ends."""


@dataclass(frozen=True)
class ScriptedDialogue:
    """A dialogue that nobody thought up."""

    name: str
    calls: tuple[Call, ...]
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vector:
    """What one dialogue is paid."""

    reward: float | None
    """None where the benchmark's evaluation would end in an error, or where a model has the last word."""
    components: Mapping[str, float | None]
    """Members of the basis; None is `not judged`."""
    calls: int
    errors: int
    outcome: str
    """Our verdict: pass, fail or error."""
    reason: str = ""

    def describe(self) -> dict[str, Json]:
        """For `import.json`."""
        components: dict[str, Json] = {
            name: "not judged" if value is None else value
            for name, value in self.components.items()
        }
        told: dict[str, Json] = {
            "reward": self.reward,
            "components": components,
            "calls": self.calls,
            "errors": self.errors,
        }
        told |= {"verdict": self.outcome}
        return told | ({"reason": self.reason[:300]} if self.outcome == "error" else {})


@dataclass
class Parity:
    """Vectors of one environment, by task and policy."""

    tools: str
    """Whose tools answered."""
    vectors: dict[str, dict[str, Vector]] = field(default_factory=dict[str, dict[str, Vector]])

    def describe(self) -> dict[str, Json]:
        """For `import.json`."""
        rows = {
            task: {name: one.describe() for name, one in found.items()}
            for task, found in self.vectors.items()
        }
        return {"tools": self.tools, "vectors": rows}


def list_policies(
    scenario: Scenario, environment: Environment, writes: frozenset[str]
) -> Iterator[ScriptedDialogue]:
    """Gold, nothing, gold without each write, a hand-over at once, and gold's names with no arguments."""
    gold = tuple(scenario.oracle)
    said = (scenario.say,) if scenario.say else ()
    yield ScriptedDialogue("gold", gold, said)
    yield ScriptedDialogue("do_nothing", ())
    for place, call in enumerate(gold):
        if call.name in writes:
            yield ScriptedDialogue(f"drop_one/{place}", (*gold[:place], *gold[place + 1 :]), said)
    if any(tool.name == HAND_OVER for tool in environment.tools):
        yield ScriptedDialogue(
            "transfer_at_once",
            (
                Call(
                    name=HAND_OVER, arguments={"summary": "The user needs help with their request."}
                ),
            ),
        )
    yield ScriptedDialogue(
        "empty_args", tuple(Call(name=call.name, actor=call.actor) for call in gold)
    )


async def measure(
    scenario: Scenario,
    environment: Environment,
    policies: Sequence[ScriptedDialogue],
    sandbox: Sandbox,
    program: Program | None = None,
) -> dict[str, Vector]:
    """The vector of each policy."""
    start = Reset(scenario.initial_state, scenario.clock, scenario.seed)
    steps = [step for policy in policies for step in (start, *map(Invoke, policy.calls), Changes())]
    seen = list(await sandbox.play(program or Program.of(environment), steps, hashes="none"))[::-1]
    found = dict[str, Vector]()
    for policy in policies:
        begun = seen.pop()
        replies = [seen.pop() for _ in policy.calls]
        changed = seen.pop()
        deeds = [
            CompletedCall.of(call, reply) for call, reply in zip(policy.calls, replies, strict=True)
        ]
        errors = sum(reply.outcome != "ok" for reply in replies)
        if begun.outcome != "ok" or changed.outcome != "ok":
            reason = (begun.message or changed.message)[-300:]
            found[policy.name] = Vector(None, {}, len(deeds), errors, "error", reason)
            continue
        final = apply_changes(scenario.initial_state, list_changes(changed))
        ending = Ending(scenario.initial_state, final, deeds, policy.said)
        verdict = await decide(sandbox, scenario.verifier, ending, scenario.clock)
        found[policy.name] = read_vector(scenario, verdict, len(deeds), errors)
    return found


def list_changes(step: Observation) -> list[Change]:
    """Rows of a step that asked what changed."""
    part: Json = step.parts[0] if step.parts else {}
    rows: list[Json] = (part.get("value") or []) if is_object(part) else []
    return [Change.model_validate(row) for row in rows]


def read_vector(
    scenario: Scenario,
    verdict: Verdict,
    calls: int = 0,
    errors: int = 0,
    termination: Termination = "done",
) -> Vector:
    """A verdict in the benchmark's components."""
    if termination not in STOPPED:
        return Vector(0.0, {}, calls, errors, verdict.outcome, f"it ended with {termination}")
    told = scenario.features.get("tau2")
    basis: list[str] = (told.get("basis") or []) if is_object(told) else []
    unchecked: list[str] = (told.get("unchecked") or []) if is_object(told) else []
    if verdict.outcome == "error" and not verdict.components:
        return Vector(None, {}, calls, errors, "error", verdict.reason)
    failed = {_name_component(row) for row in verdict.evidence}
    components: dict[str, float | None] = {
        one: float(one not in failed) for one in basis if one not in unchecked
    }
    if "NL_ASSERTION" in components:
        components["NL_ASSERTION"] = None if scenario.verifier.unjudged else 1.0
    reward = 0.0 if failed else None if scenario.verifier.unjudged else 1.0
    return Vector(reward, components, calls, errors, verdict.outcome, verdict.reason)


def _name_component(row: Json) -> str:
    name = str(row.get("name", "")) if is_object(row) else ""
    return next((one for one in NAMES if name.startswith(f"{one} ")), "DB")


def find_lints(
    vectors: Mapping[str, Vector], calls: Sequence[Call]
) -> Iterator[tuple[str, str, str]]:
    """(part, code, detail) of what pays and should not, or the other way round."""
    for name, vector in vectors.items():
        open_end = vector.reward is None and vector.outcome == "error" and bool(vector.components)
        pays = vector.reward == 1.0 or open_end
        more = " unless the model that is not asked says no" if open_end else ""
        if name == "gold" and not pays:
            yield "gold", "gold_fails", f"its own calls are paid {vector.reward}"
        elif name == "do_nothing" and pays:
            yield "do_nothing", "nothing_pays", f"doing nothing is paid{more}"
        elif name == "transfer_at_once" and pays and vectors["do_nothing"].reward != vector.reward:
            yield "transfer_at_once", "hand_over_pays", f"a hand-over without a look is paid{more}"
        elif name.startswith("drop_one/") and pays and vectors["do_nothing"].reward != 1.0:
            place = int(name.removeprefix("drop_one/"))
            yield (
                f"action {place + 1}: {calls[place].name}",
                "needless_step",
                f"left out, all else is paid{more}",
            )
        elif name == "empty_args" and pays and vector.errors:
            yield (
                "empty_args",
                "empty_arguments_pay",
                f"{vector.errors} calls without arguments fail, and it is paid{more}",
            )
