"""An exported program that goes looking for what judges it: on disk, in its process, in those
around it. It finds nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.bundles import read_folder
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.bundles.envrun.court import JudgeError, JudgeProcess
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.kinds import KINDS
from envmill.runtime.jail.client import JailError
from envmill.runtime.jail.layers import KERNEL_LAYERS, LAYERS
from schemas.environment import Call
from schemas.scenario import Check, Verifier
from tests.interop.bundles.openers import ask_bare, run_bare
from tests.specimens import PROGRAM, VERIFIER, make_environment, make_scenario

SECRET = "the drill is lent"
"""Name of a goal: it stands in the verifier alone."""

SPY = (
    PROGRAM
    + '''
    def peek(self, path: str) -> str:
        """Read a file.

        Args:
            path: Which.
        """
        try:
            with open(path) as opened:
                return opened.read()
        except Exception as error:
            return "no: " + type(error).__name__

    def rummage(self, folder: str) -> str:
        """Look through memory, what is open, what others run, and a folder.

        Args:
            folder: Which.
        """
        found = []
        for look in (self._memory, self._frames, self._open_files, self._others):
            try:
                found.append(look())
            except Exception as error:
                found.append("no: " + type(error).__name__)
        try:
            import os
            found.append(str(os.listdir(folder)))
        except Exception as error:
            found.append("no: " + type(error).__name__)
        return " | ".join(found)

    def _memory(self):
        import gc
        return " ".join(repr(one)[:2000] for one in gc.get_objects() if isinstance(one, (dict, list, tuple)))[:400000]

    def _frames(self):
        import sys
        frame, told = sys._getframe(), []
        while frame:
            told.append(repr(dict(frame.f_locals))[:5000])
            frame = frame.f_back
        return " ".join(told)

    def _open_files(self):
        import os
        told = []
        for number in range(64):
            try:
                told.append(os.pread(number, 100000, 0).decode("utf-8", "replace"))
            except OSError:
                pass
        return " ".join(told)

    def _others(self):
        import os
        told = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                with open("/proc/" + name + "/cmdline") as opened:
                    told.append(opened.read())
        return " ".join(told)
'''
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    effects: Any = {
        "list_tools": "query",
        "get_member": "query",
        "lend": "change",
        "peek": "query",
        "rummage": "query",
    }
    tools = KINDS["stateful"].derive_tools(SPY, "Shed", effects)
    spied = make_environment(SPY, tools=tools)
    output = pack_environment(spied, [make_scenario(spied)])
    write_output(output, tmp_path, "r")
    return tmp_path / output.name


def look_everywhere(bundle: Bundle, folder: Path) -> Iterator[str]:
    episode = bundle.begin("000")
    for path in (
        "scenarios/000/verifier.json",
        "scenarios/000/scenario.json",
        "envrun/judge/__main__.py",
    ):
        yield str(episode.call("peek", {"path": str(folder / path)}))
    yield str(episode.call("rummage", {"folder": str(folder)}))


def test_the_program_sees_neither_verifier_nor_reference_path(folder: Path) -> None:
    with Bundle(folder) as bundle:
        seen = list(look_everywhere(bundle, folder))
    assert [one for one in seen if SECRET in one or "oracle" in one or "verifier.json" in one] == []
    assert all("'no: " in one for one in seen[:3]), seen


def test_the_spy_would_see_it_where_nothing_holds(folder: Path) -> None:
    with Bundle(folder, trusted=True, without=LAYERS) as bundle:
        seen = list(look_everywhere(bundle, folder))
    assert SECRET in seen[0]
    assert "scenarios" in seen[3]


def test_without_kernel_layers_it_refuses_until_it_is_told(folder: Path) -> None:
    with pytest.raises(JailError, match="trusted"), Bundle(folder, without=KERNEL_LAYERS) as bundle:
        bundle.begin("000")


def test_the_command_line_lists_plays_and_scores(folder: Path, tmp_path: Path) -> None:
    lend = Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"}).model_dump_json()
    assert (
        run_bare(folder, ["list"]).stdout == "000\ttrain\tachieve\tPlease lend the drill to Ada.\n"
    )
    (shown,) = ask_bare(folder, ["show", "000"])
    told, asked = "It is Monday, 2026-03-02, 09:00.", "Please lend the drill to Ada."
    assert shown["messages"] == [
        {"role": "system", "content": told},
        {"role": "user", "content": asked},
    ]
    told, before, replied, after = ask_bare(
        folder, ["open", "000"], f'{{"score": true}}\n{lend}\n{{"score": true}}\n'
    )
    assert ("oracle" in told, before["outcome"], replied["reply"]["ok"], after["reward"]) == (
        False,
        "fail",
        True,
        1.0,
    )
    (tmp_path / "moves.jsonl").write_text(f'{lend}\n{{"say": "Done."}}\n')
    assert ask_bare(folder, ["score", "000", str(tmp_path / "moves.jsonl")])[0]["outcome"] == "pass"
    assert ask_bare(folder, ["check"]) == [
        {"scenario": "000", "sound": True, "oracle": 1.0, "do_nothing": 0.0}
    ]


def test_our_own_reader_reads_it_back(folder: Path) -> None:
    read = read_folder(folder)
    assert read.environment.id == folder.name
    assert read.scenarios == (make_scenario(read.environment),)
    told = json.loads((folder / "provenance.json").read_text())
    assert told["scenarios"]["000"]["id"] == read.scenarios[0].id
    assert told["canary"] in (folder / "README.md").read_text()
    assert told["canary"] in (folder / "NOTICE").read_text()


def test_a_pattern_that_is_not_judged_here_is_listed() -> None:
    shed = make_environment()
    greek = Verifier.model_validate(
        {
            **VERIFIER.model_dump(),
            "facts": [{"name": "letter", "kind": "pattern", "value": r"\p{Greek}"}],
        }
    )
    output = pack_environment(
        shed, [make_scenario(shed), make_scenario(shed, number=1, verifier=greek)]
    )
    assert list(json.loads(output.files["provenance.json"])["not_judged_here"]) == ["001"]
    assert b"- 001: the fact 'letter' is a pattern" in output.files["README.md"]


@pytest.mark.parametrize(
    ("words", "said", "complaint"),
    [
        pytest.param(["show", "999"], "", "There are: 000", id="scenario"),
        pytest.param(["score", "000", "/nowhere"], "", "cannot be read", id="file"),
        pytest.param(
            ["open", "000"], "{lend}\n", "input, line 1, column 2: it is no JSON", id="json"
        ),
        pytest.param(["open", "000"], '{"do": 1}\n', "Write a call as name", id="move"),
    ],
)
def test_wrong_use_is_told_with_the_mend(
    folder: Path, words: list[str], said: str, complaint: str
) -> None:
    done = run_bare(folder, words, said)
    assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr


def test_a_dead_judge_is_no_verdict_and_the_next_question_has_another(folder: Path) -> None:
    with Bundle(folder) as bundle:
        episode = bundle.begin("000")
        assert episode.score()["outcome"] == "fail"
        judge = bundle.court._judge
        assert judge
        judge.kill()
        judge.wait()
        with pytest.raises(JudgeError, match="Ask again"):
            episode.score()
        assert episode.score()["outcome"] == "fail"
        bundle.jail.close()
        with pytest.raises(JailError):
            episode.score()


def test_a_pattern_without_end_decides_nothing(folder: Path) -> None:
    """Where RE2 would have answered: the process has its time, and then the verdict is an error."""
    court = folder / "envrun/judge/__main__.py"
    court.write_text(court.read_text().replace("SECONDS = 60", "SECONDS = 1"))
    endless = {
        "goals": [],
        "guards": [],
        "frame": [],
        "facts": [{"name": "endless", "kind": "pattern", "value": "(?:a+)+b"}],
    }
    judge = JudgeProcess(
        folder / "envrun/judge", lambda: pytest.fail("nothing here is heard in a jail")
    )
    ending = {"initial": {}, "final": {}, "deeds": [], "said": ["a" * 60]}
    told = judge.decide(endless, ending, "2026-03-02T09:00:00+00:00")
    assert (told["outcome"], told["reward"]) == ("error", None)
    assert "processor time" in told["reason"]
    assert (
        judge.decide(endless, ending | {"said": ["aab"]}, "2026-03-02T09:00:00+00:00")["outcome"]
        == "pass"
    )
    judge.close()


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("bool(final['loans'])", "fail"),
        ("not final['loans']", "pass"),
        ("1 / 0", "error"),
        ("final.pop('loans') == {}", "error"),
        ("1", "error"),
    ],
)
def test_a_generated_check_that_says_neither_decides_nothing(
    tmp_path: Path, body: str, outcome: str
) -> None:
    check = Check(
        name="nobody has anything",
        op="generated",
        path=[],
        source=f"def check(initial, final):\n    return {body}\n",
    )
    shed = make_environment()
    output = pack_environment(
        shed, [make_scenario(shed, verifier=Verifier(goals=[check], guards=[], frame=[]))]
    )
    write_output(output, tmp_path, "r")
    with Bundle(tmp_path / output.name) as bundle:
        verdict = bundle.play("000", [])
    assert (verdict["outcome"], verdict["reward"]) == (
        outcome,
        {"pass": 1.0, "fail": 0.0, "error": None}[outcome],
    )
    assert ("said neither yes nor no" in verdict["reason"]) is (outcome == "error")


def test_a_tool_that_crashes_is_the_environment_s_affair(tmp_path: Path) -> None:
    broken = make_environment(PROGRAM.replace('key = new_id("loan")', "key = 1 / 0"))
    output = pack_environment(broken, [make_scenario(broken)])
    write_output(output, tmp_path, "r")
    with Bundle(tmp_path / output.name) as bundle:
        verdict = bundle.play(
            "000", [{"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}]
        )
    assert (verdict["outcome"], verdict["reward"]) == ("error", None)
