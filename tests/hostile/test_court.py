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
        return (
            ""
            if said.code in (*plea.codes, "timeout")
            else f"it ended otherwise than expected: {said.code} {said.message[:200]}"
        )
    return "it got what it wanted" if said.holds and not plea.own else ""


@pytest.mark.parametrize("name", COURT)
async def test_a_hostile_check_harms_no_other_verdict(
    jail: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mark = "".join(MARK)
    monkeypatch.setenv("ENVMILL_KEEPSAKE", mark)
    path = tmp_path / "watched"
    path.write_text(mark)
    await hear(jail, path, YES, note=mark)
    (said,) = await hear(jail, path, COURT[name].source)
    assert find_harm(COURT[name], said) == ""
    for _ in range(2):
        assert [one.holds for one in await hear(jail, path, YES, NO)] == [True, False]
    assert [
        (one.name, one.read_text())
        for one in tmp_path.iterdir()
        if one.is_file() and one.name.startswith("watched")
    ] == [("watched", mark)]
    assert not Path(f"{path}.d").exists()


SIBLING = (
    "m = type(sys)('check_2'); m.check = lambda initial, final: True; sys.modules['check_2'] = m"
)
PATCH = (
    "judging.JudgeLoop._run_check = lambda self, name: judging.EMPTY | {'parts': [{'type': "
    "'json', 'value': True}]}"
)
REACH = COURT["forks"].source.partition("MARK =")[0]
FORGING: dict[str, str] = {
    "puts another check in its sibling's place": f"import sys\ndef check(initial, final):\n    {SIBLING}\n    return True\n",
    "does so when it is imported": f"import sys\n{SIBLING}\ndef check(initial, final): return True\n",
    "patches the one it imports": "import check_2\ncheck_2.check = lambda initial, final: True\ndef check(initial, final): "
    "return True\n",
    "patches the judge": f"{REACH}def check(initial, final):\n    {PATCH}\n    return True\n",
    "patches the judge when it is imported": f"{REACH}{PATCH}\ndef check(initial, final): return True\n",
}


@pytest.mark.parametrize("name", FORGING)
async def test_a_check_speaks_for_itself_alone(jail: Sandbox, tmp_path: Path, name: str) -> None:
    """What decides is the other check of the same verdict, which says no."""
    hostile, no = await hear(jail, tmp_path, FORGING[name], NO)
    assert no.holds is False, no
    assert hostile.holds in (True, None)


KNOWN_TO_ANOTHER = "only-the-other-check-knows-this"
SEARCHES: dict[str, str] = {
    "modules": "found = [str(vars(module)) for module in list(sys.modules.values())]",
    "importers": "found = [read(code) for each in sys.meta_path for code in getattr(each, 'codes', "
    "{}).values()]",
    "lines": "found = [str(linecache.cache)]",
    "frames": "found = [str(frame.f_locals) + read(frame.f_code) for frame in list_frames()]",
    "collector": "found = [read(each) for each in list_inner()]",
    "classes": "found = [str(vars(each)) for each in object.__subclasses__()]",
}
"""Where a check looks for what another check of its verdict knows."""
SEARCHING = """
import gc, linecache, sys, types

def read(each):
    if not hasattr(each, "co_consts"): return str(each)
    return "\\n".join(map(read, each.co_consts))

def list_frames():
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back

def list_inner():
    # Texts and code are not tracked: what holds them is.
    met = set()
    for each in gc.get_objects():
        for inner in gc.get_referents(each):
            if id(inner) not in met and isinstance(inner, (str, types.CodeType)):
                met.add(id(inner))
                yield inner

def check(initial, final):
    SEARCH
    return any("".join(["only-the-other-", "check-knows-this"]) in each for each in found)
"""


@pytest.mark.parametrize("where", SEARCHES)
async def test_a_check_finds_nothing_of_another(jail: Sandbox, tmp_path: Path, where: str) -> None:
    knowing = f"def check(initial, final):\n    return final['path'] == {KNOWN_TO_ANOTHER!r}\n"
    searching = SEARCHING.replace("SEARCH", SEARCHES[where])
    other, searched = await hear(jail, tmp_path, knowing, searching)
    assert other.holds is False
    assert searched.holds is False, searched


@pytest.mark.parametrize("where", ["importers", "lines", "collector"])
async def test_the_searches_find_what_is_there(jail: Sandbox, tmp_path: Path, where: str) -> None:
    """The same search, in a check that itself holds the word."""
    searching = SEARCHING.replace("SEARCH", SEARCHES[where]) + f"MINE = {KNOWN_TO_ANOTHER!r}\n"
    (searched,) = await hear(jail, tmp_path, searching)
    assert searched.holds is True, searched


DECIDING = """
import gc, sys

YES = {"type": "json", "value": True}

def list_objects():
    frame = sys._getframe()
    while frame:
        yield from list(frame.f_globals.values())
        yield from list(frame.f_locals.values())
        frame = frame.f_back
    yield from gc.get_objects()

def check(initial, final):
    for each in list_objects():
        WAY
    return False
"""
WAYS: dict[str, str] = {
    "runs of every loop": "if hasattr(each, '_run_check'): type(each)._run_check = lambda self, name: {'parts': "
    "[YES]}",
    "what an observation begins as": "if type(each) is dict and 'state_hash' in each: each['parts'] = [YES]",
    "what renders": "if type(each) is dict and 'SessionLoop' in each: each['render'] = lambda told: b'{}'",
}
"""Objects of the judge that a check changes, found by frames and by the collector."""


@pytest.mark.parametrize("way", WAYS)
async def test_what_a_check_changes_in_the_judge_decides_for_no_other(
    jail: Sandbox, tmp_path: Path, way: str
) -> None:
    hostile = DECIDING.replace("WAY", WAYS[way])
    assert [one.holds for one in await hear(jail, tmp_path, NO, hostile, NO, YES)][::2] == [
        False,
        False,
    ]
    assert [one.holds for one in await hear(jail, tmp_path, YES, NO)] == [True, False]


@pytest.mark.parametrize(
    "module",
    [
        "ctypes",
        "_ctypes",
        "envmill.runtime.jail.judging",
        "envmill.runtime.jail",
        "envmill.runtime.jail.wire",
    ],
)
async def test_a_check_imports_neither_the_judge_nor_the_c_library(
    jail: Sandbox, tmp_path: Path, module: str
) -> None:
    imports = f"import {module}\ndef check(initial, final): return True\n"
    attribute = (
        "import envmill.runtime\ndef check(initial, final): return hasattr(envmill.runtime, "
        "'jail')\n"
    )
    imported, held = await hear(jail, tmp_path, imports, attribute)
    assert (imported.holds, imported.code) == (None, "crash")
    assert "ModuleNotFoundError" in imported.message
    assert held.holds is False


def test_what_attacks_replace_in_the_judge_is_there() -> None:
    """A method by another name would be added, and the attack would try nothing."""
    replaced = set(
        re.findall(
            r"JudgeLoop\.(\w+) =", f"{PATCH} {' '.join(plea.source for plea in COURT.values())}"
        )
    )
    assert len(replaced) == 2
    assert [name for name in replaced if not hasattr(JudgeLoop, name)] == []


@pytest.mark.parametrize(
    ("plea", "said"),
    [
        pytest.param(Plea(""), CheckReply(True), id="got what it wanted"),
        pytest.param(Plea("", ("crash",)), CheckReply(None, "build", "no"), id="ended otherwise"),
        pytest.param(
            Plea("", ("crash",), own=True),
            CheckReply(None, "crash", "x" * 100_000),
            id="said too much",
        ),
    ],
)
def test_harm_is_seen(plea: Plea, said: CheckReply) -> None:
    assert find_harm(plea, CheckReply(False)) == ""
    assert find_harm(plea, said)


async def test_the_search_finds_what_is_there(jail: Sandbox, tmp_path: Path) -> None:
    (said,) = await hear(
        jail, tmp_path, COURT["searches memory for what others hold"].source, note="".join(MARK)
    )
    assert find_harm(COURT["searches memory for what others hold"], said) == "it got what it wanted"
