"""Hostile files of moves: told with file, line and mend, and never with the exit code of a check
that did not hold."""

import json
from pathlib import Path

import pytest

from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from tests.interop.bundles.openers import run_bare
from tests.specimens import make_environment, make_scenario

LEND = '{"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}'
HEAD = (
    '{"recording": 1, "program": "p", "scenario": "000", "seed": 0, "clock": '
    '"2026-03-02T09:00:00+00:00", "state_hash": "h"}'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shed = make_environment()
    output = pack_environment(shed, [make_scenario(shed)])
    out = tmp_path_factory.mktemp("out")
    write_output(output, out, "r")
    return out / output.name


HOSTILE = [
    pytest.param('{"name": "lend", "arguments": {"tool_id": NaN}}', "it is no JSON", id="nan"),
    pytest.param('{"advance": Infinity}', "it is no JSON", id="infinity"),
    pytest.param('{"advance": 1e999}', "it is no JSON", id="beyond-numbers"),
    pytest.param('{"name": 7}', "the field 'name' is '7'", id="name-is-no-text"),
    pytest.param(
        '{"name": null, "arguments": {}}', "the field 'name' is 'None'", id="name-is-null"
    ),
    pytest.param(
        '{"name": "lend", "arguments": "T1"}',
        "the field 'arguments' is 'T1'",
        id="arguments-as-text",
    ),
    pytest.param(
        '{"name": "lend", "arguments": ["T1"]}', "the field 'arguments'", id="arguments-as-list"
    ),
    pytest.param(
        '{"name": "lend", "arguments": {}, "actor": ["agent"]}',
        "the field 'actor'",
        id="actor-is-no-text",
    ),
    pytest.param('{"say": {"text": "Done."}}', "the field 'say'", id="words-are-no-text"),
    pytest.param('{"say": "\\ud800"}', "half a character", id="half-character"),
    pytest.param('{"advance": "soon"}', "the field 'advance' is 'soon'", id="seconds-as-text"),
    pytest.param('{"advance": true}', "the field 'advance' is 'True'", id="seconds-as-truth"),
    pytest.param(
        '{"name": "lend", "arguments": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}",
        "nested deeper",
        id="deep",
    ),
    pytest.param('{"name": "lend", "name": "list_tools"}', "stands twice", id="key-twice"),
    pytest.param("[1, 2]", "is no JSON object", id="list"),
    pytest.param('{"reward": 1.0}', "is no move", id="reward"),
    pytest.param("{", "it is no JSON", id="cut-off"),
    pytest.param(HEAD, "is no recording", id="recording-without-end"),
    pytest.param(
        HEAD.replace('"seed": 0', '"seed": "x"') + "\n",
        "seed is no int",
        id="recording-with-a-seed-of-text",
    ),
    pytest.param(HEAD + "\n[NaN]\n", "is no recording", id="recording-with-nan"),
]


@pytest.mark.long(cases=7)
@pytest.mark.parametrize(("line", "words"), HOSTILE)
def test_a_hostile_line_is_wrong_usage(folder: Path, tmp_path: Path, line: str, words: str) -> None:
    moves = tmp_path / "moves.jsonl"
    moves.write_text(line if "recording" in line else f"{LEND}\n{line}\n", encoding="utf-8")
    done = run_bare(folder, ["score", "000", str(moves)])
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert str(moves) in done.stderr
    assert "line 2" in done.stderr or "recording" in line
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "content", [b"\xff\xfe{}", b'{"say": "\xed\xa0\x80"}'], ids=["utf-16", "half-in-bytes"]
)
def test_bytes_that_are_no_text_are_wrong_usage(
    folder: Path, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "moves.jsonl").write_bytes(content)
    done = run_bare(folder, ["score", "000", str(tmp_path / "moves.jsonl")])
    assert (done.returncode, "cannot be read" in done.stderr, "Traceback" in done.stderr) == (
        2,
        True,
        False,
    ), done.stderr


@pytest.mark.long(cases=2)
@pytest.mark.parametrize(
    "line",
    [
        '{"name": "lend", "arguments": {"tool_id": 99999999999999999999999}}',
        '{"name": "no_such_tool"}',
        '{"name": "lend", "arguments": {"a": ' + "[" * 100 + "]" * 100 + "}}",
        '{"name": "lend", "arguments": {}, "actor": "nobody"}',
        '{"advance": -1}',
        '{"advance": 1e300}',
        '{"say": ""}',
        '{"name": "list_tools", "comment": "unknown fields are passed over"}',
    ],
    ids=lambda line: line[:40],
)
def test_a_move_that_earns_nothing_is_judged(folder: Path, tmp_path: Path, line: str) -> None:
    (tmp_path / "moves.jsonl").write_text(f"{line}\n")
    done = run_bare(folder, ["score", "000", str(tmp_path / "moves.jsonl")])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "fail"


def test_moves_are_checked_before_a_session_begins(folder: Path) -> None:
    with Bundle(folder) as bundle:
        with pytest.raises(Exception, match="moves, move 2: the field 'arguments'"):
            bundle.play("000", [json.loads(LEND), {"name": "lend", "arguments": "T1"}])
        assert "jail" not in bundle.__dict__
