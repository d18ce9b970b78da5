"""The library's modules that health checks import, compiled and packed into one archive, by a
machine in which nothing was done yet.

Whoever imports from it need not compile them again, nor trust the library that an agent left.
Standard library only.
"""

import importlib
import importlib.util
import io
import marshal
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

LOADED = ("encodings",)
"""Packages that an interpreter loads, from its own folder, before it hears of an archive."""


def pack(names: list[str]) -> bytes:
    """These modules, and all that they import."""
    for name in names:
        importlib.import_module(name)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for place, origin in sorted(_list_sources().items()):
            code = compile(Path(origin).read_bytes(), origin, "exec", dont_inherit=True)
            archive.writestr(
                f"{place}.pyc", importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
            )
    return packed.getvalue()


def _list_sources() -> dict[str, str]:
    """Place in the archive → file. A package that is packed is packed whole: what it lacks there
    would be found nowhere else."""
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)  # not all that stands there is a module
        if spec and spec.origin and spec.origin.endswith(".py"):
            place = name.replace(".", "/")
            found[f"{place}/__init__" if spec.submodule_search_locations else place] = spec.origin
            if spec.submodule_search_locations and "." not in name and name not in LOADED:
                found |= dict(_list_package(name, Path(spec.origin).parent))
    return found


def _list_package(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*.py"):
        inner = path.relative_to(folder).with_suffix("")
        if not {"test", "tests", "__main__"} & set(inner.parts):
            yield f"{name}/{inner.as_posix()}", str(path)


if __name__ == "__main__":
    sys.stdout.buffer.write(pack(sys.argv[1:]))
