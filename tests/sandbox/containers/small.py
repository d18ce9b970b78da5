"""A small image out of this machine's own programs: bash and the tools that commands in tests use.
Made in a moment."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from envmill.sandbox.containers.image import CachedImage

_PROGRAMS = (
    "bash", "cat", "chmod", "dd", "env", "head", "id", "ln", "ls", "mkdir", "mkfifo", "mv", "rm", "seq", "setsid", "sleep", "stat",
    "tail", "touch", "tr", "true", "yes",
)  # fmt: skip
_TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/bash\n"
    "nobody:x:65534:65534::/:/bin/bash\n",
    "etc/group": "root:x:0:\nada:x:1000:\ntty:x:5:\nnogroup:x:65534:\n",
    "etc/motd": "calm\n",
}
_FOLDERS = (
    "proc",
    "dev",
    "run",
    "tmp",
    "root",
    "etc",
    "home",
    "home/ada",
    "bin",
    "lib",
    "lib64",
    "mnt",
    "var",
)


def make_small(folder: Path) -> CachedImage:
    """In a folder of its own."""
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    with tarfile.open(
        folder / "root.tar.gz", "w:gz", compresslevel=1, format=tarfile.PAX_FORMAT
    ) as archive:
        for name in _FOLDERS:
            _add(
                archive,
                name,
                0o1777 if name == "tmp" else 0o755,
                kind=tarfile.DIRTYPE,
                owner=1000 if name == "home/ada" else 0,
            )
        for name, text in _TEXTS.items():
            _add(archive, name, 0o644, text.encode())
        for path in sorted(Path("/usr/lib/locale/C.utf8").rglob("*")):
            if path.is_file():
                _add(archive, str(path).lstrip("/"), 0o644, path.read_bytes())
        programs = [Path(shutil.which(name) or f"/bin/{name}") for name in _PROGRAMS]
        for path in programs:
            _add(archive, f"bin/{path.name}", 0o755, path.read_bytes())
        _add(archive, "bin/sh", 0o777, kind=tarfile.SYMTYPE, target="bash")
        for path in sorted(
            {library for program in programs for library in _list_libraries(program)}
        ):
            _add(archive, str(path).lstrip("/").removeprefix("usr/"), 0o755, path.read_bytes())
    digest = hashlib.sha256((folder / "root.tar.gz").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({"digest": digest, "packages": {}}))
    return CachedImage(folder, digest, {})


def _list_libraries(program: Path) -> list[Path]:
    told = subprocess.run(
        ["ldd", str(program)], capture_output=True, text=True, check=False, timeout=30
    ).stdout
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", told)]


def _add(
    archive: tarfile.TarFile,
    name: str,
    mode: int,
    content: bytes = b"",
    kind: bytes = tarfile.REGTYPE,
    owner: int = 0,
    target: str = "",
) -> None:
    entry = tarfile.TarInfo(f"./{name}")
    entry.mode, entry.type, entry.size, entry.uid, entry.gid, entry.linkname = (
        mode,
        kind,
        len(content),
        owner,
        owner,
        target,
    )
    archive.addfile(entry, io.BytesIO(content))
