"""Outfitting an errand: its parts are asked for one after the other, tried, and what failed is sent
back to whoever is at fault.

blueprint ─► (initial test, image) until it is built and is as told ─► (final test, solution) until the path holds ─► environment
                    ▲ build log, failing asserts                            ▲ failing command, failing asserts, what gates find
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import FIRST, Repair, describe_builds, give_up, strive
from envmill.kinds.base import PartAuthor
from envmill.kinds.terminal import SHELL, compose_state, write_step
from envmill.kinds.terminal.errands.images import read_image
from envmill.kinds.terminal.errands.trying import ErrandTrial, try_machine, try_solution
from envmill.kinds.terminal.perturbing import BASE
from envmill.models.gateway import ModelSession
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import ERRAND, FINAL, INITIAL, write_machine
from envmill.sandbox.machines.healthy import Healthy
from schemas.base import Json
from schemas.environment import Blueprint, Build, Call, Environment, Fault
from schemas.errand import Errand, Image, Outfit, Part
from schemas.prompts import ScenarioReply

_FAULTS: Mapping[Part, Fault] = {
    "initial_test": "test",
    "final_test": "test",
    "image": "state",
    "solution": "code",
}
_OF_TEST = frozenset(("S2", "S3", "S4", "S5", "S6", "S12"))
"""Gates that ask whether the final test pays for what was asked, and for nothing else; the others
ask the solution."""
_MACHINE: tuple[Part, ...] = ("initial_test", "image")
_EXAM: tuple[Part, ...] = ("final_test", "solution")


Judge = Callable[[Environment, ModelSession], Awaitable[Sequence[Complaint]]]
"""What gates find of an environment and its errand, where the run asks them so early."""


@dataclass(frozen=True)
class _Version:
    """The parts as they are, and how far they got."""

    made: dict[Part, str]
    trial: ErrandTrial
    healthy: Healthy | None = None
    found: tuple[Complaint, ...] = ()
    """What gates found, where it got as far as them; the trial names whose fault that is."""

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        return self.found or (
            (Complaint("build", self.trial.reason, self.trial.failure),)
            if self.trial.reason
            else ()
        )

    @property
    def fault(self) -> Fault:
        return _FAULTS[self.trial.blamed] if self.trial.reason else "none"

    @property
    def content(self) -> Json:
        return self.made


@dataclass(frozen=True)
class Outfitted:
    """An environment, or why there is none."""

    builds: tuple[Build, ...]
    environment: Environment | None = None
    reason: str = ""
    detail: str = ""


async def outfit(
    blueprint: Blueprint, author: PartAuthor, sandbox: Sandbox, models: ModelSession, judge: Judge | None = None
) -> Outfitted:  # fmt: skip
    """Two loops, each bounded as every repair is: the machine first, for nothing can be tried
    without one."""
    errand = read_errand(blueprint.files)

    async def make_machine(
        before: _Version | None, repair: Repair, asking: ModelSession
    ) -> _Version:
        made = await _write(_MACHINE, blueprint, author, {}, before, repair, asking)
        return await _try_machine(blueprint, errand, made, sandbox, before)

    machines = await strive(make_machine, models)
    ready = machines[-1]
    if not isinstance(ready, _Version) or ready.complaints or ready.healthy is None:
        return Outfitted(describe_builds(blueprint.id, machines), None, *give_up(machines))
    machine, kept = ready.healthy, ready.made

    async def make_exam(before: _Version | None, repair: Repair, asking: ModelSession) -> _Version:
        made = await _write(_EXAM, blueprint, author, kept, before, repair, asking)
        version = await _try_exam(machine, errand, made, sandbox, before)
        if judge is None or version.complaints or version.healthy is None:
            return version
        return _blame(
            version,
            await judge(_assemble(blueprint, errand, version.healthy, version), asking),
            before,
        )

    exams = await strive(make_exam, models)
    builds, last = describe_builds(blueprint.id, [*machines, *exams]), exams[-1]
    if not isinstance(last, _Version) or last.complaints or last.healthy is None:
        return Outfitted(builds, None, *give_up(exams))
    return Outfitted(builds, _assemble(blueprint, errand, last.healthy, last))


async def _write(
    parts: tuple[Part, ...],
    blueprint: Blueprint,
    author: PartAuthor,
    kept: Mapping[Part, str],
    before: _Version | None,
    repair: Repair,
    models: ModelSession,
) -> dict[Part, str]:
    """Those at fault are written anew, the others as they were."""
    made = dict(before.made if before else kept)
    for part in parts:
        if part not in made or (before is not None and before.trial.blamed == part):
            made[part] = await author.write_part(
                part, blueprint, made, repair if part in made else FIRST, models
            )
    return made


async def _try_machine(
    blueprint: Blueprint, errand: Errand, made: dict[Part, str], sandbox: Sandbox, before: _Version | None
) -> _Version:  # fmt: skip
    image = Image.model_validate_json(made["image"])
    try:
        healthy = read_image(image, blueprint.brief.theme, blueprint.summary, blueprint.licence)
    except BuildError as error:
        return _Version(made, ErrandTrial("bad_image", error.message, "image"))
    if absent := sorted({*errand.restarts} - healthy.system.services.keys()):
        return _Version(
            made,
            ErrandTrial(
                "bad_image",
                f"The machine runs no service named {', '.join(absent)}: add it.",
                "image",
            ),
        )
    healthy = healthy._replace(exams={INITIAL: made["initial_test"]})
    trial = await try_machine(healthy, errand.answers, sandbox, _is_doubted(before, "image"))
    return _Version(made, trial, healthy)


async def _try_exam(
    machine: Healthy,
    errand: Errand,
    made: dict[Part, str],
    sandbox: Sandbox,
    before: _Version | None,
) -> _Version:
    healthy = machine._replace(exams={**machine.exams, FINAL: made["final_test"]})
    trial = await try_solution(
        healthy, errand, read_commands(made["solution"]), sandbox, _is_doubted(before, "solution")
    )
    return _Version(made, trial, healthy)


def _blame(version: _Version, found: Sequence[Complaint], before: _Version | None) -> _Version:
    """The version with what gates found of it. What mending the test did not help is the
    solution's, and the other way round."""
    if not found:
        return version
    part: Part = "final_test" if found[0].source in _OF_TEST else "solution"
    if before is not None and before.found and before.trial.blamed == part:
        part = "solution" if part == "final_test" else "final_test"
    return replace(
        version, found=tuple(found), trial=version.trial._replace(reason=found[0].code, blamed=part)
    )


