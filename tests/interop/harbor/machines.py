"""One machine, broken in a known way, as a Harbor folder in memory and on disk."""

from pathlib import Path

from envmill.interop.exporters import ExportSet
from envmill.interop.harbor.tree import FolderFile, Tree
from envmill.interop.harbor.writing import write_task
from tests.kinds.terminals import break_system, make_environment, make_scenario

SHARE = make_environment()
BROKEN = make_scenario(SHARE, break_system(), {"posts"})
EXPORT_SET = ExportSet(environments=(SHARE,), scenarios=(BROKEN,))


def make_tree(**changes: str | None) -> Tree:
    """The folder; a file is replaced, added, or left out, its name written with `__` for `/`."""
    files = {
        path: FolderFile(content)
        for path, content in write_task(SHARE, BROKEN, {}, "EnvMill canary").items()
    }
    for name, text in changes.items():
        path = name.replace("__", "/").replace("_DOT_", ".")
        files.pop(path, None)
        if text is not None:
            files[path] = FolderFile(text.encode())
    return Tree("scn", files)


def write_tree(root: Path, tree: Tree) -> Path:
    for path, leaf in tree.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(leaf.content)
        (root / path).chmod(0o755 if leaf.executable else 0o644)
    return root
