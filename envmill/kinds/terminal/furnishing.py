"""Systems and fault operators that an author proposes, held to the proofs of the factory's own.

brief ─► system ─► set up · healthy twice · undisturbed by its check · healthy after a restart ─┐ what fails goes back to its author
operators ─► each alone: breaks what it says, is seen, is undone, lasts ◄───────────────────────┘
                └─► those that hold stand in the system beside its handles; the others have a row with their reason
"""

import ast
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath

from envmill.base.errors import SettingsError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import (
    Repair,
    UnreadableVersion,
    describe_builds,
    give_up,
    strive,
)
from envmill.kinds.base import BuildResult, PartAuthor
from envmill.kinds.findings import drop
from envmill.kinds.terminal.breaking import OPERATORS, list_faults
from envmill.kinds.terminal.breaking.base import find_line
from envmill.kinds.terminal.breaking.composing import find_shared, find_underivable
from envmill.kinds.terminal.breaking.proving import prove
from envmill.kinds.terminal.breaking.systems import write_services
from envmill.kinds.terminal.errands.wishes import SKIPPED
from envmill.kinds.terminal.lending import find_ground, lend_container
from envmill.kinds.terminal.perturbing import BASE, MOST_FAULTS, assemble_machine
from envmill.models.gateway import ModelSession
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.baseline import is_compiled
from envmill.sandbox.machines.files import read_machine, write_machine
from envmill.sandbox.machines.frame import list_frame
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.machine import (
    NoReportError,
    check_health,
    pack,
    put,
    restart,
    run,
    write_set_up,
)
from schemas.base import Json
from schemas.environment import Blueprint
from schemas.environment import Fault as Blame
from schemas.system import BrokenSystem, Fault, System
from schemas.system_prompts import FaultsReply, ProposedFault, SystemReply

LEAST = 3
"""Operators of its own that have to hold before a version is taken."""
SECONDS = 120
SHOWN = 1500
_ROOTS = ("/etc/", "/opt/", "/srv/", "/var/", "/usr/local/")
"""Where files of a system stand."""
_SAFE = sys.stdlib_module_names | {"probing"}


@dataclass(frozen=True)
class _Version:
    """A system or its operators as written, and what is wrong with it."""

    healthy: Healthy | None
    complaints: tuple[Complaint, ...]
    content: Json = None
    held: tuple[Fault, ...] = field(default=())
    """Operators that hold."""

    @property
    def fault(self) -> Blame:
        return "state" if self.complaints else "none"


async def furnish(
    blueprint: Blueprint, author: PartAuthor, sandbox: Sandbox, models: ModelSession
) -> BuildResult:
    """The system, unless it is the factory's own, then operators for it. Versions that were sent
    back are rows of `builds`."""

    async def write_system(_: _Version | None, repair: Repair, asking: ModelSession) -> _Version:
        reply = SystemReply.model_validate_json(
            await author.write_part("system", blueprint, {}, repair, asking)
        )
        return await _try_reply(reply, blueprint, sandbox)

    systems = await strive(write_system, models) if blueprint.brief.written == "system" else []
    builds = describe_builds(blueprint.id, systems)
    last = systems[-1] if systems else _Version(read_machine(blueprint.files), ())
    if isinstance(last, UnreadableVersion) or last.complaints or last.healthy is None:
        return BuildResult(builds, (drop("build", *give_up(systems)),))
    healthy = last.healthy
    whole = blueprint.model_copy(update={"files": write_machine(healthy, BASE)})

    async def write_operators(_: _Version | None, repair: Repair, asking: ModelSession) -> _Version:
        reply = FaultsReply.model_validate_json(
            await author.write_part("faults", whole, {}, repair, asking)
        )
        return await _try_operators(reply, healthy, sandbox)

    proposed = await strive(
        write_operators, models, ends=lambda version: len(version.held) >= LEAST
    )
    builds = describe_builds(blueprint.id, [*systems, *proposed])
    best = max(
        (one for one in proposed if isinstance(one, _Version)),
        key=lambda one: len(one.held),
        default=None,
    )
    system = healthy.system.model_copy(update={"faults": list(best.held) if best else []})
    if not _has_room(healthy._replace(system=system)):
        words = (
            f"{len(system.faults)} operators hold, and fewer than {MOST_FAULTS} faults stand apart"
        )
        return BuildResult(builds, (drop("build", "too_few_faults", words),))
    files = write_machine(healthy._replace(system=system), BASE)
    made = blueprint.model_copy(
        update={"files": files, "summary": system.about, "name": system.about[:80]}
    )
    return BuildResult((*builds, assemble_machine(made)))


