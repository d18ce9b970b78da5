"""Images: a root file system as one tarball with its digest, and unpacked trees of it that
containers read and never write.

packages.txt ──debootstrap──┐
reference ──docker export───┴─► IMAGES/base-<what it is made of>/{root.tar.gz, manifest.json} ──unpack──► tree-<owner>/
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT

PACKAGES = ROOT / "data/seeds/base/packages.txt"
SUITE = "bookworm"
EPOCH = 1767225600
"""The one date of all files in a tarball, so that the same packages make the same bytes:
2026-01-01."""
_VOLATILE = (
    "var/cache/apt/*", "var/lib/apt/lists/*", "var/log/*", "var/cache/ldconfig/*", "var/cache/debconf/*-old", "var/lib/dpkg/*-old",
    "etc/*-", "etc/machine-id", "etc/hostname", "etc/resolv.conf", "tmp/*", "dev/*", "proc/*", "sys/*", "run/*",
)  # fmt: skip
"""What differs from one build to the next and says nothing about the image."""
_TAR = (
    "tar", "--create", "--sort=name", f"--mtime=@{EPOCH}", "--numeric-owner", "--format=pax",
    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
)  # fmt: skip
_BUILD_SECONDS = 3600


@dataclass(frozen=True)
class CachedImage:
    """An image in the cache."""

    folder: Path
    digest: str
    """SHA-256 of the tarball before compression."""
    packages: dict[str, str] = field(repr=False)
    """Name → version; empty where the image was not made by us."""

    @property
    def tarball(self) -> Path:
        return self.folder / "root.tar.gz"

    def unpack(self, shift: int) -> Path:
        """The tree whose files belong to `shift` + their owner's number; made once. Negative: to
        this user, all of them."""
        tree = self.folder / (f"tree-{shift}" if shift >= 0 else f"tree-of-{os.geteuid()}")
        with _hold(self.folder / "lock"):
            if not tree.is_dir():
                _unpack(self.tarball, tree, shift)
        return tree


def find_base(images: Path, packages: Path = PACKAGES) -> CachedImage:
    """The base image made from the tracked package list."""
    return _read(images / f"base-{_name(packages)}")


def build_base(images: Path, packages: Path = PACKAGES) -> CachedImage:
    """Debian with those packages, by debootstrap, from Debian's own archive alone. As root; about
    three minutes."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise SandboxError(
            "The base image is made by root with debootstrap (on Debian or Ubuntu: apt-get "
            "install debootstrap)."
        )
    with _build_in(images / f"base-{_name(packages)}") as folder:
        root = folder / "root"
        words = [
            "debootstrap",
            "--variant=minbase",
            f"--include={','.join(list_packages(packages))}",
            SUITE,
            str(root),
        ]
        _run(words, "debootstrap")
        found = _run(
            ["dpkg-query", f"--root={root}", "--show", "--showformat=${Package}\t${Version}\n"],
            "dpkg-query",
        )
        _strip(root)
        versions = dict(line.split("\t") for line in found.splitlines())
        _seal(folder, ["--directory", str(root), "."], {"suite": SUITE, "packages": versions})
    return _read(images / f"base-{_name(packages)}")


def import_base(images: Path, tarball: Path, source: str, packages: Path = PACKAGES) -> CachedImage:
    """Take the root file system that a registry's image holds, as `docker export` writes it, for
    the base."""
    with _build_in(images / f"base-{_name(packages)}") as folder:
        with (folder / "root.tar.gz").open("wb") as packed:
            subprocess.run(
                ["gzip", "-1", "--no-name", "--stdout", str(tarball)],
                stdout=packed,
                check=True,
                timeout=_BUILD_SECONDS,
            )
        _write_manifest(folder, _digest(tarball), {"source": source, "packages": {}})
    return _read(images / f"base-{_name(packages)}")


