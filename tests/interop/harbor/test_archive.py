"""What comes out of an agent's container may be anything: places are put as they were told, and
nothing else anywhere."""

import importlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.harbor import inside

Change = Callable[[tarfile.TarInfo], None]


@pytest.fixture
def archives(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(inside.__file__).parent))
    return importlib.import_module("archive")


def pack(path: Path, *entries: tuple[str, bytes, str], **more: Any) -> Path:
    """Name, type and, for a link, where it leads, else what is in it."""
    with tarfile.open(path, "w") as archive:
        for name, kind, told in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.uid, entry.gid, entry.mode = (
                kind,
                os.getuid(),
                os.getgid(),
                0o755 if kind == tarfile.DIRTYPE else 0o640,
            )
            entry.linkname = told if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            entry.size = len(told) if kind == tarfile.REGTYPE else 0
            for key, value in more.items():
                setattr(entry, key, value)
            archive.addfile(entry, io.BytesIO(told.encode()) if kind == tarfile.REGTYPE else None)
    return path


FILE, FOLDER, LINK, HARD, DEVICE = (
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
)


def test_places_become_as_they_were_told(archives: Any, tmp_path: Path) -> None:
    top = str(tmp_path / "top")
    (tmp_path / "top/data/old").mkdir(parents=True)
    (tmp_path / "top/gone").write_text("gone")
    (tmp_path / "top/kept").write_text("kept")
    told = (
        (f"{top}/data", FOLDER, ""),
        (f"{top}/data/a", FILE, "new"),
        (f"{top}/data/l", LINK, "a"),
        (f"{top}/kept", FILE, "other"),
    )
    compiled = (
        (f"{top}/data/__pycache__", FOLDER, ""),
        (f"{top}/data/__pycache__/a.pyc", FILE, "x"),
    )
    with archives.Archive(pack(tmp_path / "a.tar", *told, *compiled)) as archive:
        archive.put([f"{top}/data", f"{top}/gone"])
    assert sorted(path.name for path in (tmp_path / "top/data").iterdir()) == ["a", "l"]
    assert (
        (tmp_path / "top/data/l").read_text(),
        oct((tmp_path / "top/data/a").stat().st_mode)[-3:],
    ) == ("new", "640")
    assert not (tmp_path / "top/gone").exists()
    assert (tmp_path / "top/kept").read_text() == "kept"


def test_nothing_is_put_through_a_link(archives: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "top").mkdir()
    place = f"{tmp_path}/top/data"
    told = (
        (place, FOLDER, ""),
        (f"{place}/l", LINK, f"{tmp_path}/out"),
        (f"{place}/l/a", FILE, "through"),
    )
    with archives.Archive(pack(tmp_path / "a.tar", *told)) as archive:
        archive.put([place])
    twice = ((place, LINK, f"{tmp_path}/out"), (f"{place}/b", FILE, "through"))
    with archives.Archive(pack(tmp_path / "b.tar", *twice)) as archive:
        archive.put([place])
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(("srv/../etc/passwd", FILE, "x"), id="up"),
        pytest.param(("srv//a", FILE, "x"), id="doubled"),
        pytest.param(("srv/a", HARD, "/etc/passwd"), id="hard-link"),
        pytest.param(("srv/a", DEVICE, ""), id="device"),
    ],
)
def test_what_is_no_file_of_a_machine_makes_it_unreadable(
    archives: Any, tmp_path: Path, entry: tuple[str, bytes, str]
) -> None:
    with pytest.raises(ValueError, match=r"leads elsewhere|no file of a machine"):
        archives.Archive(pack(tmp_path / "a.tar", entry))


def test_too_much_is_unreadable(
    archives: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [(f"srv/{number}", FILE, "x" * 100) for number in range(9)]
    for name, most in (("LARGEST", 99), ("ALL", 899), ("MOST", 8)):
        with monkeypatch.context() as patched:
            patched.setattr(archives, name, most)
            with pytest.raises(ValueError, match="too large"):
                archives.Archive(pack(tmp_path / "a.tar", *some))
    archives.Archive(pack(tmp_path / "a.tar", *some)).__exit__()


@pytest.mark.parametrize(
    "content", [b"", b"noise" * 1000, b"\0" * 511], ids=["empty", "noise", "cut"]
)
def test_what_is_no_archive_is_unreadable(archives: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(ValueError, match=r".+"):
        archives.Archive(tmp_path / "a.tar")


@pytest.mark.parametrize("more", [{"uid": 1 << 40}, {"mtime": 1 << 70}], ids=["owner", "time"])
def test_what_cannot_be_put_is_the_agents_doing(
    archives: Any, tmp_path: Path, more: dict[str, Any]
) -> None:
    entry = (f"{tmp_path}/a", FILE, "x")
    with (
        archives.Archive(pack(tmp_path / "a.tar", entry, **more)) as archive,
        pytest.raises(ValueError, match=r"Error"),
    ):
        archive.put([f"{tmp_path}/a"])


def test_files_are_told_as_they_are_where_they_stand(archives: Any, tmp_path: Path) -> None:
    own = importlib.import_module("own")
    top = tmp_path / "top"
    (top / "d/skipped").mkdir(parents=True)
    (top / "a").write_text("a")
    (top / "a").chmod(0o4751)
    (top / "l").symlink_to("ä\udcff")
    os.mkfifo(top / "p", 0o600)
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(top, str(top).lstrip("/"))
    with archives.Archive(tmp_path / "a.tar") as archive:
        told = archive.list_own([str(top)], [str(top / "d/skipped")])
    assert told == own.list_own([str(top)], [str(top / "d/skipped")])
    assert len(told) == 5


@pytest.mark.parametrize(
    "text", ["", "[]", '{"own": 1}', "[" * 100_000, '{"own": {"a": {"b": 1}}}']
)
def test_a_record_that_says_nothing_is_none_or_one_of_texts(
    archives: Any, tmp_path: Path, text: str
) -> None:
    with archives.Archive(pack(tmp_path / "a.tar", ("r", FILE, text))) as archive:
        found = archive.read_record("/r")
    assert found is None or set(map(type, found["own"].values())) == {str}
