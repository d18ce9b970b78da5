"""Documents that describe tools: sketches and remarks come out, or a refusal in words, whatever
they refer to."""

import json
import shutil
import tempfile
from pathlib import Path

import yaml

from envmill.base.errors import SettingsError
from envmill.interop.importers.tools import TOOL_LISTS
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator
from tests.fuzz.targets.trees import SECRET, Files, make_tree, write_tree
from tests.interop.importers.test_tool_lists import NEW, OLD, PETS, TOOLS

DOCUMENTS: dict[str, Files] = {
    "openapi": {
        "pets.json": json.dumps(yaml.safe_load(PETS), default=str).encode(),
        "pets.yaml": PETS.encode(),
        "old.json": json.dumps(OLD).encode(),
        "new.json": json.dumps(NEW).encode(),
    },
    "mcp": {"tools.json": json.dumps(TOOLS).encode()},
}


class ToolListsTarget(Target):
    """Readers of documents; that of botocore reads an installed package and no document."""

    def make(self, mutator: Mutator) -> bytes:
        reader = mutator.rng.choice(list(DOCUMENTS))
        return reader.encode() + b"\n" + make_tree(mutator, DOCUMENTS[reader])

    def play(self, content: bytes) -> str:
        reader, _, tree = content.partition(b"\n")
        home = Path(tempfile.mkdtemp())
        try:
            (home / "documents").mkdir()
            write_tree(tree, home / "documents")
            harvest = TOOL_LISTS[reader.decode()]([str(home / "documents")])
        except SettingsError:
            return "refused"
        finally:
            shutil.rmtree(home)
        told = json.dumps(
            [vars(remark) for remark in harvest.remarks], ensure_ascii=False, allow_nan=False
        ).encode()
        told += b"".join(sketch.model_dump_json().encode() for sketch in harvest.sketches)
        if SECRET.encode() in told or b"root:x:0" in told:
            raise BrokenPromise("it read a file outside of the folder")
        if len({sketch.name for sketch in harvest.sketches}) < len(harvest.sketches):
            raise BrokenPromise("two tools of one name")
        return "mapped" if harvest.sketches else "mapped nothing"


def open_target() -> Target:
    return ToolListsTarget()
