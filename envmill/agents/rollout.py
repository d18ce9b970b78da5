"""A rollout: one attempt of a policy at a scenario, performed and judged. A bad rollout is data,
not a crash.

policy, user ─► rehearsed and played as one plan, or live ─► scene ─► its end, its tape ─► verdict (─► ruling) ─► rollout
"""

from dataclasses import dataclass, replace
from typing import Any

from envmill.agents.backend import (
    LiveBackend,
    RecordingBackend,
    RolloutBackend,
    TurnRecorder,
    play_plan,
)
from envmill.agents.base import Policy, Scripted, Speaker
from envmill.agents.briefing import brief_agent
from envmill.agents.function import FunctionPolicy
from envmill.agents.inquiry import Inquirer
from envmill.agents.limits import RolloutLimits
from envmill.agents.log import RolloutLog, count_said, read_answers
from envmill.agents.loop import MASKED, RolloutEnd, RolloutLoop
from envmill.agents.model import ModelPolicy
from envmill.agents.setup import RolloutSetup
from envmill.agents.users import USERS, Person, UserKnowledge
from envmill.agents.users.doing import needs_user
from envmill.agents.users.requests import make_in_turn
from envmill.agents.users.umpire import find_user_fault
from envmill.base.errors import Outage, SettingsError
from envmill.models.session import ModelSession
from envmill.sandbox import Observation, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import make_error
from envmill.verifiers.ruling import CalibratedJudge, weigh
from envmill.verifiers.shares import share_steps
from envmill.verifiers.version import find_verifier_version
from schemas.base import Json
from schemas.environment import Environment
from schemas.rollout import Form, Rollout, Ruling, Suspected, Verdict
from schemas.scenario import Scenario


async def play_scenario(
    policy: Policy | ModelPolicy | FunctionPolicy,
    scenario: Scenario,
    environment: Environment,
    sandbox: Sandbox,
    group: str,
    attempt: int,
    *,
    models: ModelSession | None = None,
    weather: Json = None,
    form: Form = "single",
    user: str = "scripted",
    manner: str = "",
    limits: RolloutLimits = RolloutLimits(),  # noqa: B008  frozen
) -> Rollout:
    """One attempt, whatever comes of it. What escapes is no matter of this attempt: a broken jail,
    a spent budget, a refused key."""
    return await play_on(
        RolloutSetup.of(scenario, environment, weather),
        policy,
        sandbox,
        group,
        attempt,
        models=models,
        form=form,
        user=user,
        manner=manner,
        limits=limits,
    )


async def play_on(
    ground: RolloutSetup,
    policy: Policy | ModelPolicy | FunctionPolicy,
    sandbox: Sandbox,
    group: str,
    attempt: int,
    *,
    models: ModelSession | None = None,
    form: Form = "single",
    user: str = "scripted",
    manner: str = "",
    limits: RolloutLimits = RolloutLimits(),  # noqa: B008  frozen
    bench: CalibratedJudge | None = None,
    umpire: bool = False,
) -> Rollout:
    """The same for those who make many attempts on one ground. With a bench, what passes is ruled
    on by a model, too; with an umpire, a
    judge is asked of each conversation that failed or whose user is suspected whether that user is
    to blame."""
    show = _Show(ground, policy, sandbox, attempt, models, form, user, manner, limits)
    scene, end, seen = await show.perform()
    verdict, ruling = await _judge_end(ground, scene.tape, end, seen, sandbox, bench)
    end, verdict, suspected = await _settle(show, scene, end, verdict, ruling, umpire)
    return Rollout(
        scenario=ground.scenario.id,
        environment=ground.environment.id,
        policy=policy.name,
        rollout_group=group,
        attempt=attempt,
        seed=show.seed,
        outcome=verdict.outcome,
        reward=verdict.reward,
        components=verdict.components,
        ruling=ruling,
        shares=_share(ground, scene.tape, verdict),
        reason=verdict.reason,
        evidence=verdict.evidence,
        weather=ground.reset.weather,
        **show.describe(),
        checkpoint=models.name_model("policy")
        if models and isinstance(policy, ModelPolicy)
        else "",
        **_describe(ground, scene.tape, end, seen, suspected),
    )


