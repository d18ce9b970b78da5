"""Secrets are taken out of whatever is written down or raised, by value and by shape."""

import base64
import traceback
from urllib.parse import quote

import pytest

from envmill.base.errors import KeyRefused, Throttled
from envmill.models.redaction import Redactor

KEY = "sk-proj-Zm9v-0123456789abcdefXYZ"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}. You can find your key at …",
        "Authorization: Bearer abc.def-ghi_jkl=",
        "basic dXNlcjpwYXNz",
        "{'x-api-key': 'my-own-key-1'}",
        "api_key=hunter2hunter2",
        "https://ada:hunter2@models.example/v1 is down",
        "sk-ant-api03-abcdefghijklmnop is not valid",
    ],
)
def test_a_vendors_message_keeps_no_secret(text: str) -> None:
    hidden = Redactor().hide_all(text)
    assert "[secret]" in hidden
    assert not any(
        secret in hidden
        for secret in (KEY, "abc.def", "dXNlc", "my-own-key", "hunter2", "api03-abc")
    )


@pytest.mark.parametrize(
    "text",
    [
        "The task-list of sk-iing, api keys in general, basic rules.",
        "https://models.example:8000/v1@latest",
    ],
)
def test_plain_words_stay(text: str) -> None:
    assert Redactor([KEY]).hide_all(text) == text


def test_a_secret_of_ours_is_known_by_value_whatever_it_looks_like() -> None:
    redactor = Redactor(["correct horse battery", "", "short", 'quote"and\\slash'])
    assert redactor.hide("say correct horse battery, short") == "say [secret], short"
    assert "slash" not in redactor.hide(repr({"k": 'quote"and\\slash'}))
    assert not Redactor([""]).finds("")


def test_an_error_comes_out_as_it_was_without_its_secrets_and_causes() -> None:
    try:
        try:
            raise ValueError(f"header {KEY}")
        except ValueError as cause:
            raise Throttled(f"said {KEY}", retry_after=2.0, body=KEY) from cause
    except Throttled as error:
        clean = Redactor([KEY]).clean(error)
    assert isinstance(clean, Throttled)
    assert clean.facts == {"retry_after": 2.0, "body": "[secret]"}
    assert KEY not in "".join(traceback.format_exception(clean)) + repr(clean) + str(
        clean.__reduce__()
    )
    assert isinstance(Redactor().clean(KeyRefused("x")), KeyRefused)


def test_a_secret_is_known_in_other_spellings_and_where_it_stands_among_others() -> None:
    redactor = Redactor([KEY])
    for before in ("", "u", "us", "user:", "Bearer "):
        for behind in ("", "x", "\n"):
            coded = base64.b64encode(f"{before}{KEY}{behind}".encode()).decode()
            shown = redactor.hide(f"tried {coded} and failed")
            assert "[secret]" in shown
            left = [part for part in shown.split()[1].split("[secret]") if part]
            assert all(len(part) <= len(base64.b64encode(before.encode())) + 4 for part in left), (
                left
            )
    for told in (
        KEY[::-1],
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        quote("a b/" + KEY),
        base64.urlsafe_b64encode(b"??>" + KEY.encode()),
        base64.b64encode(KEY[::-1].encode()),
        base64.b64encode(b"me:" + KEY.encode())[::-1],
        KEY.encode().hex()[::-1],
    ):
        text = told.decode() if isinstance(told, bytes) else told
        assert "[secret]" in redactor.hide(f"tried {text} and failed"), text


def test_every_text_of_a_value_is_looked_at_and_the_rest_stays() -> None:
    value = {"a": [KEY, 1, None, {KEY: True}], "b": "sk-iing is fun"}
    assert Redactor([KEY]).hide_within(value) == {
        "a": ["[secret]", 1, None, {"[secret]": True}],
        "b": "sk-iing is fun",
    }
