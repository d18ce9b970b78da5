"""What strangers packed is read without following anything: out of the folder leads no name, no
link and no header."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.harbor import tree
from envmill.interop.harbor.tree import FolderFile, read_tree
from tests.interop.harbor.machines import make_tree, write_tree


def pack(path: Path, *entries: tarfile.TarInfo, content: bytes = b"x") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for entry in entries:
            entry.size = len(content) if entry.isreg() else 0
            archive.addfile(entry, io.BytesIO(content) if entry.isreg() else None)
    return path


def name(path: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type, entry.linkname = kind, link
    return entry


def test_a_folder_and_a_tarball_of_it_are_read_alike(tmp_path: Path) -> None:
    whole = make_tree()
    root = write_tree(
        tmp_path / "task",
        type(whole)("", {**whole.files, "solution/solve.sh": FolderFile(b"#!/bin/bash\n", True)}),
    )
    with tarfile.open(tmp_path / "task.tar.gz", "w:gz") as archive:
        archive.add(root, "task")
    read = read_tree(root)
    assert read.files == read_tree(tmp_path / "task.tar.gz").files
    assert read.files["solution/solve.sh"] == FolderFile(b"#!/bin/bash\n", True)


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([name("../outside")], id="up"),
        pytest.param([name("a/../../outside")], id="up-within"),
        pytest.param([name("/etc/passwd")], id="absolute"),
        pytest.param([name("a\\..\\b")], id="backslash"),
        pytest.param([name("a\nb")], id="line-feed"),
        pytest.param([name("link", tarfile.SYMTYPE, "/etc/passwd")], id="link"),
        pytest.param(
            [name("link", tarfile.SYMTYPE, "/etc"), name("link/passwd")], id="through-a-link"
        ),
        pytest.param([name("hard", tarfile.LNKTYPE, "/etc/passwd")], id="hard-link"),
        pytest.param([name("pipe", tarfile.FIFOTYPE)], id="pipe"),
        pytest.param([name("disk", tarfile.BLKTYPE)], id="device"),
        pytest.param([name("a"), name("a")], id="twice"),
        pytest.param([name("a"), name("./a")], id="twice-spelled"),
        pytest.param([name("/".join("abcdefghijklmnopqr"))], id="deep"),
    ],
)
def test_a_tarball_that_leads_out_is_refused(
    tmp_path: Path, entries: list[tarfile.TarInfo]
) -> None:
    with pytest.raises(SettingsError):
        read_tree(pack(tmp_path / "task.tar.gz", *entries))


def test_a_bomb_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_FILE", 1 << 10)
    with pytest.raises(SettingsError, match="2000 bytes of 1024"):
        read_tree(pack(tmp_path / "large.tgz", name("a"), content=b"0" * 2000))
    monkeypatch.setattr(tree, "MAX_ALL", 2 << 10)
    with pytest.raises(SettingsError, match="more than"):
        read_tree(
            pack(
                tmp_path / "many.tgz",
                *(name(str(number)) for number in range(9)),
                content=b"0" * 1000,
            )
        )
    monkeypatch.setattr(tree, "MAX_ALL", 1 << 20)
    monkeypatch.setattr(tree, "MAX_FILES", 3)
    with pytest.raises(SettingsError, match="more than 3 files"):
        read_tree(pack(tmp_path / "files.tgz", *(name(str(number)) for number in range(9))))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no tarball", id="noise"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x1f\x8b\x08", id="cut"),
    ],
)
def test_what_is_no_tarball_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    with pytest.raises(SettingsError, match="no whole tarball"):
        read_tree(tmp_path / "a.tar.gz")


def test_a_folder_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for number, make in enumerate(
        (
            lambda at: at.symlink_to(tmp_path / "secret"),
            lambda at: at.symlink_to("/"),
            lambda at: os.mkfifo(at),
        )
    ):
        folder = tmp_path / f"task-{number}"
        folder.mkdir()
        make(folder / "instruction.md")
        with pytest.raises(SettingsError, match="no plain file"):
            read_tree(folder)
    (tmp_path / "way").symlink_to(tmp_path)
    with pytest.raises(SettingsError, match="it is a link"):
        read_tree(tmp_path / "way")
    with pytest.raises(SettingsError, match="no such folder"):
        read_tree(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\xfe#", id="utf-16"),
        pytest.param(b"\xef\xbb\xbf[task]", id="mark"),
        pytest.param(b"a\0", id="nul"),
    ],
)
def test_text_in_another_encoding_is_told(content: bytes) -> None:
    with pytest.raises(SettingsError, match=r"UTF-8"):
        tree.read_text("task.toml", content)
