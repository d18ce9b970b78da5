"""Checks that mean harm reach nothing outside, and no later verdict hears them."""

import re
from pathlib import Path
from typing import Any

import pytest

from envmill.runtime.jail.judging import JudgeLoop
from envmill.sandbox import CheckReply, CheckSession, Sandbox
from tests.hostile.court import COURT, MARK, Plea

CLOCK = "2026-03-01T09:00:00Z"
YES = "def check(initial, final):\n    return initial['open'] and not final['open']\n"
NO = "def check(initial, final):\n    return final['open']\n"
LONGEST = 4000
"""Characters of a reason: what goes wrong is told in a few lines."""


async def hear(jail: Sandbox, path: Path, *sources: str, **more: Any) -> list[CheckReply]:
    initial, final = {"open": True, "path": str(path)}, {"open": False, "path": str(path)}
    return await jail.judge(CheckSession(sources, initial, final | more, CLOCK))


def find_harm(plea: Plea, said: CheckReply) -> str:
    """What an attack achieved as far as its own words tell; empty when nothing."""
    if len(said.message) > LONGEST:
        return f"{len(said.message)} characters of reason"
    if said.holds is None:
        return "" if said.code in (*plea.codes, "timeout") else f"it ended otherwise than expected: {said.code} {said.message[:200]}"
    return "it got what it wanted" if said.holds and not plea.own else ""


@pytest.mark.parametrize("name", COURT)
async def test_a_hostile_check_harms_no_other_verdict(jail: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    mark = "".join(MARK)
    monkeypatch.setenv("ENVMILL_KEEPSAKE", mark)
    path = tmp_path / "watched"
    path.write_text(mark)
    await hear(jail, path, YES, note=mark)
    (said,) = await hear(jail, path, COURT[name].source)
    assert find_harm(COURT[name], said) == ""
    for _ in range(2):
        assert [one.holds for one in await hear(jail, path, YES, NO)] == [True, False]
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir() if one.is_file() and one.name.startswith("watched")] == [
        ("watched", mark)
    ]
    assert not Path(f"{path}.d").exists()


SIBLING = "m = type(sys)('check_2'); m.check = lambda initial, final: True; sys.modules['check_2'] = m"
PATCH = "judging.JudgeLoop._run_check = lambda self, name: judging.EMPTY | {'parts': [{'type': 'json', 'value': True}]}"
REACH = COURT["forks"].source.partition("MARK =")[0]
FORGING: dict[str, str] = {
    "puts another check in its sibling's place": f"import sys\ndef check(initial, final):\n    {SIBLING}\n    return True\n",
    "does so when it is imported": f"import sys\n{SIBLING}\ndef check(initial, final): return True\n",
    "patches the one it imports": "import check_2\ncheck_2.check = lambda initial, final: True\ndef check(initial, final): return True\n",
    "patches the judge": f"{REACH}def check(initial, final):\n    {PATCH}\n    return True\n",
    "patches the judge when it is imported": f"{REACH}{PATCH}\ndef check(initial, final): return True\n",
}


@pytest.mark.parametrize("name", FORGING)
async def test_a_check_speaks_for_itself_alone(jail: Sandbox, tmp_path: Path, name: str) -> None:
    """What decides is the other check of the same verdict, which says no."""
    hostile, no = await hear(jail, tmp_path, FORGING[name], NO)
    assert no.holds is False, no
    assert hostile.holds in (True, None)


@pytest.mark.parametrize(
    "module", ["ctypes", "_ctypes", "envmill.runtime.jail.judging", "envmill.runtime.jail", "envmill.runtime.jail.wire"]
)
async def test_a_check_imports_neither_the_judge_nor_the_c_library(jail: Sandbox, tmp_path: Path, module: str) -> None:
    imports = f"import {module}\ndef check(initial, final): return True\n"
    attribute = "import envmill.runtime\ndef check(initial, final): return hasattr(envmill.runtime, 'jail')\n"
    imported, held = await hear(jail, tmp_path, imports, attribute)
    assert (imported.holds, imported.code) == (None, "crash")
    assert "ModuleNotFoundError" in imported.message
    assert held.holds is False


def test_what_attacks_replace_in_the_judge_is_there() -> None:
    """A method by another name would be added, and the attack would try nothing."""
    replaced = set(re.findall(r"JudgeLoop\.(\w+) =", f"{PATCH} {' '.join(plea.source for plea in COURT.values())}"))
    assert len(replaced) == 2
    assert [name for name in replaced if not hasattr(JudgeLoop, name)] == []


@pytest.mark.parametrize(
    ("plea", "said"),
    [
        pytest.param(Plea(""), CheckReply(True), id="got what it wanted"),
        pytest.param(Plea("", ("crash",)), CheckReply(None, "build", "no"), id="ended otherwise"),
        pytest.param(Plea("", ("crash",), own=True), CheckReply(None, "crash", "x" * 100_000), id="said too much"),
    ],
)
def test_harm_is_seen(plea: Plea, said: CheckReply) -> None:
    assert find_harm(plea, CheckReply(False)) == ""
    assert find_harm(plea, said)


async def test_the_search_finds_what_is_there(jail: Sandbox, tmp_path: Path) -> None:
    (said,) = await hear(jail, tmp_path, COURT["searches memory for what others hold"].source, note="".join(MARK))
    assert find_harm(COURT["searches memory for what others hold"], said) == "it got what it wanted"
