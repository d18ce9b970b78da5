"""Importer `awm`: rows of Agent World Model as bundle folders over tables.

schema ─► schema.sql    inserts ─► jail: carried out one by one ─► rows    endpoints ─► tools, where one statement is all they are
verifier code ─► a check that finds both states where it looks for database files; what cannot be mapped ─► a remark with its reason
"""

import ast
from collections.abc import Sequence
from pathlib import Path

from envmill.base.errors import BuildError
from envmill.interop.bundles import Folder
from envmill.interop.importers.awm_release import (
    ReleasedSample,
    ReleasedVerifier,
    ReleasedWorld,
    read_worlds,
)
from envmill.interop.importers.awm_tools import PROGRAM, Plan, Unmapped, map_endpoint
from envmill.interop.importers.base import Harvest, Remark, is_folder_name
from envmill.kinds.sql import derive_tables
from envmill.kinds.start import CLOCK
from envmill.runtime.program import SCHEMA
from envmill.sandbox import CheckSession, Invoke, Look, Program, Reset, Sandbox
from schemas.base import Json
from schemas.environment import Call, Environment, Tool
from schemas.folder import NOWHERE
from schemas.scenario import Check, Scenario, UserContract, Verifier
from schemas.seed import Brief

LICENCE = "unknown"
"""The repository names none; of the data others say CC BY 4.0."""
ORIGIN = NOWHERE.model_copy(update={"recipe": "awm", "provider": "released"})
VERIFY = "verify_task_completion"

State = dict[str, Json]

_LOADER = (
    "class Loader:\n    def __init__(self, db):\n        self._db = db\n\n    def run(self, "
    "sql):\n        return self._db.execute(sql)\n"
)
_RUN = Tool(
    name="run",
    description="Carries out one statement.",
    parameters={
        "type": "object",
        "properties": {"sql": {"type": "string"}},
        "required": ["sql"],
        "additionalProperties": False,
    },
    effect="change",
)

_CHECK = '''

_SCHEMA = $SCHEMA


def _pack(state):
    """The bytes of a database that holds a state."""
    made = _connect(":memory:")
    made.executescript(_SCHEMA)
    for table, rows in state.items():
        for row in rows.values():
            names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
            made.execute(f'insert into "{table}" ({names}) values ({marks})', list(row.values()))
    made.commit()
    return made.serialize()


def check(initial, final):
    """Whoever opens a file by one of two names gets a copy of that state, and nothing else is there to be opened."""
    global _connect
    import sqlite3

    _connect = sqlite3.connect
    held = {"initial": _pack(initial), "final": _pack(final)}

    def connect(name, *arguments, **more):
        opened = _connect(":memory:")
        found = [content for word, content in held.items() if str(name).removeprefix("file:").partition("?")[0] == word]
        if found:
            opened.deserialize(found[0])
        return opened

    sqlite3.connect = connect
    try:
        told = verify_task_completion("initial", "final")
    finally:
        sqlite3.connect = _connect
    if not isinstance(told, dict) or told.get("result") not in ("complete", "others"):
        raise ValueError("the released code gave no result")
    return told["result"] == "complete"
'''


async def import_release(root: Path, sandbox: Sandbox) -> Harvest:
    """Every scenario of the release, which is an environment here, with its tasks."""
    worlds, faults = read_worlds(root)
    harvest = Harvest(
        remarks=[Remark(place, "", "refused", "unreadable", told) for place, told in faults]
    )
    harvest.counted = {
        "environments": len(worlds),
        "scenarios": sum(len(world.tasks) for world in worlds.values()),
        "checks": sum(len(world.verifiers) for world in worlds.values()),
    }
    for name, world in worlds.items():
        await _Import(name, world, sandbox, harvest).map()
    return harvest


