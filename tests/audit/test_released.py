"""The page of the public audit: what it says of a release is what was found, in names and numbers
alone."""

import re
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.settings import ROOT
from envmill.gates.base import Finding
from envmill.interop.importers import IMPORTERS
from envmill.pipeline.audit import AuditEntry
from envmill.sandbox import Sandbox
from tests.audit.released import audit_release, find_chance, render_row, write_page
from tests.interop.importers.release import (
    LIBRARY,
    STATE,
    make_environments,
    make_scenario,
    write_release,
)
from tests.real import find_real_programs

PAGE = ROOT / "docs/audit/envscaler-released.md"


@pytest.mark.long
async def test_a_page_names_gates_tools_checks_and_chance_and_quotes_nothing(
    tmp_path: Path,
) -> None:
    release = write_release(tmp_path / "release", make_environments(), [make_scenario()])
    page = "\n".join(write_page(*await audit_release(release)))
    assert "paid in 1 of 1 scenarios; the mean over all is 0.333" in page
    assert re.search(r"^\| task_1 \| 3 \| 0\.333 \| 3 \|", page, re.MULTILINE)
    assert re.search(r"^\| env_1_rl \| `Library` \| 3 \|", page, re.MULTILINE)
    assert re.search(r"^\| env_1_rl \| `uuid\.uuid4` × 1 \|", page, re.MULTILINE)
    assert re.search(r"^\| env_2_sft \| nothing found \|", page, re.MULTILINE)
    assert re.search(r"^\| env_1_rl \| 3 \| 3 \| TypeError × \d+", page, re.MULTILINE)
    assert "| env_2_sft | sell_tool | refused | `no_method` |" in page
    assert [
        text
        for text in ("Lend the atlas", "Has thing", "No such book", STATE["books"]["B1"]["title"])
        if text in page
    ] == []


def test_of_several_findings_of_a_gate_a_table_shows_the_worst() -> None:
    outcomes = {
        "W1": ["kept"],
        "W8": ["corrected", "suspected", "kept"],
        "W11": ["suspected", "dropped"],
        "W3": ["not_measured"],
    }
    entries = [
        AuditEntry("environments", "env_1", "", "", Finding(gate, cast(Any, outcome), "r"))
        for gate, found in outcomes.items()
        for outcome in found
    ] + [AuditEntry("environments", "env_2", "", "", Finding("W1", "dropped", "r"))]
    assert render_row(entries, "env_1", ["W1", "W3", "W8", "W11", "W13"]) == "+ | ? | ~ | - |  "


def test_chance_is_read_from_calls_and_not_from_words() -> None:
    assert find_chance(LIBRARY) == {"uuid.uuid4": 1}
    code = (
        "from datetime import datetime\nx = [datetime.now(), datetime.max, time.time(), "
        "random.choice([1]), up.time_left()]"
    )
    assert find_chance(code) == {"datetime.now": 1, "time.time": 1, "random.choice": 1}


@pytest.mark.long
async def test_the_tracked_page_says_what_the_release_pays_for_nothing(sandbox: Sandbox) -> None:
    harvest = await IMPORTERS["envscaler"](find_real_programs(), sandbox)
    posed = [scenario for folder in harvest.folders.values() for scenario in folder.scenarios]
    rewards = {
        str(one.features["released_as"]): (
            str(len(one.verifier.goals)),
            f"{one.do_nothing_reward:.3f}",
        )
        for one in posed
    }
    page = PAGE.read_text(encoding="utf-8")
    assert {
        name: (checks, reward)
        for name, checks, reward in re.findall(
            r"^\| (\S+) \| (\d+) \| (\d\.\d+) \|", page, re.MULTILINE
        )
    } == rewards
    assert "paid in 17 of 23 scenarios; the mean over all is 0.155" in page
    assert not [
        one
        for one in posed
        if one.request[:40] in page or any(check.name in page for check in one.verifier.goals)
    ]
