"""Importer `tau2`: domains of τ²-bench as environments of kind `dialogue`, or `stateful` where the user has no side.

domain folder ─► state, policies, tasks       program ─► written anew, or named with --tools; it runs in the jail alone
each task ─► scenario whose verifier means what the benchmark's evaluator means ─► vectors of right, empty and wrong dialogues
"""

from dataclasses import dataclass, field
from pathlib import Path

from envmill.base.errors import BuildError
from envmill.interop.bundles import Folder
from envmill.interop.importers.base import Harvest, Remark, is_folder_name
from envmill.interop.importers.tau2 import parity
from envmill.interop.importers.tau2.interface import map_tools
from envmill.interop.importers.tau2.programs import (
    CLASS,
    RUN,
    SETTLE,
    WORKBENCH,
    DomainProgram,
    find_program,
)
from envmill.interop.importers.tau2.release import DomainData, ReleasedTask, read_domains
from envmill.interop.importers.tau2.scenarios import MappedTask, State, TaskFault, TaskMapper
from envmill.kinds.dialogue.plan import FILE
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from schemas.base import is_array, is_object
from schemas.database import Touch
from schemas.dialogue import Coupling, Dialogue
from schemas.environment import Call, Environment, Tool
from schemas.folder import NOWHERE
from schemas.scenario import Scenario
from schemas.seed import Brief

SYSTEM = "tau2"
LICENCE = "MIT"
ORIGIN = NOWHERE.model_copy(update={"recipe": SYSTEM, "provider": "released"})


async def import_release(root: Path, sandbox: Sandbox, tools: Path | None = None) -> Harvest:
    """A domain's folder, or a folder of several. `tools` is a program of the domain, or a folder of programs by the domain's name."""
    harvest = Harvest(counted={"environments": 0, "scenarios": 0})
    for folder_name, domain in read_domains(root):
        if isinstance(domain, tuple):
            harvest.counted["environments"] += 1
            harvest.remarks.append(Remark(folder_name, "", "refused", *domain))
            continue
        harvest.counted["environments"] += len(domain.policies)
        harvest.counted["scenarios"] += len(domain.policies) * len(domain.tasks)
        named = domain.tools.get("domain") if domain.tools else None
        name = str(named) if isinstance(named, str) and named else folder_name
        await _Import(name, domain, sandbox, harvest).map(find_program(name, tools))
    return harvest