def _is_doubted(before: _Version | None, part: Part) -> bool:
    """Whether mending this part did not help already: then what asks it may be at fault."""
    return before is not None and before.trial.blamed == part


def _assemble(
    blueprint: Blueprint, errand: Errand, healthy: Healthy, last: _Version
) -> Environment:
    cell = blueprint.brief.cell
    assert cell is not None
    outfit = Outfit(
        cell=cell,
        errand=errand,
        goals=list(last.trial.goals),
        solution=read_commands(last.made["solution"]),
    )
    told = blueprint.model_dump(
        include={"kind", "rules", "policy_document", "name", "summary", "licence"}
    )
    files = {**write_machine(healthy, BASE), ERRAND: outfit.model_dump_json(indent=1)}
    return Environment(
        entry="machine:Terminal",
        files=files,
        tools=[SHELL],
        brief=blueprint.brief,
        blueprint=blueprint.id,
        origin=blueprint.origin,
        **told,
    )


def read_errand(files: Mapping[str, str]) -> Errand:
    return Errand.model_validate_json(files[ERRAND])


def read_commands(text: str) -> list[str]:
    return [each for each in text.split(BETWEEN) if each.strip()]


BETWEEN = "\n#;\n"
"""Stands between the commands of a solution where it is one text."""


def pose_errand(environment: Environment) -> ScenarioReply:
    """The environment's one errand as a scenario, not yet executed."""
    outfit = Outfit.model_validate_json(environment.files[ERRAND])
    return ScenarioReply(
        initial_state=compose_state(
            environment.files, [], outfit.errand.places, set(outfit.goals), FINAL
        ),
        request=outfit.errand.request,
        oracle=[
            Call(name=SHELL.name, arguments={"command": write_step(each)})
            for each in outfit.solution
        ],
    )
