"""A lock: one file with all that decides an export's bytes, so that the same bytes can be written
again, and a difference explained.

runs, options ─► selection ─► folders ─► hashes ─┐
settings, models, prompts, versions ─────────────┴─► lock
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import orjson
import pyarrow.parquet as parquet
from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT, Settings
from envmill.base.version import __version__
from envmill.interop.exporters.base import AttemptTranscript, ExportSet, OutputFolder, ScoredAttempt
from envmill.interop.exporters.contents import Content, digest_content, read_content
from envmill.interop.tokens.sheet import encode_export_set
from envmill.interop.tokens.tokenizer import ChatTokenizer
from envmill.lake.lake import Lake
from envmill.lake.sql import ask
from envmill.pipeline.exporting import Encode, Selection, Tell, choose, pack, read_config
from envmill.runtime import jail
from envmill.sandbox.vendor import list_runtime
from envmill.stages.export import describe_mixed
from envmill.stages.review import latest_judgements
from envmill.verifiers.version import find_verifier_version, hash_files
from schemas.base import Json, Record, canonical_json
from schemas.lock import (
    DataLock,
    ExportOptions,
    LockedFolder,
    LockedModel,
    LockedScenario,
    LockedStep,
    LockedTokenizer,
    LockedVersions,
)
from schemas.quality import Withdrawal

FORM = 1
"""Version of the file's form."""
_LIBRARIES = ("orjson", "pyarrow")
"""They write JSON and Parquet."""
_ROW_IDS = ("pair", "trajectory", "scenario", "environment")
"""Columns that name a row; the first that a file has."""


def make_lock(
    settings: Settings,
    runs: Sequence[str],
    options: ExportOptions,
    terms: Path | None,
    tell: Tell,
    err: Tell,
    chat: ChatTokenizer | None = None,
) -> DataLock:
    """The lock of an export that is not written. SettingsError where nothing leaves, or where
    verifiers of several versions judged."""
    lake = Lake(settings.lake)
    selection = choose(settings, runs, options, terms, tell, err)
    export_set = selection.export_set
    folders = pack(export_set, options, chat and make_encode(chat))
    if not folders:
        raise SettingsError(f"{', '.join(runs)} kept nothing that can be locked.")
    held = terms or settings.terms
    return DataLock(
        lock=FORM,
        versions=find_versions(),
        runs={run: read_config(lake, run).model_dump(mode="json") for run in runs},
        options=options,
        tokenizer=lock_tokenizer(chat),
        terms=held.read_text(encoding="utf-8") if held else None,
        **hash_rows(export_set),
        judged_by=_require_one_version(export_set),
        models=_list_models(lake, runs),
        prompts=_list_prompts(lake, runs),
        stays=_list_dropped(lake, runs) | dict(selection.stays),
        withdrawn=_list_withdrawn(lake, runs, selection),
        steps=[LockedStep(**asdict(one)) for one in export_set.counts],
        folders=[lock_folder(one) for one in folders],
    )


def lock_tokenizer(chat: ChatTokenizer | None) -> LockedTokenizer | None:
    """What decides the ids that it gives."""
    return LockedTokenizer.model_validate(chat.describe()) if chat else None


def make_encode(chat: ChatTokenizer) -> Encode:
    """What gives rows token ids; the rows that have none are in the manifests."""
    return lambda export_set, name: encode_export_set(export_set, chat, name)


def render_lock(lock: DataLock) -> bytes:
    return orjson.dumps(
        lock.model_dump(mode="json"),
        option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE,
    )


