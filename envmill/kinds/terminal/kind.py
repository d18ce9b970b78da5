"""The kind `terminal` as one object."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.kinds import terminal
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.base import (
    Breach,
    BuildContext,
    BuildResult,
    Composition,
    Look,
    Policies,
    Sources,
)
from envmill.kinds.findings import drop
from envmill.kinds.terminal.demands import render_demands
from envmill.kinds.terminal.errands.outfitting import outfit, pose_errand
from envmill.kinds.terminal.errands.wishes import find_errand_faults
from envmill.kinds.terminal.furnishing import furnish
from envmill.kinds.terminal.gates import CODES, LOOKS, NOT_HERE
from envmill.kinds.terminal.grading import find_ungraded
from envmill.kinds.terminal.lending import NAME
from envmill.kinds.terminal.perturbing import assemble_machine, perturb
from envmill.models.gateway import ModelSession
from envmill.sandbox import Sandbox
from envmill.sandbox.host import Host
from envmill.sandbox.machines.files import CHECK, ERRAND, FINAL, INITIAL, MACHINE, read_machine
from envmill.sandbox.machines.fleet import Fleet
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.ending import Ending
from envmill.verifiers.weights import balance
from schemas.base import Json
from schemas.database import Policy, Table
from schemas.environment import Blueprint, Effect, Environment, Tool
from schemas.errand import Errand
from schemas.folder import Touch
from schemas.ledger import ReasonClass
from schemas.run import Reward
from schemas.scenario import Draft, Scenario
from schemas.system import MachineState

_ASKING = (CHECK, INITIAL, FINAL)
"""Files that are programs; the rest of a machine would be read as one."""
_MACHINES_OWN = "S9"
"""What a machine itself tells is not its exam's author's to mend."""


class TerminalKind:
    """State in a container's files and processes, and a shell."""

    name = NAME
    tabled = False
    resets_in_place = False
    looks_freely = False
    keeps_clock = False
    takes_checklists = False
    tests_move = False
    knows_near_misses = False
    gates: Mapping[str, Look | str] = {**LOOKS, **NOT_HERE}
    codes: Mapping[str, Mapping[str, ReasonClass]] = CODES

    def find_plan_faults(self, plan: Blueprint) -> list[str]:
        if ERRAND in plan.files:
            return list(find_errand_faults(Errand.model_validate_json(plan.files[ERRAND])))
        if plan.brief.written == "system":
            return []
        try:
            terminal.derive_tables(plan.files, plan.policies)
        except BuildError as error:
            return [error.message]
        return []

    async def try_plan(self, plan: Blueprint, sandbox: Sandbox) -> list[str]:  # noqa: ARG002  a machine is tried when it is built
        return []

    async def build(self, blueprint: Blueprint, workshop: BuildContext) -> BuildResult:
        """The blueprint's files are the machine; that of an errand is outfitted part by part."""
        if blueprint.brief.written:
            return await furnish(blueprint, workshop.author, workshop.sandbox, workshop.models)
        if ERRAND not in blueprint.files:
            return BuildResult((assemble_machine(blueprint),))
        last = BuildResult()

        async def judge(environment: Environment, asking: ModelSession) -> Sequence[Complaint]:
            """The errand put to the scenario gates here: its author is asked nowhere else."""
            nonlocal last
            judged = await workshop.judge_scenario(environment, pose_errand(environment), asking)
            last = BuildResult(findings=judged.findings)
            return [one for one in judged.complaints if one.source != _MACHINES_OWN]

        made = await outfit(
            blueprint,
            workshop.author,
            workshop.sandbox,
            workshop.models,
            judge if workshop.rehearses else None,
        )
        if made.environment is None:
            return BuildResult(made.builds, (drop("build", made.reason, made.detail),))
        return replace(last, records=(*made.builds, made.environment))

    def open_host(self, settings: Settings) -> Host | None:
        return Fleet(settings)

    def find_home(self, entry: str) -> str:  # noqa: ARG002  a machine is described, and no program
        return MACHINE

    def derive_tools(
        self, source: str, class_name: str, effects: Mapping[str, Effect]
    ) -> list[Tool]:
        return terminal.derive_tools(source, class_name, effects)

    def derive_tables(self, files: Mapping[str, str], policies: Policies) -> list[Table]:
        return terminal.derive_tables(files, policies)

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
        texts = [text for path, text in sorted(environment.files.items()) if path in _ASKING]
        return Sources(texts, examined=FINAL in environment.files)

    def count_scenarios(self, environment: Environment, asked: int) -> int:
        return 1 if ERRAND in environment.files else asked

    async def compose_scenario(
        self, environment: Environment, number: int, seed: int, turn: int, sandbox: Sandbox
    ) -> Composition | None:
        """What does not hold is not repaired, another composition is drawn. An errand was tried
        before."""
        if ERRAND in environment.files:
            return Composition(pose_errand(environment))
        return await perturb(environment, number, seed, turn, sandbox)

    async def derive_verifier(
        self, draft: Draft, environment: Environment, ends: tuple[Ending, Ending], sandbox: Sandbox  # noqa: ARG002  its probes say it
    ) -> ComposedVerifier:  # fmt: skip
        return ComposedVerifier(balance(terminal.compose_checks(draft.initial_state)), ())

    def list_breaches(
        self, environment: Environment, scenario: Scenario, right: Ending  # noqa: ARG002  it has no policy
    ) -> Iterator[Breach]:  # fmt: skip
        return iter(())

    def choose_reward(self, asked: Reward) -> Reward:  # noqa: ARG002
        """A machine that is well by half is not mended."""
        return "binary"

    def find_formless(self, exporter: str, scenario: Scenario) -> str:
        if exporter == "bundle":
            return "its state is a machine's, which the vendored jail does not hold"
        return find_ungraded(scenario) if exporter in ("rl", "dataset", "harbor") else ""

    def locate_verifier(self, environment: Environment, scenario: Scenario) -> Json:  # noqa: ARG002  each folder holds its own machine
        return {"harbor": f"harbor/tasks/{scenario.id}", "id": scenario.id}

    def render_demands(self, environment: Environment, scenario: Scenario) -> Iterator[str]:
        return render_demands(
            read_machine(environment.files), MachineState.model_validate(scenario.initial_state)
        )

    def describe(self, environment: Environment) -> Iterator[str]:
        machine = read_machine(environment.files)
        yield f"A machine with a shell: {machine.system.about}"
        yield (
            f"{len(machine.files)} files, services: {', '.join(machine.system.services) or 'none'}."
        )
