"""The version of the judging code changes with any of its files, and with nothing else."""

from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.verifiers import version
from envmill.verifiers.version import find_verifier_version, follow_imports, hash_files


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
        Path, "read_bytes", lambda self: read(self) + (b"# x" if self == ROOT / name else b"")
    )
    assert (version.find_verifier_version.__wrapped__() != before) is changes


def test_a_byte_that_moves_to_the_next_file_is_another_hash() -> None:
    assert hash_files({"a": b"xy", "b": b"z"}) != hash_files({"a": b"x", "b": b"yz"})