def read_lock(path: Path) -> DataLock:
    """SettingsError for a file that is none."""
    try:
        told: Json = orjson.loads(path.read_bytes())
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read ({error}). Name a file that `envmill lock` wrote."
        ) from error
    except orjson.JSONDecodeError as error:
        raise SettingsError(
            f"{path} is not JSON ({error}). Name a file that `envmill lock` wrote."
        ) from error
    form = told.get("lock") if isinstance(told, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    if form != FORM:
        raise SettingsError(
            f"{path} is a lock of form {form!r}, and this version of EnvMill reads {FORM}."
        )
    try:
        return DataLock.model_validate(told)
    except ValidationError as error:
        fault = error.errors()[0]
        raise SettingsError(
            f"{path} is not a lock: {'.'.join(map(str, fault['loc']))}: {fault['msg']}."
        ) from error


def find_versions() -> LockedVersions:
    """Of the code that runs here."""
    return LockedVersions(
        envmill=__version__,
        verifiers=find_verifier_version(),
        runtime=hash_files(list_runtime()),
        jail=hash_files(
            _read_code("envmill/sandbox", str(Path(jail.__file__).parent.relative_to(ROOT)))
        ),
        exporters=hash_files(_read_code("envmill/interop")),
        libraries={name: metadata.version(name) for name in _LIBRARIES},
    )


def hash_rows(export_set: ExportSet) -> dict[str, Any]:
    """Fields of a lock: each record that leaves, with the hash of its content."""
    return {
        "environments": {one.id: hash_record(one) for one in export_set.environments},
        "tests": {one.id: hash_record(one) for one in export_set.tests},
        "scenarios": {
            one.id: LockedScenario(
                content=hash_record(one),
                verifier=_hash(one.verifier.model_dump(mode="json")),
                draft=one.draft,
                environment=one.environment,
                split=one.split,
                tier="suspected" if one.id in export_set.suspected else "clean",
            )
            for one in export_set.scenarios
        },
        "trajectories": {one.id: hash_record(one) for one in export_set.trajectories},
        "pairs": {one.id: hash_record(one) for one in export_set.pairs},
        "transcripts": {one.id: hash_record(one) for one in export_set.transcripts},
        "attempts": {
            one.id: hash_record(one)
            for one in export_set.attempts
            if one.scenario in export_set.splits
        },
    }


def hash_record(one: Record | ScoredAttempt | AttemptTranscript) -> str:
    return _hash(one.model_dump(mode="json") if isinstance(one, Record) else asdict(one))


def lock_folder(folder: OutputFolder) -> LockedFolder:
    """The files and those beside them: all that is written."""
    files: dict[str, Content] = {**folder.files, **folder.staged, **folder.beside}
    return LockedFolder(
        name=folder.name,
        exporter=folder.exporter,
        rows=folder.rows,
        files={name: digest_content(files[name], sha256()) for name in sorted(files)},
        order={
            name: ids
            for name, content in sorted(files.items())
            if (ids := _list_ids(name, content))
        },
    )


def _hash(value: Json) -> str:
    return sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _read_code(*folders: str) -> dict[str, bytes]:
    paths = (path for folder in folders for path in sorted(ROOT.joinpath(folder).rglob("*")))
    return {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    }


def _list_ids(name: str, content: Content) -> list[str]:
    """Ids of a Parquet file's rows. JSON Lines have the order of the Parquet file beside them."""
    if not name.endswith(".parquet"):
        return []
    with TemporaryFile() as file:
        file.writelines(read_content(content))
        file.seek(0)
        columns = set(parquet.read_schema(file).names)
        key = next((one for one in _ROW_IDS if one in columns), "")
        form = ("form",) if key == "scenario" and "form" in columns else ()
        wanted = [key, *form] if key else []
        table = parquet.read_table(file, columns=wanted)
    return [
        " ".join(map(str, row))
        for row in zip(*(table[one].to_pylist() for one in wanted), strict=True)
    ]


def _require_one_version(export_set: ExportSet) -> dict[str, int]:
    """Of all rollouts that rows rest on."""
    attempts = {
        one.id: one.verifier_version
        for one in export_set.attempts
        if one.scenario in export_set.splits and one.reward is not None
    }
    acted = {one.rollout for one in export_set.trajectories} | {
        name for one in export_set.pairs for name in (one.chosen, one.rejected)
    }
    found = attempts | {name: export_set.judged_by.get(name, "") for name in acted}
    versions = dict(sorted(Counter(found.values()).items()))
    if len(versions) > 1:
        raise SettingsError(f"{describe_mixed(versions)}.")
    return versions


def _list_models(lake: Lake, runs: Sequence[str]) -> list[LockedModel]:
    question = """select distinct role, provider || case when model in ('', provider) then '' else ':' || model end, served_model
                  from model_calls where list_contains(?, run) order by all"""
    return [
        LockedModel(role=role, model=model, served=served)
        for role, model, served in _ask(lake, question, runs)
    ]


def _list_prompts(lake: Lake, runs: Sequence[str]) -> dict[str, list[str]]:
    question = """select prompt, list(distinct prompt_hash order by prompt_hash) from model_calls
                  where list_contains(?, run) group by prompt order by prompt"""
    return {str(prompt): list(hashes) for prompt, hashes in _ask(lake, question, runs)}


def _list_dropped(lake: Lake, runs: Sequence[str]) -> dict[str, str]:
    """Scenarios and drafts that a gate dropped, as far as their last attempt goes."""
    question = """select subject, arg_max(outcome, try_number), arg_max(stage || ': ' || reason, try_number) from attrition
                  where list_contains(?, run) and lap = 'scenarios' and gate = 'exit' group by run, stage, subject order by all"""
    return {
        str(subject): f"dropped in {why}"
        for subject, outcome, why in _ask(lake, question, runs)
        if outcome == "dropped"
    }


def list_withdrawals(lake: Lake) -> dict[str, str]:
    """What was withdrawn or rejected, in whatever run → why."""
    rejected = {
        one.subject: f"rejected by {one.reviewer}: {one.note}"
        for one in latest_judgements(lake).values()
        if one.judgement == "reject"
    }
    return rejected | {
        one.subject: one.reason
        for run in lake.runs_with(Withdrawal)
        for one in lake.read(Withdrawal, run)
    }


def _list_withdrawn(lake: Lake, runs: Sequence[str], selection: Selection) -> dict[str, str]:
    """Of these runs, and of what they rest on in others."""
    found = list_withdrawals(lake)
    question = "select distinct id from {} where list_contains(?, run)"
    tables = ("environments", "scenarios", "trajectories", "pairs") if found else ()
    known = {
        str(name) for table in tables for (name,) in _ask(lake, question.format(table), runs)
    } | {*selection.stays}
    return {name: why for name, why in sorted(found.items()) if name in known}


def _ask(lake: Lake, question: str, runs: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    with ask(lake, question, [list(runs)]) as answer:
        yield from answer.rows()


def describe_counts(lock: DataLock) -> Mapping[str, int]:
    """How much is in it, for people."""
    names = ("environments", "scenarios", "trajectories", "pairs", "attempts")
    return {name: len(getattr(lock, name)) for name in names} | {
        "files": sum(len(one.files) for one in lock.folders)
    }
