"""What the command line says about containers and their base image."""

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import fetch
from envmill.sandbox.containers.image import import_base
from flows.cli import examination, make_app
from flows.local.home import Home

NOWHERE = "unix:///nowhere/docker.sock"


def invoke(home: Home, *arguments: str) -> Result:
    environ = {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_IMAGES": f"{home.folder}/images",
        "DOCKER_HOST": NOWHERE,
    }
    return CliRunner().invoke(make_app(arguments), arguments, env=environ)


def test_doctor_says_which_engines_work_and_why_others_do_not(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = {name: examination.CHECKS[name] for name in ("containers", "base")}
    monkeypatch.setattr(examination, "CHECKS", checks)
    told = invoke(home, "doctor").stdout
    assert re.search(
        r"^ok     containers +box: .*; docker: not here\n +→ .*docker: No Docker daemon answers "
        r"at unix:///nowhere",
        told,
        re.MULTILINE,
    )
    assert re.search(
        r"^ok     base +no image for terminal environments yet\n +→ .*`envmill base`",
        told,
        re.MULTILINE,
    )


def test_a_base_that_is_there_is_not_made_again(home: Home, tmp_path: Path) -> None:
    (tmp_path / "root.tar").write_bytes(b"")
    made = import_base(home.folder / "images", tmp_path / "root.tar", "somewhere/image:1")
    assert invoke(home, "base").stdout == f"is there: {made.folder}, sha256:{made.digest}\n"


def test_what_cannot_be_fetched_says_what_to_do(home: Home) -> None:
    with pytest.raises(SandboxError, match="DOCKER_HOST"):
        fetch.fetch_base(home.folder / "images", NOWHERE, "debian:bookworm")


def test_whoever_cannot_make_one_is_told_what_it_takes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = invoke(home, "base")
    assert isinstance(done.exception, SandboxError)
    assert "root with debootstrap" in done.exception.message
