"""A locked export, written again: the same bytes, or a list of what is missing or other than it
was, and nothing written.

lock ─► versions, runs ─► rows of today, compared ─► the locked ones ─► folders ─► hashes compared ─► written all at once
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from envmill.base.errors import EnvMillError, SettingsError
from envmill.base.settings import Settings
from envmill.interop.exporters import write_outputs
from envmill.interop.exporters.base import ExportSet, OutputFolder, StepCount
from envmill.interop.tokens.tokenizer import ChatTokenizer
from envmill.lake.lake import Lake
from envmill.pipeline.exporting import choose, pack, read_config, read_load
from envmill.pipeline.locking import (
    find_versions,
    hash_rows,
    list_withdrawals,
    lock_folder,
    lock_tokenizer,
    make_encode,
)
from envmill.pipeline.transcripts import add_transcripts
from envmill.stages.export import unite_loads
from schemas.base import Json, canonical_json
from schemas.lock import DataLock, LockedScenario, LockedTokenizer
from schemas.quality import Quarantine
from schemas.rollout import Bundle
from schemas.scenario import Scenario
from schemas.stored import pick

_KINDS = ("environments", "tests", "scenarios", "trajectories", "pairs", "attempts", "transcripts")
_WORDS = {
    "envmill": "EnvMill",
    "verifiers": "the judging code",
    "runtime": "the runtime in the jail",
    "jail": "the code that opens the jail",
    "exporters": "the exporters' code",
}


@dataclass(frozen=True)
class Rebuild:
    """What came of it: folders where nothing is amiss, and otherwise what is."""

    folders: Sequence[OutputFolder] = ()
    problems: Sequence[str] = ()
    remarks: Sequence[str] = ()
    """Other versions that were allowed and changed no byte."""


def rebuild(
    settings: Settings,
    lock: DataLock,
    *,
    other_versions: bool = False,
    chat: ChatTokenizer | None = None,
) -> Rebuild:
    """Pack the locked rows again and compare every file."""
    if problems := list(compare_tokenizers(lock.tokenizer, lock_tokenizer(chat))):
        return Rebuild(problems=problems)
    if chat and lock.tokenizer:
        # Manifests have the name of its folder, which may have moved.
        chat = replace(chat, name=lock.tokenizer.name)
    lake = Lake(settings.lake)
    versions = list(_compare_versions(lock))
    broken = [*_compare_runs(lake, lock)]
    if broken or (versions and not other_versions):
        return Rebuild(problems=[*versions, *broken])
    try:
        whole = unite_loads([read_load(lake, run) for run in lock.runs]).export_set
        if lock.options.attempts:
            whole = add_transcripts(lake, {run: read_config(lake, run) for run in lock.runs}, whole)
        export_set, stays = _choose_again(settings, lock)
    except (EnvMillError, ValidationError) as error:
        return Rebuild(problems=[*versions, *_name_withdrawn(lake, lock), _describe_error(error)])
    rows = list(_compare_rows(lake, lock, whole, export_set, stays))
    if rows:
        return Rebuild(problems=[*versions, *rows])
    try:
        folders = pack(_restrict(export_set, lock), lock.options, chat and make_encode(chat))
    except EnvMillError as error:
        return Rebuild(problems=[*versions, error.message])
    files = list(_compare_files(lock, folders))
    return Rebuild(problems=[*versions, *files]) if files else Rebuild(folders, remarks=versions)


def write_rebuilt(folders: Sequence[OutputFolder], folder: Path) -> list[Bundle]:
    """All of it appears at once; a folder of that name must not be there yet."""
    if folder.exists():
        raise SettingsError(
            f"{folder} exists already. Name a folder that does not, or remove it first."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}-{uuid4().hex}")
    try:
        bundles = write_outputs(folders, part, str(folder.resolve()))
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return bundles


def _compare_versions(lock: DataLock) -> Iterator[str]:
    now = find_versions()
    for name, words in _WORDS.items():
        then, here = getattr(lock.versions, name), getattr(now, name)
        if then != here:
            yield f"{words} is of another version: {here} here, {then} in the lock"
    for name, then in lock.versions.libraries.items():
        if now.libraries.get(name) != then:
            yield (
                f"{name} is of another version: {now.libraries.get(name)} here, {then} in the lock"
            )


def compare_tokenizers(then: LockedTokenizer | None, now: LockedTokenizer | None) -> Iterator[str]:
    """Whether rows get the token ids that they had: the same files, templates and arguments. The
    folder's name is no matter."""
    if then is None and now is not None:
        yield "the rows of the lock have no token ids: leave --tokenizer out"
    if then is not None and now is None:
        yield "the rows of the lock have token ids: name their tokenizer with --tokenizer"
    if then is None or now is None:
        return
    for name in sorted(then.files.keys() | now.files.keys()):
        if then.files.get(name) != now.files.get(name):
            yield f"{name} of the tokenizer is another one than in the lock"
    if then.templates != now.templates:
        yield "the chat template is another one than in the lock"
    if then.template_args != now.template_args:
        yield (
            f"the chat template gets {canonical_json(now.template_args)}, and "
            f"{canonical_json(then.template_args)} in the lock"
        )


