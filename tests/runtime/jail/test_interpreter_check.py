"""What a program left behind in the interpreter is found, in the modules it imports and nowhere
else; and which imports are listed."""

import collections.abc
import decimal
import enum
import json
import keyword
import random
import re
import string
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from envmill.runtime import session
from envmill.runtime.jail import interpreter_check
from envmill.runtime.jail.imports import SETTLED, find_unsettled, list_imports, load_ahead
from envmill.runtime.virtual import reset

IMPORTED = ("decimal", "enum", "json", "keyword", "random", "re", "uuid")


@pytest.fixture
def pristine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, empty in (("_watched", {}), ("_modules", {}), ("_limits", [])):
        monkeypatch.setattr(interpreter_check, name, empty)
    interpreter_check.remember((*IMPORTED, "string"))
    interpreter_check.watch(IMPORTED)


PATCHES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "function": (lambda patch: patch.setattr(json, "dumps", len), "json"),
    "new name": (lambda patch: patch.setattr(json, "mine", 1, raising=False), "json"),
    "gone": (lambda patch: patch.delattr(json, "loads"), "json"),
    "method": (lambda patch: patch.setattr(random.Random, "choice", len), "Random"),
    "setting of a class": (
        lambda patch: patch.setattr(json.JSONEncoder, "item_separator", ";"),
        "JSONEncoder",
    ),
    "setting of an object": (
        lambda patch: patch.setattr(json._default_encoder, "indent", 2),  # pyright: ignore
        "json._default_encoder",
    ),
    "submodule": (
        lambda patch: patch.setattr(json.encoder, "FLOAT_REPR", str, raising=False),
        "json.encoder",
    ),
    "list": (lambda patch: patch.setattr(keyword, "kwlist", [*keyword.kwlist, "mine"]), "keyword"),
    "entry of a dictionary": (
        lambda patch: patch.setitem(json.encoder.ESCAPE_DCT, "é", "e"),
        "json.encoder.ESCAPE_DCT",
    ),
    "ours": (lambda patch: patch.setattr(session.Session, "call", len), "Session"),
    "builtin": (lambda patch: patch.setattr("builtins.mine", 1, raising=False), "builtins"),
    "past the module": (lambda patch: patch.setitem(vars(json), "dumps", len), "json"),
    "context of decimals": (
        lambda patch: patch.setattr(decimal.DefaultContext, "prec", 5),
        "the interpreter's limits",
    ),
}


@pytest.mark.usefixtures("pristine")
@pytest.mark.parametrize("patch", PATCHES)
def test_a_change_is_found_for_as_long_as_it_lasts(
    patch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert interpreter_check.find_changed() == ""
    change, found = PATCHES[patch]
    with monkeypatch.context() as patched:
        change(patched)
        assert (interpreter_check.find_changed(), interpreter_check.find_changed()) == (
            found,
            found,
        )
    assert (interpreter_check.find_changed(), interpreter_check.find_changed()) == ("", "")


@pytest.mark.usefixtures("pristine")
def test_an_entry_of_a_list_is_found() -> None:
    words: Any = keyword.kwlist
    words.append("mine")
    try:
        assert interpreter_check.find_changed() == "keyword.kwlist"
    finally:
        words.pop()


@pytest.mark.usefixtures("pristine")
def test_a_class_that_is_registered_is_found() -> None:
    collections.abc.Sized.register(type("Mine", (), {}))
    assert interpreter_check.find_changed() == "the interpreter's limits"


@pytest.mark.usefixtures("pristine")
def test_a_module_that_is_not_imported_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string, "mine", 1, raising=False)
    assert interpreter_check.find_changed() == ""
    interpreter_check.watch(["string", "of_its_own"])
    assert interpreter_check.find_changed() == "string"


@pytest.mark.usefixtures("pristine")
def test_honest_work_is_no_change() -> None:
    """Caches fill, flags combine, chance is drawn."""
    colours = enum.Flag("colours", ("RED", "BLUE"))
    assert colours["RED"] | colours["BLUE"]
    re.compile(f"a{uuid.uuid1()}", re.IGNORECASE | re.MULTILINE | re.VERBOSE)
    random.seed(5)
    random.gauss(0, 1)
    assert json.loads(json.dumps({"a": [1, None, "é"]}, sort_keys=True, indent=1))
    assert decimal.Decimal(1) / 3
    assert interpreter_check.find_changed() == ""


@pytest.mark.usefixtures("pristine")
def test_what_the_library_rebinds_while_it_works_is_no_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uuid, "_last_timestamp", 5)
    assert interpreter_check.find_changed() == ""
    monkeypatch.setattr(uuid, "uuid4", len)
    assert interpreter_check.find_changed() == "uuid"


def test_flags_and_traps_of_decimals_are_set_back() -> None:
    with decimal.localcontext():
        reset()
        began = repr(decimal.getcontext())
        decimal.getcontext().traps[decimal.Inexact] = False
        assert decimal.Decimal(1) / 3
        assert repr(decimal.getcontext()) != began
        reset()
        assert repr(decimal.getcontext()) == began


IMPORTS: dict[str, tuple[str, set[str]]] = {
    "none": ("x = 1", set()),
    "plain": ("import json, csv as c", {"json", "csv"}),
    "from": ("from urllib.parse import quote", {"urllib.parse"}),
    "a module out of another": (
        "from json import codecs as c, dumps\nfrom collections import abc, deque",
        {"json", "codecs", "collections", "collections.abc"},
    ),
    "classes of others": ("x = ValueError.__subclasses__()", {"__subclasses__"}),
    "in a method": (
        "class A:\n    def f(self):\n        def g():\n            import logging",
        {"logging"},
    ),
    "by name": ("def f(): return __import__('csv')", {"__import__"}),
    "by text": ("eval('1')", {"eval"}),
    "after many names": (
        "\n".join(f"a{n}.b{n}" for n in range(300)) + "\nimport calendar",
        {"calendar"},
    ),
    "after very many names": (
        "\n".join(f"a{n}.b{n}" for n in range(40_000)) + "\nimport calendar",
        {"calendar"},
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_are_listed(name: str) -> None:
    source, found = IMPORTS[name]
    assert list_imports([compile(source, "program.py", "exec")]) == found


def test_what_may_carry_something_over_is_not_settled() -> None:
    assert find_unsettled(["json", "program", "rules.basic"], ["program", "rules.basic"]) == []
    reaching = [
        "calendar",
        "codecs",
        "csv",
        "eval",
        "gc",
        "locale",
        "logging",
        "sys",
        "warnings",
        "weakref",
    ]
    assert find_unsettled([*reaching, "json"], []) == reaching


def test_every_settled_module_is_loaded_ahead() -> None:
    """One that is not could not be watched."""
    load_ahead()
    assert [name for name in sorted(SETTLED) if name not in sys.modules] == []