def read_reply(reply: SystemReply, blueprint: Blueprint) -> Healthy:
    """The system as it would be set up."""
    told = reply.model_dump(exclude={"files", "check"})
    system = System.model_validate(
        told | {"name": blueprint.brief.theme, "licence": blueprint.licence, "variables": {}}
    )
    files = {path: text.encode() for path, text in reply.files.items()}
    return Healthy(system, 0, {}, {**files, SERVICES: write_services(system).encode()}, reply.check)


def find_system_faults(reply: SystemReply, healthy: Healthy) -> Iterator[str]:
    """All that can be seen before anything runs."""
    if reply.page not in reply.files:
        yield f"The administrator's page {reply.page} is not among the files."
    for path in (*reply.files, *reply.directories):
        parts = PurePosixPath(path)
        if (
            not path.startswith(_ROOTS)
            or ".." in parts.parts
            or str(parts) != path
            or path == SERVICES
        ):
            yield (
                f"{path!r} is no place for a file of a system: use absolute paths below "
                f"{', '.join(_ROOTS)}."
            )
    for place in reply.volatile:
        if any(each in reply.files for each in (place, place.rstrip("/"))) and place.startswith(
            "/etc/"
        ):
            yield f"{place} holds settings and is not volatile."
        if place.rstrip("/") in (
            *(root.rstrip("/") for root in _ROOTS),
            "/var/lib",
            "/var/log",
            "/",
        ):
            yield f"{place!r} is volatile as a whole: name what changes there."
    yield from _find_check_faults(reply)
    for handle in reply.handles:
        if unknown := [name for name in handle.can if name not in OPERATORS]:
            yield f"The handle {handle.name} names the operators {unknown}, which there are not."
        elif handle.file not in reply.files or not find_line(healthy, handle):
            yield (
                f"The text of the handle {handle.name} does not stand exactly once in "
                f"{handle.file}."
            )


def _find_check_faults(reply: SystemReply) -> Iterator[str]:
    try:
        tree = ast.parse(reply.check, feature_version=(3, 11))
    except (SyntaxError, ValueError) as error:
        yield f"check.py is no Python: {error}."
        return
    defined = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _is_probe(node)
    }
    known = {*defined, *(["services"] if reply.services else [])}
    if silent := sorted(known - reply.complaints.keys()):
        yield f"The probes {silent} have no complaint."
    if unknown := sorted(reply.complaints.keys() - known):
        yield f"The complaints {unknown} belong to no probe of check.py."
    for node in ast.walk(tree):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        yield from (
            f"check.py imports {name}: use the standard library and probing."
            for name in names
            if name.split(".")[0] not in _SAFE
        )
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and ast.unparse(last.value) == "report()"):
        yield "check.py must end with report()."


def _is_probe(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "probe" for one in node.decorator_list)


async def _try_reply(reply: SystemReply, blueprint: Blueprint, sandbox: Sandbox) -> _Version:
    healthy, content = read_reply(reply, blueprint), reply.model_dump(mode="json")
    faults = list(find_system_faults(reply, healthy))
    if not faults:
        try:
            list(list_faults(healthy, random.Random(0)))
        except SettingsError as error:
            faults = [error.message]
    if faults:
        return _Version(
            None, tuple(Complaint("build", "bad_system", fault) for fault in faults), content
        )
    reason, failure = await try_system(healthy, sandbox)
    return _Version(healthy, (Complaint("build", reason, failure),) if reason else (), content)


