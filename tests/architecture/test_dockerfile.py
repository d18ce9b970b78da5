"""What the Dockerfile must hold to without being built: `.ci/run` builds it, and does a run
inside."""

import re
import tomllib

from envmill.base.settings import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if not line.startswith("#")]
PASSED = {
    line[1:]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    if line.startswith("!")
}


def test_all_that_runs_is_copied_and_nothing_else() -> None:
    packages: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"][
        "build"
    ]["targets"]["wheel"]["packages"]
    copied = {
        word
        for line in LINES
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert copied == {
        *packages,
        ".wheels",
        "data",
        "LICENSE",
        "pyproject.toml",
        "prefect.yaml",
        "requirements.lock",
    }
    assert (
        copied - {"data"} | {"data/seeds", "data/sketches", "data/prices.toml", "data/scan.toml"}
        == PASSED
    )
    assert all((ROOT / name).exists() for name in PASSED - {".wheels"})


def test_every_builder_can_build_it_and_it_fetches_nothing() -> None:
    assert not re.search(r"--mount|<<|syntax=|apt-get|curl|ADD |https?:", "\n".join(LINES))
    assert "PIP_NO_INDEX=1" in TEXT
    assert "docker build --network none" in (ROOT / "Makefile").read_text()


def test_the_base_is_an_argument_and_the_user_is_not_root() -> None:
    assert [line for line in LINES if line.startswith("FROM ")] == [
        "FROM ${BASE} AS installed",
        "FROM ${BASE}",
    ]
    assert [line for line in LINES if line.startswith("USER ")] == ["USER envmill"]
