"""What kinds share whose sessions are a program in the jail, written by an author."""

from collections.abc import Iterator, Mapping, Sequence

from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.kinds.base import Breach, BuildContext, BuildResult, Composition, Look, Sources
from envmill.kinds.endings import derive_verifier
from envmill.kinds.plan import find_plan_faults
from envmill.sandbox import Sandbox
from envmill.sandbox.host import Host
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.demands import render_demands
from envmill.verifiers.ending import Ending
from schemas.base import Json
from schemas.database import Policy, Table
from schemas.environment import Blueprint, Environment, Tool
from schemas.folder import Touch
from schemas.ledger import ReasonClass
from schemas.run import Reward
from schemas.scenario import Draft, Scenario


class JailedKind:
    """Hooks of a kind whose environments hold one program; a kind adds how its interface and its
    state are read."""

    name: str
    tabled = False
    resets_in_place = True
    looks_freely = True
    keeps_clock = True
    takes_checklists = True
    tests_move = False
    knows_near_misses = True
    gates: Mapping[str, Look | str] = {}
    codes: Mapping[str, Mapping[str, ReasonClass]] = {}

    def find_plan_faults(self, plan: Blueprint) -> list[str]:
        return find_plan_faults(plan)

    async def try_plan(self, plan: Blueprint, sandbox: Sandbox) -> list[str]:  # noqa: ARG002  nothing is settled before the program
        return []

    async def build(self, blueprint: Blueprint, workshop: BuildContext) -> BuildResult:
        return await workshop.write_program(blueprint)

    def open_host(self, settings: Settings) -> Host | None:  # noqa: ARG002  the jail is there
        return None

    def find_home(self, entry: str) -> str:
        return f"{entry.partition(':')[0].replace('.', '/')}.py"

    def add_touches(
        self,
        tools: Sequence[Tool],
        touches: Mapping[str, Touch],  # noqa: ARG002
        tables: Sequence[Table],  # noqa: ARG002
    ) -> list[Tool]:
        return list(tools)

    def list_policies(self, tables: Sequence[Table]) -> dict[str, Policy | float] | None:  # noqa: ARG002
        return None

    def list_sources(self, environment: Environment) -> Sources:
        return Sources([text for _, text in sorted(environment.files.items())])

    def count_scenarios(self, environment: Environment, asked: int) -> int:  # noqa: ARG002  one is as good for many as another
        return asked

    async def compose_scenario(
        self, environment: Environment, number: int, seed: int, turn: int, sandbox: Sandbox  # noqa: ARG002  an author is asked
    ) -> Composition | None:  # fmt: skip
        return None

    async def derive_verifier(
        self, draft: Draft, environment: Environment, ends: tuple[Ending, Ending], sandbox: Sandbox
    ) -> ComposedVerifier:
        """From what the reference path changed."""
        try:
            return await derive_verifier(draft, environment, *ends, sandbox, masks=self.tabled)
        except BuildError as error:
            raise BuildError(error.message, reason="no_verifier") from error

    def list_breaches(
        self, environment: Environment, scenario: Scenario, right: Ending  # noqa: ARG002  a policy is prose
    ) -> Iterator[Breach]:  # fmt: skip
        return iter(())

    def choose_reward(self, asked: Reward) -> Reward:
        return asked

    def find_formless(self, exporter: str, scenario: Scenario) -> str:  # noqa: ARG002  what holds a program holds any scenario of it
        return (
            f"it is of kind {self.name}, whose state is no machine's"
            if exporter == "harbor"
            else ""
        )

    def locate_verifier(self, environment: Environment, scenario: Scenario) -> Json:
        return {
            "bundle": f"bundle/{environment.id}",
            "scenario": f"{scenario.number:03d}",
            "id": scenario.id,
        }

    def render_demands(self, environment: Environment, scenario: Scenario) -> Iterator[str]:  # noqa: ARG002  its state says it
        return render_demands(scenario)

    def describe(self, environment: Environment) -> Iterator[str]:
        yield f"A program, {environment.entry}, with {len(environment.tools)} tools."