@dataclass
class _Import:
    """One domain on its way into folders, one for each policy."""

    name: str
    domain: DomainData
    sandbox: Sandbox
    harvest: Harvest
    mapped: dict[bool, list[Scenario]] = field(default_factory=dict[bool, list[Scenario]])
    """Whether alone → the scenarios: policies differ, and tasks do not."""

    def _remark(
        self, weight: str, code: str, detail: str, part: str = "", subject: str = ""
    ) -> None:
        self.harvest.remarks.append(Remark(subject or self.name, part, weight, code, detail))  # pyright: ignore[reportArgumentType]

    async def map(self, program: DomainProgram | str) -> None:
        """The folders join the harvest, or the reason does."""
        if reason := await self._map(program):
            self._remark("refused", *reason)

    async def _map(self, program: DomainProgram | str) -> tuple[str, str] | None:
        if not is_folder_name(self.name):
            return "bad_id", "its name cannot name a folder"
        if self.name in self.harvest.folders:
            return "id_twice", "another domain of the release bears its name"
        if isinstance(program, str):
            return "no_tools", program
        self._remark_on_files(program)
        if reason := self._find_side_fault(program):
            return reason
        try:
            tools = map_tools(
                self.domain,
                program,
                lambda code, part, detail: self._remark("changed", code, detail, part),
            )
        except BuildError as error:
            return "no_tools", error.message
        mapped = await self._map_variant("", program, tools)
        if isinstance(mapped, tuple):
            return mapped
        for variant in sorted(set(self.domain.policies) - {""}):
            if "solo" in variant and not any(
                isinstance(task, ReleasedTask) and task.ticket for _, task in self.domain.tasks
            ):
                self._remark("noted", "no_ticket", f"no task has a ticket for the policy {variant}")
                continue
            await self._map_variant(variant, program, tools)
        return None

    def _remark_on_files(self, program: DomainProgram) -> None:
        domain = self.domain
        self._remark("noted", "tools", f"calls are answered by {program.origin}")
        for path in domain.unread:
            self._remark("noted", "not_read", "nothing here reads it", path)
        for name, count in sorted(domain.unknown.items()):
            self._remark(
                "noted", "unknown_field", f"{count} tasks have it, and nothing here reads it", name
            )
        known = {name for name, _ in domain.tasks}
        if not domain.splits:
            self._remark(
                "noted", "no_splits", "there is no split_tasks.json: all tasks are for testing"
            )
        for split, ids in domain.splits.items():
            if strange := sorted(set(ids) - known):
                self._remark(
                    "noted",
                    "split_unknown",
                    f"{len(strange)} ids are no tasks, such as {strange[0]}",
                    split,
                )

    def _find_side_fault(self, program: DomainProgram) -> tuple[str, str] | None:
        domain, sides = self.domain, program.sides
        if "user" in sides.values() and not domain.user:
            return (
                "no_user_state",
                f"user_db.json is missing, and no user_db.toml stands for it: the user's side of {self.name} is unknown",
            )
        if shared := sorted(set(domain.agent) & set(domain.user)):
            return "sides_clash", f"both sides have a collection {shared[0]}"
        for file, held, side in (
            ("db", domain.agent, "agent"),
            (domain.user_file or "user_db", domain.user, "user"),
        ):
            for name in sorted(held):
                if sides.get(name) != side:
                    self._remark(
                        "noted",
                        "no_collection",
                        f"{file} holds it, and the program has no such collection of the {side}'s",
                        name,
                    )
        return None

    async def _map_variant(
        self, variant: str, program: DomainProgram, tools: list[Tool]
    ) -> tuple[str, str] | None:
        """One policy of the domain as an environment; without a user, the agent has the tools of both sides."""
        solo = "solo" in variant
        label = f"{self.name}-{variant}" if variant else self.name
        offered = (
            [tool.model_copy(update={"actors": ["agent"]}) for tool in tools] if solo else tools
        )
        environment = self._make_environment(label, self.domain.policies[variant], program, offered)
        try:
            await self.sandbox.inspect(Program.of(environment))
        except BuildError as error:
            return "does_not_load", error.message
        files = environment.files | {"workbench.py": WORKBENCH}
        bench = Program(files, "workbench:Workbench", [*offered, RUN, SETTLE])
        base = await self._begin(bench)
        if isinstance(base, str):
            return "does_not_construct", base
        gold = Program(files, "workbench:Gold", tools)
        if solo not in self.mapped:
            mapper = TaskMapper(
                program,
                environment,
                bench,
                gold,
                self.sandbox,
                base,
                ORIGIN,
                self.domain.splits,
                solo,
            )
            self.mapped[solo] = await self._map_tasks(label, environment, mapper, program)
        scenarios = [_move(scenario, environment) for scenario in self.mapped[solo]]
        if not scenarios:
            return "no_task", "none of its tasks can be mapped"
        self.harvest.folders[label] = Folder(environment, (), tuple(scenarios), {"base": base})
        return None

    def _make_environment(
        self, label: str, policy: str, program: DomainProgram, tools: list[Tool]
    ) -> Environment:
        two = any(tool.actors == ["user"] for tool in tools)
        files = dict(program.files)
        if two:
            files[FILE] = _describe_sides(program, tools).model_dump_json(indent=1)
        text = f"The domain {label} of τ²-bench."
        return Environment(
            kind="dialogue" if two else "stateful",
            files=files,
            entry=f"program:{CLASS}",
            tools=tools,
            rules=[],
            policy_document=policy,
            name=label,
            summary=text,
            brief=Brief(theme=label, text=text, number=0),
            blueprint="",
            licence=LICENCE,
            origin=ORIGIN,
        )

    async def _begin(self, bench: Program) -> State | str:
        """The state every task begins with, with the fields that the data leave out; or why there is none."""
        state = {**self.domain.agent, **self.domain.user}
        fill = Call(name="run_function", arguments={"method": "_fill", "arguments": {}})
        seen = await self.sandbox.play(
            bench, [Reset(state, CLOCK, 0), Invoke(fill), Look()], hashes="none"
        )
        if broken := [step for step in seen if step.outcome != "ok"]:
            return f"{broken[0].code}: {broken[0].message[-500:]}"
        return seen[-1].state or {}

    async def _map_tasks(
        self, label: str, environment: Environment, mapper: TaskMapper, program: DomainProgram
    ) -> list[Scenario]:
        found = list[Scenario]()
        table = parity.Parity(program.origin)
        writes = self._list_writes(environment)
        shared = Program.of(environment)
        for place, (name, task) in enumerate(self.domain.tasks):
            if isinstance(task, str):
                self._remark("refused", "bad_task", task, subject=f"{label}/{name}")
                continue
            if mapper.solo and not task.ticket:
                self._remark(
                    "refused",
                    "no_ticket",
                    "without a ticket nobody can do it alone",
                    subject=f"{label}/{name}",
                )
                continue
            try:
                mapped: MappedTask = await mapper.map(place, task)
            except TaskFault as fault:
                self._remark("refused", fault.code, fault.detail, subject=f"{label}/{name}")
                continue
            for part, weight, code, detail in mapped.remarks[: 0 if mapper.solo else None]:
                self._remark(weight, code, detail, part, f"{label}/{name}")
            policies = list(parity.list_policies(mapped.scenario, environment, writes))
            vectors = await parity.measure(
                mapped.scenario, environment, policies, self.sandbox, shared
            )
            table.vectors[name] = vectors
            lints = list(parity.find_lints(vectors, mapped.scenario.oracle))
            for part, code, detail in lints[: 0 if mapper.solo else None]:
                self._remark("noted", code, detail, part, f"{label}/{name}")
            rewards = {
                "oracle_reward": vectors["gold"].reward or 0.0,
                "do_nothing_reward": vectors["do_nothing"].reward or 0.0,
            }
            found.append(mapped.scenario.model_copy(update=rewards))
        self.harvest.parity[label] = table.describe()
        return found

    def _list_writes(self, environment: Environment) -> frozenset[str]:
        """Tools of kind `write`: those that `drop_one` leaves out."""
        rows = self.domain.tools.get("tools") if self.domain.tools else None
        if is_array(rows):
            return frozenset(
                str(row.get("name"))
                for row in rows
                if is_object(row) and row.get("kind") == "write"
            )
        return frozenset(tool.name for tool in environment.tools if tool.effect == "change")


def _move(scenario: Scenario, environment: Environment) -> Scenario:
    """The same scenario under another policy."""
    if scenario.environment == environment.id:
        return scenario
    return Scenario(
        **{
            name: getattr(scenario, name)
            for name in type(scenario).model_fields
            if name not in ("id", "environment")
        },
        environment=environment.id,
    )


def _describe_sides(program: DomainProgram, tools: list[Tool]) -> Dialogue:
    """The two sides. Clauses there are none: the policy is prose, and nothing here reads rules out of it."""
    held = {
        side: [name for name, owner in program.sides.items() if owner == side]
        for side in ("agent", "user")
    }
    everything = list(program.sides)
    return Dialogue(
        sides={name: "user" if side == "user" else "agent" for name, side in program.sides.items()},
        user_tools=[tool.name for tool in tools if tool.actors == ["user"]],
        touches={
            tool.name: Touch(
                reads=held[tool.actors[0]],
                writes=held[tool.actors[0]] if tool.effect == "change" else [],
            )
            for tool in tools
        },
        couplings=[
            Coupling(name=name.removeprefix("_"), reads=everything, writes=everything)
            for name in program.couplings
        ],
        clauses=[],
    )


__all__ = ["SYSTEM", "import_release"]
