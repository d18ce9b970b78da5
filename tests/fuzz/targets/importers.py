"""Releases of others: an importer gives folders and remarks or refuses the whole in words; what it
gives can be reported and written."""

import asyncio
import json
import shutil
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

from envmill.base.errors import EnvMillError, SettingsError
from envmill.base.settings import Settings
from envmill.interop.bundles import write_folder
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import drop_unreadable, is_folder_name
from envmill.sandbox import Sandbox
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator
from tests.fuzz.targets.trees import SECRET, Files, make_tree, read_files, write_tree
from tests.interop.harbor.machines import make_tree as make_harbor
from tests.interop.importers import awm_rows, release, test_envfactory, test_machines
from tests.interop.importers.tau2 import vectors

NOBODY = cast(Sandbox, None)
"""Importers of machines run nothing."""
OF_PROGRAMS = ("envscaler", "awm", "envfactory", "tau2")


class ImportersTarget(Target):
    """Every importer, and a jail for those that run programs."""

    def __init__(self) -> None:
        self._releases = _make_releases()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: AbstractAsyncContextManager[Sandbox] | None = None
        self._sandbox: Sandbox | None = None

    def make(self, mutator: Mutator) -> bytes:
        system = mutator.rng.choice(list(self._releases))
        return system.encode() + b"\n" + make_tree(mutator, self._releases[system])

    def play(self, content: bytes) -> str:
        system, _, tree = content.partition(b"\n")
        home = Path(tempfile.mkdtemp())
        self._loop = self._loop or asyncio.new_event_loop()
        try:
            (home / "release").mkdir()
            write_tree(tree, home / "release")
            return (
                f"{system.decode()} "
                f"{self._loop.run_until_complete(self._bring(system.decode(), home))}"
            )
        finally:
            shutil.rmtree(home)

    def close(self) -> None:
        if self._loop:
            if self._opening:
                self._loop.run_until_complete(self._opening.__aexit__(None, None, None))
            self._loop.close()

    async def _bring(self, system: str, home: Path) -> str:
        sandbox = await self._open() if system in OF_PROGRAMS else NOBODY
        try:
            harvest = await IMPORTERS[system](home / "release", sandbox)
        except SettingsError as error:
            return _refused(error)
        report = json.dumps(harvest.report(system), ensure_ascii=False, allow_nan=False).encode()
        if SECRET.encode() in report or b"root:x:0" in report:
            raise BrokenPromise("it read a file outside of the folder")
        for name, folder in harvest.folders.items():
            if not is_folder_name(name):
                raise BrokenPromise(f"a folder named {name!r}")
            write_folder(home / "out" / name, folder)
        mapped = len(harvest.folders)
        # What an importer should have refused itself is counted: the command leaves it out.
        drop_unreadable(harvest)
        return (
            "unreadable"
            if len(harvest.folders) < mapped
            else "mapped"
            if mapped
            else "mapped nothing"
        )

    async def _open(self) -> Sandbox:
        if self._sandbox is None:
            self._opening = Sandbox.open(
                Settings.read({"ENVMILL_HOME": tempfile.mkdtemp()}), drivers=1
            )
            self._sandbox = await self._opening.__aenter__()
        return self._sandbox


def _refused(error: EnvMillError) -> str:
    if SECRET in error.message:
        raise BrokenPromise("it read a file outside of the folder")
    return "refused"


def _make_releases() -> dict[str, Files]:
    home = Path(tempfile.mkdtemp())
    try:
        release.write_release(
            home / "envscaler", release.make_environments(), [release.make_scenario()]
        )
        awm_rows.write_release(home / "awm", awm_rows.make_release())
        test_envfactory.write_release(home / "envfactory")
        shutil.copytree(vectors.RELEASE / "mock", home / "tau2" / "mock")
        tasks = home / "tau2" / "mock" / "tasks.json"
        told = json.loads(tasks.read_text())
        tasks.write_text(json.dumps([told[4], told[5], told[8]]))
        found = {system: read_files(home / system) for system in OF_PROGRAMS}
    finally:
        shutil.rmtree(home)
    ours = {path: file.content for path, file in make_harbor().files.items()}
    theirs, endless = (
        {path: text.encode() for path, text in files.items()}
        for files in (test_machines.FOREIGN, test_machines.ENDLESS)
    )
    return (
        found
        | {"harbor": ours, "endless": endless}
        | {"harbor": theirs | ours if len(ours) < 10 else ours}
    )


def open_target() -> Target:
    return ImportersTarget()