async def _settle(
    show: "_Show",
    scene: RolloutLoop,
    end: RolloutEnd,
    verdict: Verdict,
    ruling: Ruling | None,
    umpire: bool,
) -> tuple[RolloutEnd, Verdict, list[Suspected]]:
    """How it ended once a judge was asked: one who could not be reached is an outage, a user who is
    shown to be at fault an error. Of a
    conversation that passed the judge decides only what is suspected."""
    suspected = scene.suspected
    if ruling and ruling.outcome == "unreached":
        return replace(end, termination="outage", detail=verdict.reason), verdict, suspected
    doubtful = verdict.outcome == "fail" or (verdict.outcome == "pass" and bool(suspected))
    if verdict.outcome == "fail" and scene.pretended:
        # Judged as it is, the agent would answer for a deed that its user called done.
        ruled = [
            one.model_copy(update={"ruling": "confirmed"}) if one.misstep == "pretends" else one
            for one in suspected
        ]
        return (
            RolloutEnd("user_fault", f"pretends: {scene.pretended}", "pretends"),
            make_error(MASKED["user_fault"]),
            ruled,
        )
    if not umpire or show.models is None or show.form == "single" or not doubtful:
        return end, verdict, suspected
    try:
        fault = await find_user_fault(show.knowledge, scene.dialogue, show.models, show.attempt)
    except Outage as error:
        return RolloutEnd("outage", error.message), make_error(MASKED["outage"]), suspected
    shown = fault[0] if fault else ""
    ruled = [
        one.model_copy(update={"ruling": "confirmed" if one.misstep == shown else "unconfirmed"})
        for one in suspected
    ]
    if fault is None or (
        verdict.outcome == "pass" and shown not in {one.misstep for one in suspected}
    ):
        return end, verdict, ruled
    return RolloutEnd("user_fault", fault[1], fault[0]), make_error(MASKED["user_fault"]), ruled


@dataclass(frozen=True)
class _Show:
    """Everything one attempt is made of."""

    ground: RolloutSetup
    policy: Policy | ModelPolicy | FunctionPolicy
    sandbox: Sandbox
    attempt: int
    models: ModelSession | None
    form: Form
    user: str
    manner: str
    limits: RolloutLimits

    @property
    def person(self) -> str:
        """Who plays the user; empty without one."""
        return "" if self.form == "single" else self.user

    @property
    def knowledge(self) -> UserKnowledge:
        return UserKnowledge.of(self.ground.scenario, self.manner)

    def describe(self) -> dict[str, Any]:
        """What is stored of who was asked, and how."""
        manner = self.manner if self.person else ""
        return {
            "form": self.form,
            "person": self.person,
            "manner": manner,
            "limits": self.limits.describe(),
        }

    @property
    def seed(self) -> int:
        return self.ground.scenario.seed + self.attempt

    async def perform(self) -> tuple[RolloutLoop, RolloutEnd, Observation]:
        """Played live where somebody listens, and otherwise rehearsed and played as one plan."""
        program, reset = self.ground.program, self.ground.reset
        speaker, person = self._open_speaker(), self._open_person()
        if speaker.listens or (person is not None and person.listens):
            async with self.sandbox.session(program) as session:
                return await self._run(speaker, person, LiveBackend(session, reset))
        rehearsal, noted = RecordingBackend(), TurnRecorder(speaker, person)
        await self._run(noted, person and noted, rehearsal)
        written, recital = (
            await play_plan(self.sandbox, program, reset, rehearsal.steps),
            noted.recite(),
        )
        return await self._run(recital, person and recital, written)

    async def _run(
        self, speaker: Speaker, person: Person | None, stage: RolloutBackend
    ) -> tuple[RolloutLoop, RolloutEnd, Observation]:
        scene = RolloutLoop(speaker, person, self.knowledge, stage, self._open_tape(), self.limits)
        end = await scene.play(self.opening)
        return scene, end, await stage.observe()

    @property
    def opening(self) -> str:
        return (
            self.ground.scenario.user.opening
            if self.form == "conversation"
            else self.ground.scenario.request
        )

    def _open_tape(self) -> RolloutLog:
        told = brief_agent(self.ground.environment, self.ground.scenario.clock)
        return RolloutLog([{"role": "system", "content": told}] if told else [])

    def _open_speaker(self) -> Speaker:
        if isinstance(self.policy, ModelPolicy):
            if self.models is None:
                raise SettingsError(
                    "The policy is a model, and play_scenario was given no model account to ask it with."
                )
            return self.policy.open(
                self.ground.environment,
                self.ground.scenario.clock,
                self.models,
                self.attempt,
                self.limits.tokens,
            )
        if isinstance(self.policy, FunctionPolicy):
            return self.policy.open(self.ground.environment, self.ground.scenario.clock)
        actor = self.policy.begin(self.ground.scenario, self.ground.environment, self.seed)
        return Scripted(
            Inquirer(actor, self.ground.scenario) if self.form == "conversation" else actor
        )

    def _open_person(self) -> Person | None:
        if self.form == "single":
            if needs_user(self.ground.scenario):
                raise SettingsError(
                    "The user acts here, or makes several requests in turn: play it as a "
                    "conversation (form=conversation)."
                )
            return None
        return make_in_turn(
            self.knowledge, lambda knowledge: USERS[self.user](knowledge, self.models, self.attempt)
        )


