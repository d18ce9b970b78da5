"""The image, from nothing: a base out of Debian's packages, the wheels of the lock, a build without
a network, a plant and a run inside."""

import os
import re
import subprocess
import sys

import pytest

from envmill.base.settings import ROOT
from tests.e2e.plant import wait_until
from tests.hostile.engine import Engine

NAME = "plant"
LOCKED = ("--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges")
"""Held no looser than a careful platform holds its own."""


@pytest.mark.soak(area="operations")
def test_a_run_is_done_in_the_image(docker_engine: Engine) -> None:
    make(docker_engine, "base")
    make(docker_engine, "image", "BASE=envmill/base", "IMAGE=envmill:test")
    examined = docker_engine.ask(["run", "--rm", *LOCKED, "envmill:test", "doctor"])
    assert re.search(
        r"^ok +jail .*no_new_privs, landlock, seccomp; without cgroups, namespaces, uid",
        examined,
        re.MULTILINE,
    ), examined
    assert "short" not in examined

    docker_engine.ask(["run", "--detach", "--name", NAME, *LOCKED, "envmill:test"])
    wait_until(
        lambda: "ready:" in docker_engine.ask(["logs", NAME]),
        300,
        lambda: docker_engine.ask(["logs", NAME]),
    )
    ran = inside(
        docker_engine, "run", "--environments=2", "--scenarios=2", "--attempts=2", "--mistakes=0"
    )
    assert "completed" in ran.lower()
    assert inside(
        docker_engine, "sql", "select count(*) > 0 as kept from trajectories"
    ).split() == ["kept", "True"]
    inside(docker_engine, "report")
    assert docker_engine.ask(["exec", NAME, "id", "-u"]).strip() == "10001"

    docker_engine.ask(["exec", NAME, "test", "-w", "/app/.envmill"])  # the demo's home

    docker_engine.ask(["stop", "-t", "90", NAME])
    assert "server: stopped" in docker_engine.ask(["logs", NAME])
    assert docker_engine.ask(["inspect", "--format", "{{.State.ExitCode}}", NAME]).strip() == "0"


def inside(engine: Engine, *words: str) -> str:
    return engine.ask(["exec", NAME, "envmill", *words])


def make(engine: Engine, *words: str) -> None:
    """As an owner does, with the Python that these tests run on (3.11, as Debian 12's), and with an
    engine that nobody else uses."""
    done = subprocess.run(
        ["make", *words, f"PYTHON={sys.executable}"], cwd=ROOT, env=os.environ | {"DOCKER_HOST": engine.host, "DOCKER_BUILDKIT": "0"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
