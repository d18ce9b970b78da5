"""The base image in its cache: named by what it is made of, whole or not there, and unpacked once
for each way of owning it."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.sandbox.containers import CachedImage, find_base
from envmill.sandbox.containers.image import PACKAGES, build_base, import_base, list_packages
from tests.sandbox.containers.small import make_small
from tests.soak import count


def test_the_tracked_list_names_packages() -> None:
    assert {"python3", "python3-pytest"} <= set(list_packages(PACKAGES))


def test_a_list_that_names_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("nginx  # web\n--hack\n")
    with pytest.raises(SandboxError, match="--hack"):
        list_packages(tmp_path / "list")


def test_where_no_image_is_the_mend_is_said(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="envmill base"):
        find_base(tmp_path)


def test_another_list_is_another_image_and_the_order_is_not(tmp_path: Path) -> None:
    tarball = _pack(tmp_path)
    for name, text in {
        "one": "bash\ncurl # asks\n",
        "same": "# why\ncurl\nbash\n",
        "other": "bash\n",
    }.items():
        (tmp_path / name).write_text(text)
    made = import_base(tmp_path / "images", tarball, "somewhere/image:1", tmp_path / "one")
    assert find_base(tmp_path / "images", tmp_path / "same") == made
    assert (
        import_base(tmp_path / "images", tarball, "somewhere/image:1", tmp_path / "one").digest
        == made.digest
    )
    with pytest.raises(SandboxError):
        find_base(tmp_path / "images", tmp_path / "other")
    assert [path.name for path in (tmp_path / "images").iterdir()] == [made.folder.name]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_tree_belongs_to_the_users_of_boxes(tmp_path: Path) -> None:
    image = make_small(tmp_path / "small")
    tree = image.unpack(1_000_000)
    assert image.unpack(1_000_000) == tree
    assert [(tree / name).lstat().st_uid for name in ("etc/passwd", "home/ada", "bin/sh")] == [
        1_000_000,
        1_001_000,
        1_000_000,
    ]
    assert (tree / "tmp").stat().st_mode & 0o7777 == 0o1777


@pytest.mark.soak(area="terminal")
def test_the_same_packages_make_the_same_bytes(tmp_path: Path) -> None:
    if count(0, 1) == 0:
        pytest.skip("two builds take minutes: `make soak AREA=terminal`")
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("only root, with debootstrap, makes a base image")
    (tmp_path / "list").write_text("python3\n")
    first, second = (build_base(tmp_path / name, tmp_path / "list") for name in ("first", "second"))
    assert first.packages == second.packages
    assert _list_differences(first, second) == set()


def _list_differences(first: CachedImage, second: CachedImage) -> set[str]:
    """Members that differ; what Python compiled bears the date of its source, which is the
    package's."""
    listed = [
        set(
            subprocess.run(
                ["tar", "-tvzf", str(image.tarball), "--full-time"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()
        )
        for image in (first, second)
    ]
    return {line.split()[-1] for line in listed[0] ^ listed[1]} or (
        {"contents"} if first.digest != second.digest else set()
    )


def _pack(folder: Path) -> Path:
    (folder / "file").write_text("content")
    with tarfile.open(folder / "root.tar", "w") as archive:
        archive.add(folder / "file", "./file")
    return folder / "root.tar"


def test_settings_say_where_images_are(tmp_path: Path) -> None:
    assert Settings.read({"ENVMILL_IMAGES": str(tmp_path)}).images == tmp_path
    assert Settings.read({"DOCKER_HOST": "unix:///x"}).docker == "unix:///x"
