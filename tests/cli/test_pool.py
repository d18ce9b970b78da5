"""The pool's job: what a request names for its run has no effect on the worker, even where the
server let it through."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from flows.local.home import Home
from flows.local.pools import (
    JOB,
    PROFILES,
    check_profile,
    keep_profile,
    make_job,
    read_profile,
    write_prefect_file,
)

NAMED: dict[str, Any] = {
    "command": "id",
    "env": {"X": "1"},
    "env.Y": "2",
    "working_dir": "/tmp",
    "name": "x",
    "stream_output": False,
}


NO_CLIENT: Any = object()
"""Without any, Prefect would start a server for templates that refer to none."""


async def configure(template: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    made = await ProcessJobConfiguration.from_template_and_values(
        template, values, client=NO_CLIENT
    )
    return made.model_dump(include={"command", "env", "working_dir", "name", "stream_output"})


async def test_job_variables_have_no_effect() -> None:
    assert await configure(JOB, NAMED) == await configure(JOB, {})
    assert (await configure(JOB, NAMED))["command"] is None


@pytest.mark.parametrize(
    "template",
    [ProcessWorker.get_default_base_job_template(), {**JOB, "job_configuration": {"env": {}}}],
)
async def test_other_templates_let_them_in(template: dict[str, Any]) -> None:
    """Prefect's own, and one that seems as tight: so that the test above can fail."""
    assert await configure(template, NAMED) != await configure(template, {})


def test_a_container_gets_places_and_no_secret(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.touch()
    home = Home.read(
        {
            "ENVMILL_HOME": str(tmp_path / "home"),
            "ENVMILL_LAKE": str(tmp_path / "lake"),
            "ENVMILL_BUNDLES": str(tmp_path / "bundles"),
            "ENVMILL_PRICES": str(prices),
            "ENVMILL_DATABASE": "postgresql://mill:planted@host/prefect",
            "ENVMILL_ENDPOINT_BOX": "http://127.0.0.1:8000/v1",
            "ENVMILL_ENDPOINT_BOX_KEY": "planted",
            "OPENAI_API_KEY": "planted",
            "AWS_SECRET_ACCESS_KEY": "planted",
            "AWS_DEFAULT_REGION": "eu-central-1",
        }
    )
    job = make_job(home, PROFILES["docker"], "http://127.0.0.1:1")
    assert job["variables"] == JOB["variables"]
    told = job["job_configuration"]
    assert "env" not in told
    assert "planted" not in json.dumps(job)
    places = {str(tmp_path / name) for name in ("home", "lake", "bundles")}
    assert set(told["volumes"]) == {f"{one}:{one}" for one in places} | {f"{prices}:{prices}:ro"}
    entry = told["container_create_kwargs"]["entrypoint"]
    assert f"ENVMILL_HOME={tmp_path}/home" in entry
    assert "AWS_DEFAULT_REGION=eu-central-1" in entry
    assert "ENVMILL_ENDPOINT_BOX=http://127.0.0.1:8000/v1" in entry


def test_a_lake_in_an_object_store_is_no_volume(tmp_path: Path) -> None:
    home = Home.read({"ENVMILL_HOME": str(tmp_path / "home"), "ENVMILL_LAKE": "s3://bucket/lake"})
    told = make_job(home, PROFILES["docker"], "http://127.0.0.1:1")["job_configuration"]
    assert not [one for one in told["volumes"] if "bucket" in one]
    assert "ENVMILL_LAKE=s3://bucket/lake" in told["container_create_kwargs"]["entrypoint"]


def test_the_profile_is_kept_and_deploys_to_its_own_pool(tmp_path: Path) -> None:
    home = Home.read({"ENVMILL_HOME": str(tmp_path / "home")})
    home.folder.mkdir()
    assert read_profile(home) == PROFILES["process"]
    assert write_prefect_file(home, read_profile(home)) == ROOT / "prefect.yaml"
    assert keep_profile(home, PROFILES["docker"])
    assert not keep_profile(home, PROFILES["docker"])
    deployed = yaml.safe_load(write_prefect_file(home, read_profile(home)).read_text())
    own = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    assert {one["work_pool"]["name"] for one in deployed["deployments"]} == {"envmill-docker"}
    assert [one["name"] for one in deployed["deployments"]] == [
        one["name"] for one in own["deployments"]
    ]


def test_a_profile_whose_worker_is_not_installed_says_what_to_install() -> None:
    check_profile("process")
    if importlib.util.find_spec("prefect_docker") is None:
        with pytest.raises(SettingsError, match=r"pip install 'envmill\[docker\]'"):
            check_profile("docker")