async def try_system(healthy: Healthy, sandbox: Sandbox) -> tuple[str, str]:
    """Reason and words of what does not hold, empty where all does."""
    ground = await find_ground(sandbox, healthy)
    async with lend_container(sandbox) as container:
        await put(container, "/tmp/system.tar", pack(healthy))
        ran = await run(container, write_set_up(healthy), SECONDS)
        if ran.outcome != "done" or ran.code:
            return (
                "does_not_build",
                f"Setting it up ends with {ran.code}. End of the log:\n{ran.text[-SHOWN:]}",
            )
        try:
            before = await list_frame(container, healthy, ground)
            for reason in ("unhealthy", "check_not_idempotent", "not_lasting"):
                if reason == "not_lasting":
                    await restart(container, healthy)
                if wrong := {
                    name: words
                    for name, words in (await check_health(container, healthy)).items()
                    if words
                }:
                    return reason, f"{_WHEN[reason]}: {wrong}"
            changed = [
                path
                for path in before.find_changed(await list_frame(container, healthy, ground))
                if not is_compiled(path)
            ]
        except NoReportError as error:
            return "no_report", error.message[-SHOWN:]
    if changed:
        return (
            "check_disturbs",
            f"The check, or the system as it runs, changes {', '.join(changed[:5])}: name it as "
            "volatile, or leave it.",
        )
    return "", ""


_WHEN = {
    "unhealthy": "The check finds the system unwell as it was set up",
    "check_not_idempotent": "Asked a second time, the check says otherwise",
    "not_lasting": "When every process was ended and the services were started anew",
}


async def _try_operators(reply: FaultsReply, healthy: Healthy, sandbox: Sandbox) -> _Version:
    """Each alone. One refused operator costs no other its place."""
    held, complaints = list[Fault](), list[Complaint]()
    for number, proposed in enumerate(reply.operators):
        fault = read_operator(proposed, number)
        reason, words = await try_operator(fault, healthy, sandbox)
        if not reason and any(
            fault.operator == other.operator and find_shared(fault, other) for other in held
        ):
            reason, words = "same_place", "another operator of that name changes the same place"
        if reason:
            complaints.append(
                Complaint("build", reason, f"Operator {number + 1}, {fault.operator}: {words}")
            )
        else:
            held.append(fault)
    return _Version(healthy, tuple(complaints), reply.model_dump(mode="json"), tuple(held))


def read_operator(proposed: ProposedFault, number: int) -> Fault:
    """Its own name stands for the handle, and no other operator fits beside it in the same file."""
    return Fault.model_validate(
        proposed.model_dump() | {"handle": f"{proposed.operator}_{number + 1}"}
    )


async def try_operator(fault: Fault, healthy: Healthy, sandbox: Sandbox) -> tuple[str, str]:
    """Reason and words of what does not hold: what is said of it first, then the proof of the
    factory's own operators."""
    if bad := [
        place
        for place in fault.places
        if not place.startswith("/") or place.startswith(SKIPPED) or place == SERVICES
    ]:
        return "bad_place", f"{bad[0]!r} is no place that can be broken for good"
    broken = BrokenSystem(system=healthy.system.name, variation=healthy.variation, faults=[fault])
    if lacking := find_underivable(healthy, broken):
        return (
            "underivable",
            f"the administrator's page does not say {lacking[0].partition(': ')[2]!r}",
        )
    containers, ground = partial(lend_container, sandbox), partial(find_ground, sandbox, healthy)
    try:
        proof = await prove(healthy, broken, containers, repeats=1, find_ground=ground)
    except NoReportError as error:
        return "no_report", error.message[-SHOWN:]
    return proof.reason, proof.detail


def _has_room(healthy: Healthy) -> bool:
    """Whether as many faults as a scenario has at most stand apart from each other."""
    apart = list[Fault]()
    for fault in list_faults(healthy, random.Random(0)):
        apart += [fault] if not any(find_shared(fault, other) for other in apart) else []
    return len(apart) >= MOST_FAULTS
