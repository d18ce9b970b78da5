"""Exported folders of strangers: the factory's reader and the one in a folder read them or refuse
them in words, and show nothing else."""

import json
import shutil
import tempfile
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.interop.bundles import read_folder
from envmill.interop.bundles.envrun import JudgeError
from envmill.interop.bundles.envrun import open as open_folder
from envmill.interop.bundles.envrun.files import FolderError
from envmill.interop.bundles.folder import Folder
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator
from tests.fuzz.targets.trees import SECRET, make_tree, read_files, write_tree
from tests.specimens import make_environment, make_scenario, make_tests


class FoldersTarget(Target):
    """Two readers."""

    def __init__(self) -> None:
        shed = make_environment()
        with tempfile.TemporaryDirectory() as home:
            output = pack_environment(shed, [make_scenario(shed)], make_tests(shed))
            write_output(output, Path(home), "r")
            whole = read_files(Path(home) / output.name)
        # Without digests, or nearly every change would end there; the code in the folder is not
        # read by anybody.
        self._files = {
            path: content
            for path, content in whole.items()
            if path != "SHA256SUMS" and not (path.startswith("envrun/") and path.endswith(".py"))
        }

    def make(self, mutator: Mutator) -> bytes:
        return make_tree(mutator, self._files)

    def play(self, content: bytes) -> str:
        home = Path(tempfile.mkdtemp())
        try:
            (home / "folder").mkdir()
            write_tree(content, home / "folder")
            return f"{_read_in_the_factory(home / 'folder')}, {_read_beside(home / 'folder')}"
        finally:
            shutil.rmtree(home)


def _read_in_the_factory(folder: Path) -> str:
    try:
        read: Folder = read_folder(folder)
    except SettingsError as error:
        return _refused(error.message)
    for each in (read.environment, *read.scenarios):
        _demand_no_secret(each.model_dump_json())
    _demand_no_secret(json.dumps(read.states))
    return "read"


def _read_beside(folder: Path) -> str:
    try:
        with open_folder(folder) as bundle:
            bundle.tools()
            bundle.read_start()
            for name in bundle.list_scenarios():
                _demand_no_secret(json.dumps(bundle.read_scenario(name), default=str))
                bundle.find_id(name)
                bundle._read_verifier(name)  # pyright: ignore[reportPrivateUsage]
    except (FolderError, JudgeError) as error:
        return _refused(str(error))
    return "read"


def _refused(words: str) -> str:
    _demand_no_secret(words)
    if not all(sign.isprintable() or sign == "\n" for sign in words):
        raise BrokenPromise("a complaint that a terminal would obey")
    return "refused"


def _demand_no_secret(text: str) -> None:
    if SECRET in text or "root:x:0" in text:
        raise BrokenPromise("it read a file outside of the folder")


def open_target() -> Target:
    return FoldersTarget()
