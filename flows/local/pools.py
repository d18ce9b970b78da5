"""Profiles: what a flow run of this home is, a process or a container, and the work pool that says so.

process   pool `envmill`: a process of this machine
docker    pool `envmill-docker`: a container of ENVMILL_POOL_IMAGE on this machine's Docker engine
"""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from flows.local.home import Home
from flows.local.private import is_secret, write_private

ProfileName = Literal["process", "docker"]
CODE = "/app"
"""Where the image has the flows."""


@dataclass(frozen=True)
class Profile:
    """A kind of worker, and the pool that it serves."""

    name: ProfileName
    pool: str


PROFILES: Mapping[ProfileName, Profile] = {
    "process": Profile("process", "envmill"),
    "docker": Profile("docker", "envmill-docker"),
}
POOLS = [profile.pool for profile in PROFILES.values()]
"""Names of the pools whose runs this home keeps watch over."""

JOB: dict[str, Any] = {
    "job_configuration": {"stream_output": True},
    "variables": {"type": "object", "properties": {}, "additionalProperties": False},
}
"""How the worker starts a flow run. `env` is left out on purpose: Prefect merges a request's into one that is there."""


def check_profile(name: ProfileName) -> None:
    """Refuse one whose worker is not installed."""
    if name == "docker" and importlib.util.find_spec("prefect_docker") is None:
        raise SettingsError(
            "The profile docker needs Prefect's Docker worker, which is not installed: pip install 'envmill[docker]'."
        )


def read_profile(home: Home) -> Profile:
    """The one that the last `envmill up` chose."""
    path = home.folder / "profile"
    return PROFILES[
        "docker" if path.exists() and path.read_text().strip() == "docker" else "process"
    ]


def keep_profile(home: Home, profile: Profile) -> bool:
    """From now on; whether another one was chosen before."""
    before = read_profile(home)
    write_private(home.folder / "profile", profile.name)
    return before != profile


def make_job(home: Home, profile: Profile, url: str) -> dict[str, Any]:
    """The pool's template: nothing in it is a variable, so that a request chooses no image,
    command, folder or environment."""
    if profile.name == "process":
        return JOB
    folders = [
        home.folder,
        home.settings.bundles,
        *([] if "://" in home.settings.lake else [Path(home.settings.lake)]),
    ]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    surroundings = _list_surroundings(home, url)
    # Prices, terms and the like, which somebody put elsewhere.
    given = {
        value
        for name, value in surroundings.items()
        if name != "HOME" and value.startswith("/") and Path(value).exists()
    }
    volumes = {f"{folder}:{folder}" for folder in folders}
    volumes |= {f"{place}:{place}:ro" for place in given - {str(folder) for folder in folders}}
    # The image's own entry point is `envmill`. What a run needs to know stands here and not under
    # `env`, into which Prefect merges a request's.
    entry = [
        "env",
        *(f"{name}={value}" for name, value in sorted(surroundings.items())),
    ]
    configuration = {
        "image": home.settings.pool_image,
        "image_pull_policy": "Never",
        "network_mode": "host",
        "volumes": sorted(volumes),
        "auto_remove": True,
        "stream_output": True,
        "container_create_kwargs": {
            "entrypoint": entry,
            "user": f"{os.geteuid()}:{os.getegid()}",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges"],
        },
    }
    return {**JOB, "job_configuration": configuration}


_STORE = ("AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_REGION")


def _list_surroundings(home: Home, url: str) -> dict[str, str]:
    """Where things lie, at the same paths inside; the keys of models are read from the home."""
    whole = home.child_environ(url)
    wanted = {
        name: value
        for name, value in whole.items()
        if (name.startswith("ENVMILL_") or name in _STORE)
        and name != "ENVMILL_DATABASE"
        and not is_secret(name)
    }
    images = {} if "ENVMILL_IMAGES" in wanted else {"ENVMILL_IMAGES": "/data/images"}
    return {**wanted, **images, "HOME": "/tmp"}  # the caller's own folder is not inside


def write_prefect_file(home: Home, profile: Profile) -> Path:
    """prefect.yaml for the pool of a profile."""
    own = ROOT / "prefect.yaml"
    if profile.name == "process":
        return own
    told = yaml.safe_load(own.read_text())
    told["pull"] = [{"prefect.deployments.steps.set_working_directory": {"directory": CODE}}]
    told.pop("definitions", None)
    for deployment in told["deployments"]:
        deployment["work_pool"] = {"name": profile.pool}
    path = home.folder / f"prefect-{profile.name}.yaml"
    write_private(path, yaml.safe_dump(told, sort_keys=False))
    return path
