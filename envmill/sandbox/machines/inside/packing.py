"""The library's modules that health checks import, compiled and packed into one archive, by a machine in which nothing was done yet.

Whoever imports from it need not compile them again, nor trust the library that an agent left. Standard library only.
"""

import importlib
import importlib.util
import io
import marshal
import sys
import zipfile
from pathlib import Path


def pack(names: list[str]) -> bytes:
    """These modules, and all that they import."""
    for name in names:
        importlib.import_module(name)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, module in sorted(sys.modules.items()):
            spec = getattr(module, "__spec__", None)  # not all that stands there is a module
            if spec and spec.origin and spec.origin.endswith(".py"):
                code = compile(Path(spec.origin).read_bytes(), spec.origin, "exec", dont_inherit=True)
                place = name.replace(".", "/") + ("/__init__" if spec.submodule_search_locations else "")
                archive.writestr(f"{place}.pyc", importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    return packed.getvalue()


if __name__ == "__main__":
    sys.stdout.buffer.write(pack(sys.argv[1:]))
