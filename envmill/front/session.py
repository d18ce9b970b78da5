"""A session for a program: call tools, say something, look at the state, judge.

start ─► call, say, wait ─► judge: verdict of the scenario's verifier
"""

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from envmill.agents.briefing import brief_agent
from envmill.base.errors import SandboxError, SettingsError
from envmill.front.background import BackgroundLoop, Held
from envmill.sandbox import Advance, Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.sandbox.plan import Step
from envmill.verifiers.court import decide
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import make_error
from schemas.base import Json
from schemas.environment import Call, Environment, Tool
from schemas.rollout import Verdict
from schemas.scenario import Scenario

if TYPE_CHECKING:
    from envmill.sandbox import Session as JailSession

T = TypeVar("T")


class Session:
    """One attempt by hand. A wrong argument raises no exception: a refused call is an Observation
    with outcome `rejection`."""

    def __init__(
        self,
        background: BackgroundLoop,
        sandbox: Sandbox,
        environment: Environment,
        reset: Reset,
        scenario: Scenario | None,
    ) -> None:
        self.environment, self.scenario = environment, scenario
        self._background, self._sandbox, self._reset = background, sandbox, reset
        self._calls: list[CompletedCall] = []
        self._said: list[str] = []
        self._failed = False
        self._held: Held[JailSession] | None = Held(
            background, sandbox.session(Program.shown(environment))
        )
        began = self._step(reset)
        if began.outcome != "ok":
            self.close()
            raise SandboxError(f"{environment.name} did not start: {began.code}: {began.message}")

    @property
    def tools(self) -> Sequence[Tool]:
        """Tools that the agent may call."""
        return [tool for tool in self.environment.shown if "agent" in tool.actors]

    @property
    def messages(self) -> list[dict[str, Json]]:
        """Messages that an agent reads first: the policy document with the day, if there is one,
        and the request."""
        told = brief_agent(self.environment, self._reset.clock)
        system: list[dict[str, Json]] = [{"role": "system", "content": told}] if told else []
        return [
            *system,
            *([{"role": "user", "content": self.scenario.request}] if self.scenario else []),
        ]

    def call(
        self, tool: str, arguments: Mapping[str, Json] | None = None, *, actor: str = "agent"
    ) -> Observation:
        """Call a tool. `outcome` is `ok`, `rejection` (a rule or the caller's mistake) or `failure`
        (the program broke)."""
        call = Call(name=tool, arguments=dict(arguments or {}), actor=actor)
        seen = self._step(Invoke(call))
        self._calls.append(CompletedCall.of(call, seen))
        return seen

    def say(self, text: str) -> None:
        """Tell the user something. Verifiers look for facts in these words."""
        self._said.append(text)

    def wait(self, seconds: float) -> Observation:
        """Let time pass in the environment."""
        return self._step(Advance(seconds))

    def state(self) -> dict[str, Any]:
        """The whole state now."""
        seen = self._step(Look())
        if seen.state is None:
            raise SandboxError(
                f"The state of {self.environment.name} cannot be read: {seen.code}: {seen.message}"
            )
        return seen.state

    def judge(self) -> Verdict:
        """Judge the state as it is now, and what was done and said. `error` means that the
        environment failed, not the agent."""
        if self.scenario is None:
            raise SettingsError(
                "This session plays no scenario, so no verifier can judge it. Start it with one: "
                "start(scenario)."
            )
        seen = self._step(Look())
        if self._failed or seen.state is None:
            return make_error("the environment failed, not the policy")
        ending = Ending(self.scenario.initial_state, seen.state, self._calls, self._said)
        return self._run(decide(self._sandbox, self.scenario.verifier, ending, self._reset.clock))

    def close(self) -> None:
        """End the session. A second time does nothing."""
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _step(self, step: Step) -> Observation:
        if self._held is None:
            raise SettingsError("This session is closed. Start another one.")
        seen = self._run(self._held.value.step(step))
        self._failed = self._failed or seen.outcome == "failure"
        return seen

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._background.run(work)
