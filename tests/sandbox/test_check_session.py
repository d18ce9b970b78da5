"""Generated checks in the judge zygote: yes, no, or an error; nothing a check does reaches another
verdict."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.sandbox import CheckReply, CheckSession, Sandbox
from tests.sandbox.processes import find_processes

CLOCK = "2026-03-01T09:00:00Z"
INITIAL: dict[str, Any] = {"items": {"i1": {"free": True}}, "log": []}
FINAL: dict[str, Any] = {"items": {"i1": {"free": False}}, "log": ["lent"]}

YES = (
    "def check(initial, final):\n    return initial['items']['i1']['free'] and not "
    "final['items']['i1']['free']\n"
)
NO = "def check(initial, final):\n    return final == initial\n"


def body(*lines: str, head: str = "") -> str:
    return "\n".join((head, "def check(initial, final):", *(f"    {line}" for line in lines), ""))


async def hear(
    jail: Sandbox, *sources: str, initial: Any = None, final: Any = None
) -> list[CheckReply]:
    return await jail.judge(
        CheckSession(
            sources,
            INITIAL if initial is None else initial,
            FINAL if final is None else final,
            CLOCK,
        )
    )


async def test_checks_say_yes_and_no(jail: Sandbox) -> None:
    assert [said.holds for said in await hear(jail, YES, NO, NO, YES)] == [True, False, False, True]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param(body("return final['nothing']"), "crash", id="raises"),
        pytest.param(body("raise SystemExit"), "crash", id="exits"),
        pytest.param(body("raise AssertionError('no')"), "crash", id="asserts"),
        pytest.param(body("while True: pass"), "timeout", id="hangs"),
        pytest.param(
            body("signal.signal(signal.SIGALRM, signal.SIG_IGN)", "while True: pass", head="import signal"), "timeout", id="hangs deaf"
        ),
        pytest.param(body("os._exit(0)", head="import os"), "killed", id="ends the process"),
        pytest.param(body("final['log'].append('more')", "return True"), "mutates", id="changes the end"),
        pytest.param(body("initial['items']['i1']['free'] = 1", "return True"), "mutates", id="changes the start, true to one"),
        pytest.param(body("final['log'].append({1})", "return True"), "mutates", id="makes the end no JSON"),
        pytest.param(body("initial['items'] = dict(initial['items'], x=lambda: 1)", "return True"), "mutates", id="puts a function in"),
        pytest.param(body("final.clear()", "final.update(initial)", "return True"), "mutates", id="lays the start over the end"),
        pytest.param(body("builtins.abs = None", "return True", head="import builtins"), "mutates", id="patches a builtin"),
        pytest.param(body("builtins.len = None", "return True", head="import builtins"), "killed", id="patches what the wire needs"),
        pytest.param(body("canonical.fingerprint = lambda it: ''", "return True", head="from envmill.runtime import canonical"),
                     "mutates", id="patches what would find it"),
        pytest.param(body("return 1"), "bad_verdict", id="one is not true"),
        pytest.param(body("return None"), "bad_verdict", id="says nothing"),
        pytest.param(body("return 'False'"), "bad_verdict", id="says a word"),
        pytest.param("def check(final): return True\n", "crash", id="takes another number of states"),
        pytest.param("def other(initial, final): return True\n", "build", id="has another name"),
        pytest.param("def check(initial, final) return True\n", "build", id="does not compile"),
        pytest.param(body("return [0] * (1 << 34) == []"), "crash", id="allocates at once"),
        pytest.param(body("a = []", "while True: a.append(bytearray(1 << 24))"), "crash|timeout", id="allocates on and on"),
        pytest.param(body("print('x' * 1000000)"), "bad_verdict", id="prints and returns nothing"),
        pytest.param("def check(initial, final, rollout): return not rollout['said'].append(1)\n", "mutates", id="changes what was said"),
        pytest.param("def check(initial, final, rollout): return bool(rollout.clear())\n", "mutates", id="forgets the calls"),
        pytest.param("def check(initial, final, rollout, more): return True\n", "crash", id="asks for more than there is"),
        pytest.param(body("return bool(open('/etc/passwd').read())"), "crash", id="reads a file"),
        pytest.param(body("return bool(socket.socket())", head="import socket"), "crash", id="opens a socket"),
        pytest.param("import time\nwhile True: pass\n", "timeout", id="hangs at import"),
    ],
)  # fmt: skip
async def test_what_is_neither_yes_nor_no_is_an_error_and_harms_no_other_verdict(
    jail: Sandbox, source: str, code: str
) -> None:
    (said,) = await hear(jail, source)
    assert said.holds is None, said
    assert said.code in code.split("|"), said
    assert said.message, "what went wrong is said in words"
    assert [said.holds for said in await hear(jail, YES, NO)] == [True, False]


DOINGS: dict[str, Any] = {
    "calls": [
        {
            "name": "lend",
            "arguments": {"item": "i1"},
            "actor": "agent",
            "outcome": "ok",
            "code": "",
            "parts": [],
        }
    ],
    "said": ["It is due on Friday."],
}


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        pytest.param(
            "def check(initial, final, rollout): return rollout['calls'][0]['name'] == 'lend'\n",
            True,
            id="calls",
        ),
        pytest.param(
            "def check(initial, final, rollout): return 'Friday' in rollout['said'][-1]\n",
            True,
            id="last words",
        ),
        pytest.param(
            "def check(initial, final, doings): return bool(doings['said'])\n",
            True,
            id="another name",
        ),
        pytest.param(
            "def check(initial, final, rollout=None): return rollout is not None\n",
            True,
            id="by that name, though it need not be",
        ),
        pytest.param(
            "def check(initial, final, slack=0.5): return slack == 0.5\n",
            True,
            id="a default of its own",
        ),
        pytest.param(
            "def check(initial, final, *, slack=0.5): return slack == 0.5\n",
            True,
            id="a keyword of its own",
        ),
        pytest.param(
            "def check(initial, final): print('said'); return final['log'] == ['lent']\n",
            True,
            id="prints, and says yes",
        ),
    ],
)
async def test_a_check_sees_what_was_done_and_said_when_it_asks(
    jail: Sandbox, source: str, holds: bool
) -> None:
    (said,) = await jail.judge(CheckSession([source], INITIAL, FINAL, CLOCK, rollout=DOINGS))
    assert said.holds is holds, said


async def test_what_one_check_does_to_the_doings_no_other_sees(jail: Sandbox) -> None:
    clear = "def check(initial, final, rollout): rollout['said'].clear(); return True\n"
    look = "def check(initial, final, rollout): return len(rollout['said']) == 1\n"
    heard = await jail.judge(
        CheckSession([look, clear, look], INITIAL, FINAL, CLOCK, rollout=DOINGS)
    )
    assert [said.holds for said in heard] == [True, None, True]


async def test_checks_before_and_after_a_bad_one_are_heard(jail: Sandbox) -> None:
    mutating = body("final.clear()", "return True")
    assert [said.holds for said in await hear(jail, YES, mutating, NO, YES)] == [
        True,
        None,
        False,
        True,
    ]
    deadly = body("os._exit(0)", head="import os")
    before, dead, after = await hear(jail, YES, deadly, YES)
    assert (before.holds, dead.code, after.holds) == (True, "killed", True)


async def test_a_state_that_is_no_json_is_refused_before_it_travels(jail: Sandbox) -> None:
    with pytest.raises(BuildError, match="plain JSON"):
        await hear(jail, YES, final={"bad": {1, 2}})


async def test_every_check_of_every_verdict_has_a_process_of_its_own(jail: Sandbox) -> None:
    remembering = body(
        "json.seen = getattr(json, 'seen', 0) + 1", "return json.seen == 1", head="import json"
    )
    heard = [said for _ in range(3) for said in await hear(jail, remembering, remembering)]
    assert [said.code for said in heard] == ["mutates"] * 6
    naming = body("builtins.__dict__.setdefault('x', 1)", "return True", head="import builtins")
    clean = body("return not hasattr(builtins, 'x')", head="import builtins")
    assert [said.holds for said in await hear(jail, naming, clean)] == [None, True]


async def test_time_is_the_scenario_s(jail: Sandbox) -> None:
    clock = body(
        "return datetime.datetime.now().isoformat() == '2026-03-01T09:00:00'",
        head="import datetime",
    )
    assert (await hear(jail, clock))[0].holds is True


async def test_large_states_and_odd_numbers_pass_through(jail: Sandbox) -> None:
    rows = {
        f"r{number}": {"text": 'ä\u2028"\\' * 40, "amount": number / 7} for number in range(20_000)
    }
    asking = body(
        "return len(final['rows']) == 20000 and final['rows']['r3']['amount'] == 3 / 7 and "
        "initial == final"
    )
    assert (await hear(jail, asking, initial={"rows": rows}, final={"rows": rows}))[0].holds is True


async def test_a_sqlite_file_is_opened_there_and_nowhere_else(
    jail: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "made.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            "pragma journal_mode = wal; create table item(id integer primary key, name text, raw "
            "blob);"
            "insert into item values (2, 'saw', x'00ff'), (1, 'axe', null); create view v as "
            "select randomblob(1 << 30);"
            "pragma wal_checkpoint(truncate);"
        )
    content = path.read_bytes()
    asking = body(
        "return final == {'item': [{'id': 1, 'name': 'axe', 'raw': None}, {'id': 2, 'name': "
        "'saw', 'raw': {'$bytes': 'AP8='}}]}"
    )
    assert (await hear(jail, asking, initial=b"", final=content))[0].holds is True
    for broken in (b"no database", content[:-100], content[:50] + b"\xff" * 200 + content[250:]):
        assert (await hear(jail, asking, final=broken))[0].code in ("build", "killed"), broken[:20]


async def test_nothing_of_a_verdict_is_left(jail: Sandbox) -> None:
    await hear(jail, YES, NO)
    before = len(find_processes(os.getpid()))
    for _ in range(20):
        await hear(jail, YES, NO)
    # A spare, one that is being reaped, and one that waits for the next program with its
    # namespace's first.
    assert len(find_processes(os.getpid())) <= before + 4
