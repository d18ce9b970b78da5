"""The vendored jail: outside the checkout, with nothing installed, the same layers, the same
answers, and no process left."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envmill.runtime.jail.client import Environment, Jail, JailError
from envmill.runtime.jail.layers import KERNEL_LAYERS
from envmill.sandbox import Changes, Invoke, Look, Sandbox, Snapshot
from envmill.sandbox.vendor import write_jail
from schemas.environment import Call
from tests.sandbox import test_tables as tables
from tests.sandbox.processes import wait_until_gone
from tests.sandbox.programs import RESET, invoke, make_counter, make_program
from tests.sandbox.vendored import open_vendored

CONSUMER = Path(__file__).parent / "consumer.py"


def run_consumer(folder: Path) -> dict[str, Any]:
    """As a user would: an isolated interpreter, without packages, anywhere."""
    words = [sys.executable, "-I", "-S", "-B", str(CONSUMER), str(folder)]
    done = subprocess.run(words, cwd="/", env={}, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


async def test_a_bare_interpreter_gets_what_the_factory_gets(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    write_jail(tmp_path / "out", make_counter())
    report = run_consumer(tmp_path / "out")
    steps = [
        RESET,
        *(invoke("add", name=name) for name in ("saw", "")),
        invoke("crash"),
        Invoke(Call(name="add", arguments={"name": 3})),
    ]
    seen = await sandbox.play(make_counter(), steps)
    assert report["ours"] == []
    assert report["tools"] == [tool.name for tool in make_counter().tools]
    assert report["layers"] == sandbox.layers()
    assert [reply["state_hash"] for reply in report["replies"][:5]] == [
        one.state_hash for one in seen
    ]
    assert [reply["outcome"] for reply in report["replies"][:5]] == [one.outcome for one in seen]
    assert report["replies"][1]["parts"] == seen[1].parts


async def test_an_environment_on_a_database_is_the_same_without_the_factory_s_library(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    lend = [
        tables.RESET,
        *(invoke("lend", name=name) for name in ("saw", "saw", "axe", "axe", "saw")),
        Changes(),
        Snapshot(),
        Look(),
    ]
    with open_vendored(tmp_path / "out") as vendored:
        there, here = (
            await vendored.play(tables.make_lending(), lend),
            await sandbox.play(tables.make_lending(), lend),
        )
    assert [one.outcome for one in here[1:6]] == ["ok", "ok", "ok", "failure", "rejection"]
    assert [
        (one.outcome, one.code, one.message, one.parts, one.state_hash, one.state)
        for one in there[:-2]
    ] == [
        (one.outcome, one.code, one.message, one.parts, one.state_hash, one.state)
        for one in here[:-2]
    ]
    assert there[-1].state == here[-1].state


def test_a_session_goes_back_dies_and_says_so(tmp_path: Path) -> None:
    write_jail(tmp_path / "out", make_counter())
    *_, advanced, added, restored, state, changes, vanished, lost = run_consumer(tmp_path / "out")[
        "replies"
    ]
    assert (advanced["ok"], added["ok"]) == (True, True)
    assert len(state["state"]["items"]) == 1
    assert restored["state_hash"] == state["state_hash"] != added["state_hash"]
    assert [change["path"][0] for change in changes["parts"][0]["value"]] == ["items", "slow"]
    assert (vanished["outcome"], vanished["error"]["code"], lost["error"]["code"]) == (
        "failure",
        "killed",
        "session_lost",
    )


def test_without_kernel_layers_it_refuses_until_it_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(JailError, match="trusted"),
        open_vendored(tmp_path / "one", without=KERNEL_LAYERS),
    ):
        pass
    with open_vendored(tmp_path / "two", without=KERNEL_LAYERS, trusted=True) as told:
        assert not any(told.layers()[name] for name in KERNEL_LAYERS)
    assert not wait_until_gone(os.getpid())


async def test_the_layers_hold_in_it(tmp_path: Path) -> None:
    reader = make_program("class Reader:\n    def __init__(self, state): pass\n    def read(self): return "
"open('/etc/passwd').read()\n",
                          "Reader", "read")  # fmt: skip
    with open_vendored(tmp_path / "out") as vendored:
        _, seen = await vendored.play(reader, [RESET, invoke("read")])
    assert (seen.outcome, seen.code) == ("failure", "crash")
    assert "PermissionError" in seen.message
    with open_vendored(tmp_path / "loose", without=KERNEL_LAYERS, trusted=True) as loose:
        _, seen = await loose.play(reader, [RESET, invoke("read")])
    assert seen.outcome == "ok", "the reader would see a breach"


def test_it_ends_with_its_consumer(tmp_path: Path) -> None:
    write_jail(tmp_path / "out", make_counter())
    text = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'out')!r}); import jail\n"
        "environment = jail.Environment(); session = environment.session()\n"
        "session.reset({'initial_state': {'items': {}}, 'clock': '2026-03-01T09:00:00Z', 'seed': "
        "1})\n"
        "print('up', flush=True); session.call('hang_deaf', {})"
    )
    consumer = subprocess.Popen([sys.executable, "-I", "-S", "-c", text], stdout=subprocess.PIPE)
    assert consumer.stdout
    assert consumer.stdout.readline() == b"up\n"
    consumer.send_signal(signal.SIGKILL)
    consumer.wait()
    consumer.stdout.close()
    assert not wait_until_gone(consumer.pid)


def test_sessions_are_apart_and_one_that_breaks_harms_no_other(tmp_path: Path) -> None:
    write_jail(tmp_path / "out", make_counter())
    start: dict[str, Any] = {
        "initial_state": {"items": {}},
        "clock": "2026-03-01T09:00:00Z",
        "seed": 7,
    }
    with Environment(tmp_path / "out") as environment:
        one, other = environment.session(), environment.session()
        assert one.reset(start)["state_hash"] == other.reset(start)["state_hash"]
        assert one.call("vanish", {})["error"]["code"] == "killed"
        assert other.call("add", {"name": "saw"})["ok"]
        assert one.reset(start, seed=8)["ok"]
        one.close()
        assert other.state()["ok"]


def test_a_jail_that_is_gone_is_never_an_answer(tmp_path: Path) -> None:
    write_jail(tmp_path / "out", make_counter())
    with Environment(tmp_path / "out") as environment:
        session = environment.session()
        environment.jail.close()
        with pytest.raises(JailError):
            session.call("add", {"name": "saw"})
    assert not wait_until_gone(os.getpid())


def test_elsewhere_than_on_linux_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(JailError, match="Linux container"):
        Jail(tmp_path)


def test_an_answer_that_is_no_frame_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(
        "import os, sys\nos.write(int(sys.argv[1]), b'\\xff\\xff\\xff\\xff')\n"
    )
    with pytest.raises(JailError, match="frame"):
        Jail(tmp_path)


def test_the_folder_holds_the_runtime_and_nothing_made(tmp_path: Path) -> None:
    write_jail(tmp_path / "out", make_counter())
    found = {path.relative_to(tmp_path / "out").parts[0] for path in (tmp_path / "out").rglob("*")}
    assert found == {"environment.json", "jail.py", "runtime"}
    assert not list((tmp_path / "out").rglob("*.pyc"))