def list_packages(path: Path = PACKAGES) -> list[str]:
    """Names in a list of packages: one a line, what follows a # is its reason."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    names = [line for line in lines if line]
    if wrong := [name for name in names if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name)]:
        raise SandboxError(
            f"{path}: {wrong[0]!r} is no name of a Debian package; write one a line, its reason "
            "behind a #."
        )
    return names


def _name(packages: Path) -> str:
    """Two lists that name the same packages are one image."""
    return hashlib.sha256(
        "\n".join([SUITE, *sorted(list_packages(packages))]).encode()
    ).hexdigest()[:12]


def _read(folder: Path) -> CachedImage:
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        raise SandboxError(
            f"There is no base image in {folder.parent}: `envmill base` makes it, or "
            "ENVMILL_IMAGES names where it is."
        )
    read = json.loads(manifest.read_text(encoding="utf-8"))
    return CachedImage(folder, read["digest"], read["packages"])


@contextlib.contextmanager
def _build_in(target: Path) -> Generator[Path]:
    """A folder that becomes the target once it is whole; an image that was there is replaced, its
    trees with it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".building-", dir=target.parent))
    try:
        folder.chmod(0o755)
        yield folder
        shutil.rmtree(folder / "root", ignore_errors=True)
        if target.exists():
            target.rename(old := folder.with_name(f"{folder.name}-old"))
            shutil.rmtree(old, ignore_errors=True)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _strip(root: Path) -> None:
    for pattern in _VOLATILE:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    # Services keep their logs in folders that their packages made.
    for name, owner in (("nginx", "www-data"), ("supervisor", "root"), ("apt", "root")):
        if (root / "etc" / name).is_dir():
            (root / "var/log" / name).mkdir(mode=0o755)
            subprocess.run(
                ["chroot", str(root), "chown", f"{owner}:adm", f"/var/log/{name}"],
                check=True,
                timeout=60,
            )
    # The day a password was last changed: the day of the build.
    shadow = root / "etc/shadow"
    shadow.write_text(
        re.sub(
            r"^([^:]*:[^:]*):\d+:", rf"\1:{EPOCH // 86400}:", shadow.read_text(), flags=re.MULTILINE
        )
    )


def _seal(folder: Path, words: list[str], facts: dict[str, object]) -> None:
    plain = folder / "root.tar"
    _run([*_TAR, f"--file={plain}", *words], "tar")
    digest = _digest(plain)
    _run(["gzip", "-1", "--no-name", str(plain)], "gzip")
    _write_manifest(folder, digest, facts)


def _write_manifest(folder: Path, digest: str, facts: dict[str, object]) -> None:
    (folder / "manifest.json").write_text(
        json.dumps({"digest": digest, **facts}, indent=1, sort_keys=True), encoding="utf-8"
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(tarball: Path, tree: Path, shift: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=tree.parent))
    try:
        owners = ["--same-owner", "--numeric-owner"] if shift >= 0 else ["--no-same-owner"]
        # Device nodes cannot be made by everybody, and a container gets its own.
        _run(
            [
                "tar",
                "--extract",
                "--preserve-permissions",
                *owners,
                "--exclude=./dev/*",
                "-f",
                str(tarball),
                "-C",
                str(folder),
            ],
            "tar",
        )
        folder.chmod(0o755)
        if shift > 0:
            _shift(folder, shift)
        folder.rename(tree)
    finally:
        if folder.exists():
            _run(["rm", "-rf", str(folder)], "rm")


def _shift(folder: Path, shift: int) -> None:
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            path = os.path.join(place, name)  # noqa: PTH118  # forty thousand of them
            seen = os.lstat(path)
            if seen.st_uid < shift:
                os.lchown(path, seen.st_uid + shift, seen.st_gid + shift)
                # A change of owner takes the set-uid bit off.
                if not stat.S_ISLNK(seen.st_mode):
                    os.chmod(path, stat.S_IMODE(seen.st_mode))  # noqa: PTH101


@contextlib.contextmanager
def _hold(path: Path) -> Generator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(words: list[str], what: str) -> str:
    """What a program prints; its end quoted when it fails. Times and language are everybody's."""
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C",
        "SOURCE_DATE_EPOCH": str(EPOCH),
    }
    done = subprocess.run(
        words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        timeout=_BUILD_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SandboxError(
            f"{what} failed ({done.returncode}): {(done.stdout + done.stderr)[-1500:].strip()}"
        )
    return done.stdout
