"""The version of the judging code changes with the code of any of its files, and with nothing
else."""

from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.verifiers import version
from envmill.verifiers.version import (
    drop_prose,
    find_verifier_version,
    follow_imports,
    hash_files,
)


def test_it_covers_what_judges_and_nothing_of_records() -> None:
    followed = {str(path.relative_to(ROOT)) for path in follow_imports(["envmill.verifiers.judge"])}
    assert {
        "envmill/verifiers/facts.py",
        "envmill/language/numbers.py",
        "schemas/scenario.py",
    } <= followed
    assert not any(name.startswith(("envmill/runtime", "envmill/models")) for name in followed)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("envmill/verifiers/facts.py", True),
        ("envmill/verifiers/court.py", True),
        ("envmill/language/numbers.py", True),
        ("envmill/verifiers/derive.py", False),
        ("schemas/rollout.py", False),
    ],
)
def test_a_changed_file_is_another_version(
    name: str, changes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, read = find_verifier_version(), Path.read_bytes
    monkeypatch.setattr(
        Path, "read_bytes", lambda self: read(self) + (b"x = 1" if self == ROOT / name else b"")
    )
    assert (version.find_verifier_version.__wrapped__() != before) is changes


def test_a_byte_that_moves_to_the_next_file_is_another_hash() -> None:
    assert hash_files({"a": b"xy", "b": b"z"}) != hash_files({"a": b"x", "b": b"yz"})


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        pytest.param('"""A."""\nx = 1\n', '"""B,\nlonger."""\nx = 1\n', True, id="docstring"),
        pytest.param("x = 1  # a\n", "x = 1  # another\n", True, id="comment-behind-code"),
        pytest.param("x = 1\n", "# why\nx = 1\n", True, id="comment-on-a-line-of-its-own"),
        pytest.param('x = 1\n"""A."""\n', "x = 1\n", True, id="docstring-of-a-constant"),
        pytest.param('x = """\n# a\n"""\n', 'x = """\n# b\n"""\n', False, id="hash-in-a-text"),
        pytest.param('x = """a"""\n', 'x = """b"""\n', False, id="text-that-is-used"),
        pytest.param("x = '#a'\n", "x = '#b'\n", False, id="hash-in-a-short-text"),
        pytest.param("def f(): return 'a'\n", "def f(): 'a'\n", False, id="returned-text"),
        pytest.param('x = """a\n\nb"""\n', 'x = """a\nb"""\n', False, id="empty-line-in-a-text"),
        pytest.param("def f(): 'a'\n", "def g(): 'a'\n", False, id="code-before-a-docstring"),
        pytest.param("'a'; x = 1\n", "'a'; x = 2\n", False, id="code-behind-a-docstring"),
        pytest.param("if a:\n    b()\n", "if a:\n  b()\n", False, id="indentation"),
    ],
)
def test_only_code_is_hashed(before: str, after: str, same: bool) -> None:
    assert (drop_prose(before.encode()) == drop_prose(after.encode())) is same