def _describe(
    ground: RolloutSetup,
    tape: RolloutLog,
    end: RolloutEnd,
    seen: Observation,
    suspected: list[Suspected],
) -> dict[str, Any]:
    """What is stored of it, so that it can be judged again without being played."""
    usage = tape.usage
    took = {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
    }
    return {
        "verifier_version": find_verifier_version(),
        "steps": len(tape.deeds),
        "turns": tape.turns,
        "termination": end.termination,
        "detail": end.detail,
        "misstep": end.misstep,
        "suspected": suspected,
        "agent_errors": tape.unread,
        "final_state_hash": seen.state_hash,
        "transcript": tape.messages,
        "changes": None if seen.state is None else _list_changes(ground, seen.state),
        "met": tape.met,
        "uses": dict(sorted(tape.uses.items())),
        "usage": took if usage.total else {},
    }


def _share(ground: RolloutSetup, tape: RolloutLog, verdict: Verdict) -> dict[str, float]:
    if verdict.outcome == "error":
        return {}
    return share_steps(
        ground.scenario, ground.environment, tape.deeds, verdict.components, tape.unread
    )


def _list_changes(ground: RolloutSetup, state: dict[str, Json]) -> list[Json]:
    return [
        change.model_dump()
        for change in diff_states(ground.scenario.initial_state, state, ground.serialised)
    ]


async def _judge_end(
    ground: RolloutSetup,
    tape: RolloutLog,
    end: RolloutEnd,
    seen: Observation,
    sandbox: Sandbox,
    bench: CalibratedJudge | None,
) -> tuple[Verdict, Ruling | None]:
    """The verifier's verdict; what it passes goes before the judge, if there is one."""
    if end.termination in MASKED:
        return make_error(MASKED[end.termination]), None
    if seen.state is None:
        return make_error(MASKED["environment_error"]), None
    scenario = ground.scenario
    ended = count_said(tape.messages, scenario.user.later)
    answers = read_answers(tape.messages)
    ending = Ending(
        scenario.initial_state, seen.state, tape.deeds, tape.said, ground.serialised, ended, answers
    )
    verdict = await decide(sandbox, scenario.verifier, ending, scenario.clock)
    if bench is None or verdict.outcome != "pass":
        return verdict, None
    ruling = await bench.rule(scenario, ground.environment, ending)
    return weigh(verdict, ruling), ruling
