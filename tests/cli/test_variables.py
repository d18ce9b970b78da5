"""Prefect's variables of the operator: settings of a server reach the server; what would break or
weaken the guard does not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.settings import Settings
from pydantic import AliasChoices, BaseModel

from flows.local.home import Home
from flows.local.variables import PREFECT, WITHHELD

URL = "http://127.0.0.1:4270"
OWN = {"PREFECT_SERVER_CORS_ALLOWED_ORIGINS": URL}


def read_home(folder: Path, **environ: str) -> Home:
    return Home.read({"ENVMILL_HOME": str(folder), "ENVMILL_PORT": "0", **environ})


PASSED = {
    "PREFECT_SERVER_LOGGING_LEVEL": "DEBUG",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "true",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_SERVER_API_DEFAULT_LIMIT": "50",
    "PREFECT_SERVER_METRICS_ENABLED": "true",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "7",
    "PREFECT_SERVER_DATABASE_TIMEOUT": "30",
    "PREFECT_SERVER_DATABASE_SQLALCHEMY_CONNECT_ARGS_TLS_ENABLED": "true",
    "PREFECT_SERVER_A_SETTING_OF_NEXT_YEAR": "1",
}


def list_spellings(name: str) -> Iterator[str]:
    """Prefect reads them all."""
    yield from (name, name.lower(), name.title())


@pytest.mark.parametrize("name", PASSED)
def test_what_an_operator_chooses_for_the_server_reaches_it(tmp_path: Path, name: str) -> None:
    """Over EnvMill's own choice, and through the watchdog, which starts it again; the worker and
    its flow runs have no part in it."""
    for spelled in list_spellings(name):
        home = read_home(tmp_path, **{spelled: PASSED[name]})
        assert home.child_environ(URL, "server")[name] == PASSED[name]
        again = Home.read(home.child_environ(URL, "watchdog"))
        assert again.child_environ(URL, "server")[name] == PASSED[name]
        assert home.child_environ(URL).get(name) == PREFECT.get(name)


@pytest.mark.parametrize("name", WITHHELD)
def test_what_would_break_or_weaken_the_guard_does_not(tmp_path: Path, name: str) -> None:
    for spelled in list_spellings(name):
        home = read_home(tmp_path, **{spelled: "theirs"})
        for part in ("server", "worker", "watchdog"):
            environ = {
                given.upper(): value for given, value in home.child_environ(URL, part).items()
            }
            own = PREFECT | (OWN if part == "server" else {})
            assert environ.get(name) == own.get(name)


@pytest.mark.parametrize(
    "name",
    [
        "PREFECT_SERVER",
        "PREFECT__SERVER_FINAL",
        "PREFECT_PROFILE",
        "prefect_profiles_path",
        "Prefect_Home",
        "PREFECT_API_KEY",
    ],
)
def test_other_variables_of_prefect_stay_with_the_shell(tmp_path: Path, name: str) -> None:
    home = read_home(tmp_path, **{name: "theirs"})
    own_server(home)
    assert "theirs" not in {
        value
        for part in ("server", "worker", "watchdog")
        for value in home.child_environ(URL, part).values()
    }


def own_server(home: Home) -> None:
    home.folder.mkdir(exist_ok=True)
    (home.folder / "server.json").write_text(f'{{"url": "{URL}"}}')


def list_fields(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Each setting with all names that Prefect reads it by, groups of settings among them."""
    for name, field in model.model_fields.items():
        alias: Any = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [f"{prefix}{name}"]
        yield name, frozenset(str(one).upper() for one in choices if isinstance(one, str))
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            inner = str(getattr(field.annotation, "model_config", {}).get("env_prefix", ""))
            yield from list_fields(field.annotation, inner)


def test_every_name_of_a_withheld_setting_is_withheld() -> None:
    """Prefect knows some settings by several names, and reads a group of settings as JSON."""
    server: Any = Settings.model_fields["server"].annotation
    names = [found for _, found in list_fields(server, "prefect_server_")]
    assert WITHHELD.keys() <= frozenset().union(*names)
    passed = {
        name
        for found in names
        if found & WITHHELD.keys()
        for name in found - WITHHELD.keys()
        if name.startswith("PREFECT_SERVER_")
    }
    assert passed == set()