class _Import:
    """One of them on its way into a folder."""

    def __init__(self, name: str, world: ReleasedWorld, sandbox: Sandbox, harvest: Harvest) -> None:
        self._name, self._world, self._sandbox, self._harvest = name, world, sandbox, harvest

    def _refuse(self, code: str, detail: str, part: str = "", subject: str = "") -> None:
        self._harvest.remarks.append(Remark(subject or self._name, part, "refused", code, detail))

    def _remark(self, code: str, detail: str, part: str = "", subject: str = "") -> None:
        self._harvest.remarks.append(Remark(subject or self._name, part, "changed", code, detail))

    def _task(self, number: int) -> str:
        return f"{self._name}/{number}"

    async def map(self) -> None:
        """The folder joins the harvest; one that is refused takes its tasks along."""
        reason = await self._map()
        if reason:
            self._refuse(*reason)
            for number in range(len(self._world.tasks)):
                self._refuse(
                    "no_environment",
                    f"its environment {self._name} was refused",
                    subject=self._task(number),
                )

    async def _map(self) -> tuple[str, str] | None:
        world = self._world
        if not is_folder_name(self._name):
            return "bad_id", "its name cannot name a folder"
        if world.schema is None or world.interface is None:
            return (
                "incomplete",
                f"no row tells its {'tables' if world.schema is None else 'interface'}",
            )
        schema = (
            ";\n".join(
                text.strip().rstrip(";")
                for table in world.schema.tables
                for text in (table.ddl, *table.indexes)
            )
            + ";\n"
        )
        try:
            environment = self._make_environment(schema)
            if not environment.tools:
                return "no_tools", "none of its endpoints is one statement on one table"
            await self._sandbox.inspect(Program.of(environment))
        except BuildError as error:
            return "does_not_load", error.message
        rows = await self._load_rows(schema, world.sample)
        if isinstance(rows, str):
            return "does_not_open", rows
        scenarios = [
            await self._map_task(number, environment, rows, schema)
            for number in range(len(world.tasks))
        ]
        self._harvest.folders[self._name] = Folder(
            environment, (), tuple(filter(None, scenarios)), {"released": rows}
        )
        return None

    def _make_environment(self, schema: str) -> Environment:
        tables = derive_tables({SCHEMA: schema}, {})
        tools, plans = self._map_tools(schema)
        if self._world.has_code:
            self._remark(
                "code_rewritten",
                "its handlers need a web framework and an object mapper; tools are written from "
                "the interface",
            )
        text = self._world.description or self._name.replace("_", " ")
        return Environment(
            kind="sql",
            files={"program.py": PROGRAM.replace("$PLANS", repr(plans)), SCHEMA: schema},
            entry="program:World",
            tools=tools,
            tables=tables,
            rules=[],
            policy_document="",
            name=self._name,
            summary=text,
            brief=Brief(theme=self._name, text=text, number=0),
            blueprint="",
            licence=LICENCE,
            origin=ORIGIN,
        )

    def _map_tools(self, schema: str) -> tuple[list[Tool], dict[str, Plan]]:
        tables, tools, plans = derive_tables({SCHEMA: schema}, {}), list[Tool](), dict[str, Plan]()
        assert self._world.interface is not None
        assert self._world.schema is not None
        ddls = {table.name: table.ddl for table in self._world.schema.tables}
        for endpoint in (
            one for group in self._world.interface.api_groups for one in group.endpoints
        ):
            try:
                tool, plan = map_endpoint(endpoint, tables, ddls)
            except Unmapped as why:
                self._refuse(why.code, why.detail, endpoint.operation_id)
                continue
            if tool.name in plans:
                self._refuse("name_twice", "another endpoint bears its operation_id", tool.name)
                continue
            tools.append(tool)
            plans[tool.name] = plan
        return tools, plans

    async def _load_rows(self, schema: str, sample: ReleasedSample | None) -> State | str:
        """What is there once every insert was carried out; one that fails is left out and said."""
        told = [
            (table.table_name, sql)
            for table in (sample.tables if sample else ())
            for sql in table.insert_statements
        ]
        program = Program({"program.py": _LOADER, SCHEMA: schema}, "program:Loader", [_RUN])
        calls = [Invoke(Call(name="run", arguments={"sql": sql})) for _, sql in told]
        begun, *seen, end = await self._sandbox.play(
            program, [Reset({}, CLOCK, 0), *calls, Look()], hashes="none"
        )
        if begun.outcome != "ok" or end.state is None:
            return f"{begun.message or end.message}"
        for (table, sql), one in zip(told, seen, strict=True):
            if one.outcome != "ok":
                self._refuse("row_refused", f"{one.message[-200:]}: {sql[:80]}", table)
        return end.state

    async def _map_task(
        self, number: int, environment: Environment, state: State, schema: str
    ) -> Scenario | None:
        subject, request = self._task(number), self._world.tasks[number]
        checks = [
            one
            for one in (
                self._map_check(found, schema, subject)
                for found in self._world.verifiers
                if found.task_idx == number
            )
            if one
        ]
        if not checks:
            self._refuse("no_check", "no code of its own says whether it is done", subject=subject)
            return None
        if not request.strip():
            self._refuse("no_request", "it asks for nothing", subject=subject)
            return None
        held = await self._run_checks(checks, state, subject)
        return Scenario(
            environment=environment.id,
            number=number,
            draft="",
            initial_state=state,
            request=request,
            user=UserContract(opening=request),
            oracle=[],
            polarity="achieve",
            clock=CLOCK,
            seed=0,
            verifier=Verifier(goals=checks, guards=[], frame=[[]]),
            features={"released_as": subject},
            split="train",
            oracle_reward=0.0,
            do_nothing_reward=float(all(held)),
            origin=ORIGIN,
        )

    def _map_check(self, released: ReleasedVerifier, schema: str, subject: str) -> Check | None:
        source = released.verification.code
        try:
            defined = {
                node.name: node
                for node in ast.parse(source).body
                if isinstance(node, ast.FunctionDef)
            }
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self._refuse("check_no_python", f"{type(error).__name__}: {error}", "verifier", subject)
            return None
        if VERIFY not in defined or '"complete"' not in source.replace("'", '"'):
            self._refuse(
                "check_is_evidence",
                "it gathers evidence for a model to judge, and says nothing itself",
                "verifier",
                subject,
            )
            return None
        arguments = [one.arg for one in defined[VERIFY].args.args]
        if (
            any(
                isinstance(node, ast.Name) and node.id == "final_answer"
                for node in ast.walk(defined[VERIFY])
            )
            or len(arguments) < 2
        ):
            self._remark(
                "answer_not_seen",
                "it asks for the last words as well; checks here see states alone",
                "verifier",
                subject,
            )
        return Check(
            name=released.task[:200],
            op="generated",
            path=[],
            source=source.rstrip() + "\n" + _CHECK.replace("$SCHEMA", repr(schema)),
        )

    async def _run_checks(self, checks: Sequence[Check], state: State, subject: str) -> list[bool]:
        """What each says of the untouched state."""
        heard = await self._sandbox.judge(
            CheckSession([check.source for check in checks], state, state, CLOCK)
        )
        for said in heard:
            if said.holds is None:
                told = f"on the untouched state: {said.code}: {said.message[-200:]}"
                self._harvest.remarks.append(
                    Remark(subject, "verifier", "noted", "check_raises", told)
                )
            elif said.holds:
                self._remark(
                    "done_already",
                    "the untouched state passes: whoever does nothing is paid",
                    "verifier",
                    subject,
                )
        return [said.holds is True for said in heard]