def read_arguments(lock: DataLock) -> dict[str, Json]:
    """Variables that the lock's chat template was rendered with."""
    return lock.tokenizer.template_args if lock.tokenizer else {}


def _compare_runs(lake: Lake, lock: DataLock) -> Iterator[str]:
    known = {*lake.runs()}
    for run, config in lock.runs.items():
        if run not in known:
            yield f"run {run} is not in {lake.url}"
        elif (now := read_config(lake, run).model_dump(mode="json")) != config:
            other = sorted(
                name for name in now.keys() | config.keys() if now.get(name) != config.get(name)
            )
            yield f"run {run} has other settings than it had: {', '.join(other)}"


def _choose_again(settings: Settings, lock: DataLock) -> tuple[ExportSet, Mapping[str, str]]:
    """What the same options choose today, and why the rest stays."""
    with tempfile.TemporaryDirectory() as folder:
        terms = Path(folder) / "terms.toml" if lock.terms is not None else None
        if terms:
            terms.write_text(lock.terms or "", encoding="utf-8")
        held = replace(settings, terms=None)
        chosen = choose(held, list(lock.runs), lock.options, terms, _ignore, _ignore)
    return chosen.export_set, chosen.stays


def _ignore(text: str) -> None:
    """What stays is told only of rows that the lock has."""


def _compare_rows(
    lake: Lake, lock: DataLock, whole: ExportSet, export_set: ExportSet, stays: Mapping[str, str]
) -> Iterator[str]:
    """Every locked row that is missing, changed, or may not leave any more."""
    there, leaving = hash_rows(whole), hash_rows(export_set)
    gone = list_withdrawals(lake)
    aside = {one.row: one.promise for run in lock.runs for one in lake.read(Quarantine, run)}
    for kind in _KINDS:
        locked: Mapping[str, Any] = getattr(lock, kind)
        for name, then in locked.items():
            what = f"{kind.removesuffix('s') if kind != 'trajectories' else 'trajectory'} {name}"
            home = then.environment if isinstance(then, LockedScenario) else ""
            if why := gone.get(name) or gone.get(home):
                yield f"{what} was withdrawn since: {why}"
            elif name in aside:
                yield f"{what} was set aside since: {aside[name]}"
            elif name not in there[kind]:
                yield (
                    f"{what} is not in the lake: "
                    f"{_find_successor(lake, lock, name) or 'a file was lost, or its step was made again'}"
                )
            elif name not in leaving[kind]:
                yield (
                    f"{what} may not leave any more: "
                    f"{stays.get(name, 'its scenario stays, or its terms changed')}"
                )
            elif leaving[kind][name] != then:
                yield f"{what} was changed: {_name_fields(then, leaving[kind][name])}"


def _find_successor(lake: Lake, lock: DataLock, name: str) -> str:
    """A scenario that was built of the same draft, whatever came of it."""
    if name not in lock.scenarios:
        return ""
    built = (one for run in lock.runs for one in lake.read(Scenario, run))
    other = next((one for one in built if one.draft == lock.scenarios[name].draft), None)
    return f"its draft has scenario {other.id} now, with another verifier" if other else ""


def _name_fields(then: Json, now: Json) -> str:
    if not isinstance(then, LockedScenario):
        return "its content is another one"
    other = [
        name for name in LockedScenario.model_fields if getattr(then, name) != getattr(now, name)
    ]
    return f"its {', '.join(other)} is another one"


def _name_withdrawn(lake: Lake, lock: DataLock) -> Iterator[str]:
    gone = list_withdrawals(lake)
    for name, one in lock.scenarios.items():
        if why := gone.get(name) or gone.get(one.environment):
            yield f"scenario {name} was withdrawn since: {why}"


def _describe_error(error: EnvMillError | ValidationError) -> str:
    if isinstance(error, EnvMillError):
        return error.message
    return f"a row of the lake was changed: {error.errors()[0]['msg']}"


def _restrict(export_set: ExportSet, lock: DataLock) -> ExportSet:
    """The locked rows alone: what the runs got since is no part of it."""
    rows = {kind: pick(getattr(export_set, kind), getattr(lock, kind)) for kind in _KINDS}
    return replace(
        export_set, **rows, counts=tuple(StepCount(**one.model_dump()) for one in lock.steps)
    )


def _compare_files(lock: DataLock, folders: Sequence[OutputFolder]) -> Iterator[str]:
    then = {
        f"{one.name}/{name}": found for one in lock.folders for name, found in one.files.items()
    }
    now = {
        f"{one.name}/{name}": found
        for one in map(lock_folder, folders)
        for name, found in one.files.items()
    }
    for name in sorted(then.keys() | now.keys()):
        if name not in now:
            yield f"file {name} is not written any more"
        elif name not in then:
            yield f"file {name} is not in the lock"
        elif then[name] != now[name]:
            yield f"file {name} has other bytes"


def list_changed_options(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """Options of two locks that differ, in words."""
    names = sorted(before.keys() | after.keys())
    return [
        f"{name}: {canonical_json(before.get(name))} became {canonical_json(after.get(name))}"
        for name in names
        if before.get(name) != after.get(name)
    ]
