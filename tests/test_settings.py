"""Settings: keys that do not show, servers by name."""

import copy
import logging
import pickle
import traceback
from dataclasses import asdict, replace

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import Secret, Settings

KEY = "sk-abcdef0123456789"


def test_a_key_shows_itself_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings.read(
        {
            "OPENAI_API_KEY": KEY,
            "ENVMILL_ENDPOINT_LOCAL": "http://127.0.0.1:1/v1",
            "ENVMILL_ENDPOINT_LOCAL_KEY": KEY,
        }
    )
    logging.getLogger().warning("%s %r %s", settings, settings, f"{settings.endpoints}")
    shown = [
        caplog.text,
        repr(settings),
        str(settings.endpoints["openai"].key),
        f"{settings.endpoints['local'].key:}",
    ]
    try:
        raise ValueError(settings)
    except ValueError as error:
        shown += traceback.format_exception(error)
    assert all(KEY not in text for text in shown)
    assert (
        settings.endpoints["openai"].key.reveal() == settings.endpoints["local"].key.reveal() == KEY
    )


@pytest.mark.parametrize("write", [pickle.dumps, copy.deepcopy], ids=["pickled", "copied"])
def test_a_key_is_not_handed_on(write: object) -> None:
    with pytest.raises(TypeError, match="never written to disk"):
        write(Secret(KEY))  # type: ignore[operator]


def test_settings_can_still_be_replaced_but_not_dumped() -> None:
    settings = Settings.read({"OPENAI_API_KEY": KEY})
    assert replace(settings, port=0).endpoints["openai"].key.reveal() == KEY
    with pytest.raises(TypeError):
        asdict(settings)


def test_a_key_is_taken_out_of_a_text() -> None:
    assert Secret(KEY).mask(f"Incorrect key {KEY}.") == "Incorrect key ***."
    assert Secret("").mask("nothing to hide") == "nothing to hide"


def test_servers_are_known_by_name() -> None:
    settings = Settings.read(
        {
            "ENVMILL_ENDPOINT_MY_BOX": "http://box:8000/v1",
            "ENVMILL_ENDPOINT_MY_BOX_KEY": "k",
            "ENVMILL_OPENAI_URL": "https://gate/v1",
        }
    )
    assert {name: (one.url, one.key.reveal()) for name, one in settings.endpoints.items()} == {
        "openai": ("https://gate/v1", ""),
        "anthropic": ("", ""),
        "my_box": ("http://box:8000/v1", "k"),
    }


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"ENVMILL_OPENAI_URL": "box:8000"}, "ENVMILL_OPENAI_URL is not an address"),
        (
            {"ENVMILL_ENDPOINT_X": "http://user:secret@box/v1"},
            "ENVMILL_ENDPOINT_X is not an address",
        ),
        ({"ENVMILL_ENDPOINT_OPENAI": "http://box/v1"}, "has a vendor's name"),
    ],
)
def test_a_wrong_address_is_refused_without_being_quoted(
    environ: dict[str, str], told: str
) -> None:
    with pytest.raises(SettingsError, match=told) as refused:
        Settings.read(environ)
    assert "secret" not in refused.value.message


def test_an_origin_with_the_usual_port_is_spelled_as_browsers_do() -> None:
    asked = "https://mill.example:443,http://lab:80,http://mill.example:443"
    assert Settings.read({"ENVMILL_ORIGINS": asked}).origins == {
        "https://mill.example",
        "http://lab",
        "http://mill.example:443",
    }


def test_origins_of_proxies_are_whole_and_lower_case() -> None:
    assert Settings.read({"ENVMILL_ORIGINS": "https://Mill.example, http://lab:8080"}).origins == {
        "https://mill.example",
        "http://lab:8080",
    }
    for wrong in ("mill.example", "https://mill.example/", "*", "https://*", "null"):
        with pytest.raises(SettingsError, match="write origins like"):
            Settings.read({"ENVMILL_ORIGINS": wrong})
