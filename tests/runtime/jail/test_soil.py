"""What a program left behind in the interpreter is found, with versions of dictionaries to go by and without."""

import json
import random
import uuid
from collections.abc import Callable, Iterator

import pytest

from envmill.runtime import session
from envmill.runtime.jail import soil


@pytest.fixture(params=["versions", "objects"])
def pristine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = {name: list(getattr(soil, name)) for name in ("_pristine", "_limits", "_windows", "_versions")}
    if request.param == "objects":
        monkeypatch.setattr(soil, "_have_versions", lambda: False)
    soil.remember()
    yield
    for name, values in kept.items():
        getattr(soil, name)[:] = values


PATCHES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "function": (lambda patch: patch.setattr(json, "dumps", len), "json"),
    "new name": (lambda patch: patch.setattr(json, "mine", 1, raising=False), "json"),
    "gone": (lambda patch: patch.delattr(json, "loads"), "json"),
    "method": (lambda patch: patch.setattr(random.Random, "choice", len), "Random"),
    "ours": (lambda patch: patch.setattr(session.Session, "call", len), "Session"),
    "builtin": (lambda patch: patch.setattr("builtins.mine", 1, raising=False), "builtins"),
    "past the module": (lambda patch: patch.setitem(vars(json), "dumps", len), "json"),
}


@pytest.mark.usefixtures("pristine")
@pytest.mark.parametrize("patch", PATCHES)
def test_a_change_is_found_for_as_long_as_it_lasts(patch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert soil.find_changed() == ""
    change, found = PATCHES[patch]
    with monkeypatch.context() as patched:
        change(patched)
        assert (soil.find_changed(), soil.find_changed()) == (found, found)
    assert (soil.find_changed(), soil.find_changed()) == ("", "")


@pytest.mark.usefixtures("pristine")
def test_what_the_library_rebinds_while_it_works_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "_last_timestamp", 5)
    assert soil.find_changed() == ""
    monkeypatch.setattr(uuid, "uuid4", len)
    assert soil.find_changed() == "uuid"
