"""Equipping: a program that runs gets the atoms of its scenarios, by a bounded repair loop, and the better part of them stays.

environment ─► atoms asked for ─► as they read ─► as they run ─┬─► environment with atoms.json
                    ▲                                          │
                    └───────────── what does not hold ─────────┘ atoms that never hold are left out, if enough are left
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import (
    Repair,
    describe_builds,
    give_up,
    strive,
)
from envmill.kinds.base import BuildResult, PartAuthor
from envmill.kinds.dialogue.atoms import ATOMS, LEAST, find_atom_faults, name_group
from envmill.kinds.dialogue.plan import FILE, read_dialogue
from envmill.kinds.dialogue.posing import Derive, Poser
from envmill.kinds.dialogue.proving import GATE, Bench
from envmill.kinds.dialogue.sides import widen_touches
from envmill.kinds.findings import Finding, drop, keep
from envmill.models.gateway import ModelSession
from envmill.sandbox import Sandbox
from schemas.base import Json
from schemas.dialogue import Repertoire
from schemas.environment import Environment, Fault, Test


@dataclass(frozen=True)
class _Version:
    """One version of a repertoire."""

    repertoire: Repertoire
    complaints: tuple[Complaint, ...]

    @property
    def fault(self) -> Fault:
        return "spec" if self.complaints else "none"

    @property
    def content(self) -> Json:
        return self.repertoire.model_dump(mode="json")


async def equip(
    built: BuildResult, author: PartAuthor, derive: Derive, sandbox: Sandbox, models: ModelSession
) -> BuildResult:
    """What was built, with atoms; dropped where too few hold."""
    environment = next((one for one in built.records if isinstance(one, Environment)), None)
    if environment is None:
        return built
    first, tests = environment, [one for one in built.records if isinstance(one, Test)]
    dialogue = read_dialogue(environment.files)
    widened = await widen_touches(dialogue, environment, tests, sandbox)
    if widened != dialogue:
        environment = _add(environment, FILE, widened.model_dump_json(indent=1))

    async def write(before: _Version | None, repair: Repair, asking: ModelSession) -> _Version:
        repertoire = await author.write_atoms(
            environment, before.repertoire if before else None, repair, asking
        )
        return _Version(
            repertoire, await judge_repertoire(repertoire, environment, derive, sandbox)
        )

    versions = await strive(write, models)
    builds = describe_builds(environment.id, versions)
    for version in reversed([one for one in versions if isinstance(one, _Version)]):
        kept, finding = await _keep_best(version, environment, derive, sandbox)
        if kept is not None:
            return _put(kept, environment, first, built, (*built.findings, finding), builds)
    others = [one for one in built.records if not isinstance(one, Environment | Test)]
    return BuildResult((*others, *builds), (*built.findings, drop(GATE, *give_up(versions))))


async def judge_repertoire(
    repertoire: Repertoire, environment: Environment, derive: Derive, sandbox: Sandbox
) -> tuple[Complaint, ...]:
    """What is wrong with it: as it reads, and if it reads well as it runs."""
    dialogue = read_dialogue(environment.files)
    if faults := find_atom_faults(repertoire, dialogue, environment.tools):
        return tuple(Complaint(GATE, "bad_atoms", fault) for fault in faults)
    return await Poser(Bench(environment, dialogue, repertoire, sandbox), derive).judge()


async def _keep_best(
    version: _Version, environment: Environment, derive: Derive, sandbox: Sandbox
) -> tuple[Repertoire | None, Finding]:
    """It, without the atoms that are complained of, where enough others hold."""
    blamed = {
        atom.id
        for atom in version.repertoire.atoms
        for one in version.complaints
        if f"atom {atom.id} " in one.words
    }
    left = [atom for atom in version.repertoire.atoms if atom.id not in blamed]
    told: Json = {
        "atoms": [atom.id for atom in left],
        "left_out": sorted(blamed),
        "why": [one.words for one in version.complaints],
    }
    if not version.complaints:
        return version.repertoire, keep(GATE, told)
    nothing = drop(GATE, version.complaints[0].code, version.complaints[0].words)
    if not blamed or len({name_group(atom) for atom in left if not atom.unfixable}) < LEAST:
        return None, nothing
    kept = version.repertoire.model_copy(update={"atoms": left})
    again = await judge_repertoire(kept, environment, derive, sandbox)
    return (None, nothing) if again else (kept, keep(GATE, told))


def _put(
    repertoire: Repertoire,
    environment: Environment,
    first: Environment,
    built: BuildResult,
    findings: Sequence[Finding],
    builds: Sequence[object],
) -> BuildResult:
    """The environment with the file, and its tests as tests of that one."""
    equipped = _add(environment, ATOMS, repertoire.model_dump_json(indent=1))
    records = [
        equipped
        if one is first
        else Test.model_validate(
            one.model_dump(mode="json") | {"id": "", "environment": equipped.id}
        )
        if isinstance(one, Test)
        else one
        for one in built.records
    ]
    return replace(built, records=(*records, *builds), findings=tuple(findings))


def _add(environment: Environment, path: str, text: str) -> Environment:
    files = {**environment.files, path: text}
    return Environment.model_validate(
        environment.model_dump(mode="json") | {"id": "", "files": files}
    )
