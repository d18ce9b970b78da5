"""docs/toolgraph.md says what there is."""

import re

import pytest

from envmill.base.settings import ROOT
from envmill.interop.importers.tools import TOOL_LISTS
from envmill.toolgraph.evidence import EVIDENCE
from envmill.toolgraph.samplers import SAMPLERS
from tests.toolgraph.test_validity import WRONG

PAGE = (ROOT / "docs/toolgraph.md").read_text(encoding="utf-8")
SOURCES = "".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "envmill/toolgraph").glob("*.py")
)


def read_table(heading: str) -> set[str]:
    """Names in the first column of the table of that heading."""
    found = re.search(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert found is not None
    return {
        name for row in found[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }


@pytest.mark.parametrize(
    ("heading", "members"), [("reader", TOOL_LISTS), ("evidence", EVIDENCE), ("sampler", SAMPLERS)]
)
def test_every_member_is_told_of(heading: str, members: dict[str, object]) -> None:
    assert read_table(heading) == set(members)


def test_every_fault_is_told_of_and_tried() -> None:
    told = read_table("code")
    assert {code for code, _ in WRONG.values()} | {"too_long"} == told
    assert all(f'"{code}"' in SOURCES for code in told)
