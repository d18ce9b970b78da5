"""Importer `envscaler`: the released environments and scenarios of EnvScaler as bundle folders.

environment ─► program.py as it is, adapter.py around it, interface closed and described ─► jail: what state does it declare?
scenario    ─► initial state as the jail gives it back, checks as goals scored like the release: the fraction that is true
what cannot be mapped ─► a remark with its reason
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from envmill.base.errors import BuildError
from envmill.interop.bundles import Folder
from envmill.interop.importers.adapter import adapt_check, write_adapter
from envmill.interop.importers.base import Harvest, Remark, is_folder_name
from envmill.interop.importers.release import (
    ReleasedEnvironment,
    ReleasedScenario,
    ReleasedTool,
    read_environments,
    read_scenarios,
)
from envmill.interop.importers.shape import ClassShape, is_tuple_keyed, make_state, read_shape
from envmill.kinds.docstring import described_parameters
from envmill.kinds.start import CLOCK
from envmill.runtime.schema import check_schema
from envmill.sandbox import CheckSession, Look, Program, Reset, Sandbox
from envmill.verifiers.diff import diff_states
from schemas.base import Json, is_object
from schemas.environment import Environment, Tool
from schemas.folder import NOWHERE
from schemas.scenario import Check, Scenario, UserContract, Verifier
from schemas.seed import Brief

LICENCE = "MIT"
ORIGIN = NOWHERE.model_copy(update={"recipe": "envscaler", "provider": "released"})

State = dict[str, Json]


async def import_release(root: Path, sandbox: Sandbox) -> Harvest:
    """Every environment with its scenarios; what belongs to none is a remark, too."""
    harvest, by_environment = Harvest(), defaultdict[str, list[tuple[str, ReleasedScenario]]](list)
    environments, scenarios = list(read_environments(root)), list(read_scenarios(root))
    checks = [
        len(one.checklist_with_func) for _, one in scenarios if isinstance(one, ReleasedScenario)
    ]
    harvest.counted = {
        "environments": len(environments),
        "scenarios": len(scenarios),
        "checks": sum(checks),
    }
    for name, scenario in scenarios:
        if isinstance(scenario, str):
            harvest.remarks.append(Remark(name, "", "refused", "unreadable", scenario))
        else:
            by_environment[scenario.env_id].append((name, scenario))
    for name, released in environments:
        await _Import(name, sandbox, harvest).map(released, by_environment.pop(name, []))
    for name, left in by_environment.items():
        harvest.remarks += [
            Remark(task, "", "refused", "no_environment", f"{name} is not in the release")
            for task, _ in left
        ]
    return harvest


class _Import:
    """One environment on its way into a folder."""

    def __init__(self, name: str, sandbox: Sandbox, harvest: Harvest) -> None:
        self._name, self._sandbox, self._harvest = name, sandbox, harvest

    def _refuse(self, subject: str, code: str, detail: str, part: str = "") -> None:
        self._harvest.remarks.append(Remark(subject, part, "refused", code, detail))

    def _change(self, subject: str, code: str, detail: str, part: str = "") -> None:
        self._harvest.remarks.append(Remark(subject, part, "changed", code, detail))

    def _note(self, subject: str, code: str, detail: str, part: str = "") -> None:
        self._harvest.remarks.append(Remark(subject, part, "noted", code, detail))

    async def map(
        self, released: ReleasedEnvironment | str, scenarios: Sequence[tuple[str, ReleasedScenario]]
    ) -> None:
        """The folder joins the harvest; an environment that is refused takes its scenarios along,
        each with a remark."""
        reason = await self._map(released, scenarios)
        if reason:
            self._refuse(self._name, *reason)
            for task, _ in scenarios:
                self._refuse(task, "no_environment", f"its environment {self._name} was refused")

    async def _map(
        self, released: ReleasedEnvironment | str, scenarios: Sequence[tuple[str, ReleasedScenario]]
    ) -> tuple[str, str] | None:
        if isinstance(released, str):
            return "unreadable", released
        if not is_folder_name(self._name):
            return "bad_id", "its id cannot name a folder"
        if self._name in self._harvest.folders:
            return "id_twice", "another environment of the release bears its id"
        shape = read_shape(released.env_class_code, released.env_class_name)
        if isinstance(shape, str):
            return "no_class", shape
        environment = self._make_environment(released, shape)
        if not environment.tools:
            return "no_tools", "none of its tools is a method of its class"
        try:
            await self._sandbox.inspect(Program.of(environment))
        except BuildError as error:
            return "does_not_load", error.message
        empty = await self._load(environment, {})
        if isinstance(empty, str):
            return "does_not_construct", empty
        self._remark_on_state(shape, empty)
        known = shape.kept | set(empty)
        states = {"empty": empty} | await self._make_example(environment, make_state(shape, empty))
        mapped = [
            await self._map_scenario(place, task, one, environment, known)
            for place, (task, one) in enumerate(scenarios)
        ]
        self._harvest.folders[self._name] = Folder(
            environment, (), tuple(filter(None, mapped)), states
        )
        return None

    def _make_environment(self, released: ReleasedEnvironment, shape: ClassShape) -> Environment:
        effects = {one.operation_name: one.operation_type for one in released.operation_list}
        tools = [
            tool
            for one in released.tools
            if (tool := self._map_tool(one, shape, effects.get(one.function.name, "")))
        ]
        for name in sorted(set(shape.tools) - {tool.name for tool in tools}):
            self._note(self._name, "not_offered", "a public method that no tool declares", name)
        return Environment(
            kind="stateful",
            files={
                "program.py": released.env_class_code,
                "adapter.py": write_adapter(
                    released.env_class_name,
                    [tool.name for tool in tools],
                    takes_state=shape.takes_state,
                ),
            },
            entry="adapter:World",
            tools=tools,
            rules=released.constraints_rules,
            policy_document="",
            name=released.environment_summary or released.env_class_name,
            summary=released.environment_introduction or released.environment_summary,
            brief=Brief(theme=self._name, text=released.environment_introduction, number=0),
            blueprint="",
            licence=LICENCE,
            origin=ORIGIN,
        )

    def _map_tool(self, released: ReleasedTool, shape: ClassShape, effect: str) -> Tool | None:
        """Closed, since a foreign argument would end in a TypeError; described out of the
        docstring."""
        name, parameters = released.function.name, released.function.parameters
        if name not in shape.methods:
            self._refuse(self._name, "no_method", "the class has no such method", name)
            return None
        told = described_parameters(ast.get_docstring(shape.methods[name]) or "")
        given = parameters.get("properties", {})
        if not is_object(given) or not all(map(is_object, given.values())):
            self._refuse(self._name, "bad_schema", "its parameters are no JSON Schema", name)
            return None
        described = {
            key: ({"description": told[key]} if told.get(key) else {}) | schema
            for key, schema in given.items()
        }
        closed: dict[str, Json] = {
            **parameters,
            "properties": described,
            "additionalProperties": False,
        }
        try:
            check_schema(closed)
        except ValueError as error:
            self._refuse(self._name, "bad_schema", str(error), name)
            return None
        if effect not in ("query", "state_change"):
            self._change(
                self._name, "effect_unknown", f"its type is {effect!r}; taken for a change", name
            )
        return Tool(
            name=name,
            description=released.function.description,
            parameters=closed,
            effect="query" if effect == "query" else "change",
        )

    async def _load(self, environment: Environment, state: State) -> State | str:
        """What the program makes of a state, or why it makes nothing of it."""
        reset, look = await self._sandbox.play(
            Program.of(environment), [Reset(state, CLOCK, 0), Look()], hashes="none"
        )
        failed = reset if reset.outcome != "ok" else look
        return f"{failed.code}: {failed.message}" if look.state is None else look.state

    def _remark_on_state(self, shape: ClassShape, empty: State) -> None:
        for name in shape.hidden:
            self._note(
                self._name,
                "hidden_state",
                "a private attribute: no state shows it and no reset brings it back",
                name,
            )
        for name, kind in shape.containers.items():
            if kind is not None and is_tuple_keyed(kind):
                self._change(
                    self._name,
                    "keys_no_text",
                    "its keys are tuples, which JSON has not: they are written as text",
                    name,
                )
        for name in sorted(set(empty) - set(shape.containers)):
            self._note(
                self._name,
                "made_by_running",
                "an attribute that only running the constructor shows",
                name,
            )

    async def _make_example(self, environment: Environment, invented: State) -> dict[str, State]:
        """A state with rows, made from the declared types, for those who must call tools before
        anybody has written a scenario."""
        made = await self._load(environment, invented)
        if isinstance(made, str):
            self._note(self._name, "no_example", f"no state with rows could be made: {made[:200]}")
            return {}
        return {"invented": made}

    async def _map_scenario(
        self,
        place: int,
        task: str,
        released: ReleasedScenario,
        environment: Environment,
        known: Set[str],
    ) -> Scenario | None:
        state = await self._map_state(task, released.init_config, environment, known)
        checks = list(self._map_checks(task, released))
        if state is None or not checks:
            if state is not None:
                self._refuse(task, "no_checks", "none of its checks can be run")
            return None
        if not released.task.strip():
            self._refuse(task, "no_request", "it asks for nothing")
            return None
        holds = await self._run_checks(task, checks, state)
        return Scenario(
            environment=environment.id,
            number=place,
            draft="",
            initial_state=state,
            request=released.task,
            user=UserContract(opening=released.task),
            oracle=[],
            polarity="achieve",
            clock=CLOCK,
            seed=0,
            verifier=Verifier(goals=checks, guards=[], frame=[[]], partial=True),
            features={"released_as": task},
            split="train",
            oracle_reward=0.0,
            do_nothing_reward=sum(holds) / len(holds),
            origin=ORIGIN,
        )

    async def _map_state(
        self, task: str, given: State, environment: Environment, known: Set[str]
    ) -> State | None:
        """As the program gives it back: whole, with what the class declares and the scenario leaves
        out."""
        methods = {tool.name for tool in environment.tools}
        if shadows := sorted(methods & set(given)):
            self._refuse(
                task, "state_hides_tool", f"its state has keys that are tools: {', '.join(shadows)}"
            )
            return None
        for name in sorted(set(given) - known):
            self._note(
                task,
                "undeclared_container",
                "the class does not declare it, so no tool looks at it",
                name,
            )
        state = await self._load(environment, given)
        if isinstance(state, str):
            self._refuse(task, "does_not_construct", state)
            return None
        for change in diff_states(given, {name: state.get(name) for name in given}):
            self._change(
                task,
                "state_changed",
                "the program does not give it back as it was put in",
                ".".join(change.path),
            )
        for name in sorted(set(state) - set(given)):
            self._note(
                task, "container_added", "declared by the class and left out by the scenario", name
            )
        return state

    def _map_checks(self, task: str, released: ReleasedScenario) -> Iterator[Check]:
        for place, one in enumerate(released.checklist_with_func):
            part = f"check {place + 1}"
            try:
                defined = {
                    node.name
                    for node in ast.parse(one.check_func).body
                    if isinstance(node, ast.FunctionDef)
                }
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                self._refuse(task, "check_no_python", f"{type(error).__name__}: {error}", part)
                continue
            if "check_func" not in defined:
                self._refuse(task, "check_undefined", "it defines no check_func", part)
                continue
            if "initial_state" in one.check_func:
                self._change(
                    task,
                    "reads_initial_state",
                    "it reads a global nobody defines; it is given the state at the start",
                    part,
                )
            yield Check(
                name=one.check_item, op="generated", path=[], source=adapt_check(one.check_func)
            )

    async def _run_checks(self, task: str, checks: Sequence[Check], state: State) -> list[bool]:
        """What each says of the untouched state; one that says nothing counts as false there, as in
        the release."""
        heard = await self._sandbox.judge(
            CheckSession([check.source for check in checks], state, state, CLOCK)
        )
        for place, said in enumerate(heard):
            if said.holds is None:
                self._note(
                    task,
                    "check_raises",
                    f"on the untouched state: {said.code}: {said.message[-200:]}",
                    f"check {place + 1}",
                )
        return [said.holds is True for said in heard]
