"""No tracked file says where packages come from: that is the machine's setting, and a public lock
must not carry a private address."""

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from envmill.base.settings import ROOT

ADDRESS = re.compile(
    r"""
    --(?:extra-)?index-url [\s=] | --find-links [\s=] | --trusted-host [\s=] |
    pypi\.org | pythonhosted\.org | registry\.npmjs | file:// | https?://[^\s/]*/(?:.*/)?simple\b
    """,
    re.VERBOSE,
)


def _tracked() -> list[Path]:
    found = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    )
    if found.returncode:
        pytest.skip("not a git checkout")
    return [
        path
        for name in found.stdout.split("\0")
        if name and (path := ROOT / name).is_file() and path != Path(__file__)
    ]


def test_no_index_address_is_tracked() -> None:
    texts = {path: path.read_text(encoding="utf-8", errors="ignore") for path in _tracked()}
    assert [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path, text in texts.items()
        if (found := ADDRESS.search(text))
    ] == []


INDEX, SIMPLE = "index", "simple"  # apart, or this very file would be found


@pytest.mark.parametrize(
    "text",
    [
        f"--{INDEX}-url https://packages.example/root",
        f"--extra-{INDEX}-url=x",
        "--find-links /srv/wheels",
        "https://files.pythonhosted.org/packages/aa",
        "wheel @ file:///srv/wheels/a.whl",
        f"https://packages.example/root/{SIMPLE}",
    ],
)
def test_an_address_is_seen(text: str) -> None:
    assert ADDRESS.search(text)


def test_refusing_to_write_addresses_is_no_address() -> None:
    assert not ADDRESS.search(
        "pip-compile --no-emit-index-url --no-emit-trusted-host --no-emit-find-links "
        "--output-file x"
    )


def test_lock_pins_and_hashes_everything() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [(line, after) for line, after in pairwise(lines) if line and line[0] not in " #"]
    assert len(pins) > 100
    assert [
        line
        for line, after in pins
        if not re.match(r"[\w.-]+==[\w.]+ \\$", line) or "--hash=sha256:" not in after
    ] == []
