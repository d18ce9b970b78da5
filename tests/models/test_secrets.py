"""A key goes into one header and nowhere else: not into logs, ledger, journals, lake, errors,
tracebacks, reprs or child processes."""

import base64
import contextlib
import gc
import json
import logging
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.errors import EnvMillError
from envmill.base.settings import Settings
from envmill.lake.journal import Journal
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch, open_lake
from envmill.models.base import Completion, Message, Request, ToolCall
from envmill.models.gateway import CallPolicy, Gateway
from envmill.models.prompt import Prompt
from envmill.models.redaction import Redactor
from envmill.pipeline.line import STEPS
from envmill.sandbox import Program, Reset
from flows.opening import open_walk
from schemas.base import Contract
from schemas.run import RunConfig
from schemas.tables import TABLES
from tests.models.vendors.launch import Loopback
from tests.specimens import STATE, make_environment

KEY = "sk-proj-Xy7-secretsecretsecret-0042"

BLUEPRINT = (
    '{"name": "Shed", "summary": "My key is '
    + KEY
    + '", "collections": {"tools": ["name"]}, "rules": ["none"], '
    '"tools": [{"name": "t", "description": "d", "effect": "query"}], "policy": ""}'
)


def settings_of(folder: Path, vendors: Loopback) -> Settings:
    return Settings.read(
        {
            "ENVMILL_HOME": str(folder / "home"),
            "ENVMILL_LAKE": str(folder / "lake"),
            "ENVMILL_BUNDLES": str(folder / "bundles"),
            "ENVMILL_OPENAI_URL": vendors.openai,
            "ENVMILL_ANTHROPIC_URL": vendors.anthropic,
            "ENVMILL_CALL_SECONDS": "30",
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
        }
    )


def descendants() -> Iterator[Path]:
    """Processes below this one."""
    parents: dict[str, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[path.parent.name] = path.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
    for pid in parents:
        above = pid
        while above in parents and parents[above] != str(os.getpid()):
            above = parents[above]
        if above in parents:
            yield Path("/proc") / pid


def read_environs(processes: set[Path]) -> Iterator[bytes]:
    """What each was started with; one that has ended meanwhile tells nothing."""
    for path in processes:
        with contextlib.suppress(OSError):
            yield (path / "environ").read_bytes() + (path / "cmdline").read_bytes()


def everything_written(settings: Settings) -> str:
    """Every file as it lies there, and every row of every table, since Parquet packs its text."""
    lake = Lake(settings.lake)
    places = (settings.home, Path(settings.lake), settings.bundles)
    files = b"".join(
        path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()
    )
    with open_lake(lake) as connection:
        rows = [connection.execute(f"select * from {table}").fetchall() for table in TABLES]
    return files.decode(errors="replace") + repr(rows)


async def walk(settings: Settings, provider: str) -> str:
    """A run as far as it comes; what it raised, as a log would show it."""
    try:
        async with open_walk(
            "r1",
            RunConfig.model_validate(
                {"provider": provider, "model": "m", "environments": 3, "seed": 1}
            ),
            settings,
        ) as one:
            await one.walk(STEPS[:1])
    except EnvMillError as error:
        return (
            "".join(traceback.format_exception(error))
            + repr(error.facts)
            + repr(error.__reduce__())
        )
    return ""


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    ("provider", "ending"),
    [
        ("openai", "echoed-in-the-reply"),
        ("responses", "echoed-in-an-error"),
        ("anthropic", "echoed-in-an-error"),
        ("anthropic", "refused"),
    ],
)
async def test_a_run_writes_its_key_nowhere(
    vendors: Loopback,
    tmp_path: Path,
    provider: str,
    ending: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("envmill.models.caller.PAUSES", (0.01,))
    settings = settings_of(tmp_path, vendors)
    vendors.say(BLUEPRINT)
    if ending == "echoed-in-an-error":
        vendors.fail("status", status=400, message=f"bad header Authorization: Bearer {KEY}")
    if ending == "refused":
        vendors.set(keys=["sk-another-key-that-is-good"])
    raised = await walk(settings, provider)
    assert any(KEY in str(request["headers"]) for request in vendors.requests()), "the key was used"
    assert bool(raised) == (ending != "echoed-in-the-reply")
    assert fetch(Lake(settings.lake), "select count(*) > 0 from model_calls") == [(True,)]
    written = everything_written(settings)
    for place in (raised, caplog.text, written, repr(settings)):
        assert KEY not in place
        assert "secretsecret" not in place
    if ending == "echoed-in-the-reply":
        assert "My key is [secret]" in written


async def test_no_process_of_the_jail_knows_a_key(
    vendors: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(descendants())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with open_walk("r1", RunConfig(), settings_of(tmp_path, vendors)) as opened:
        await opened.context.sandbox.play(
            Program.of(make_environment()),
            [Reset(state=STATE, clock="2026-01-01T00:00:00Z", seed=1)],
        )
        environs = list(read_environs(set(descendants()) - before))
    assert environs, "the jail has processes"
    assert not any(KEY.encode() in environ for environ in environs)


def test_settings_hand_no_key_to_another_process(vendors: Loopback, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="never written to disk"):
        pickle.dumps(settings_of(tmp_path, vendors))


def set_apart() -> None:
    """From here on `gc.get_objects` lists what came to be since: not what other tests left."""
    gc.collect()
    gc.freeze()


def list_shown() -> list[str]:
    """Everything of ours and of what carries our calls that came to be since `set_apart`, as it
    shows itself, ours with what it holds; and what our modules hold."""
    gc.collect()
    alive = [(str(type(one).__module__), one) for one in gc.get_objects() if type(one) is not type]
    ours = [
        repr(one) + repr(getattr(one, "__dict__", ""))
        for place, one in alive
        if place.startswith("envmill")
    ]
    modules = [
        repr(vars(module)) for name, module in [*sys.modules.items()] if name.startswith("envmill")
    ]
    carriers = [repr(one) for place, one in alive if place.startswith(("httpx2", "httpcore2"))]
    return ours + modules + carriers


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_nothing_that_holds_a_key_shows_it_or_hands_it_on(
    vendors: Loopback, tmp_path: Path, provider: str
) -> None:
    """A traceback with its locals, a debugger and a pickle see what objects show."""
    vendors.say(BLUEPRINT)
    config = RunConfig.model_validate(
        {
            "provider": provider,
            "model": "m",
            "critic": "batch-openai:m",
            "environments": 2,
            "seed": 1,
        }
    )
    set_apart()
    async with open_walk("r1", config, settings_of(tmp_path, vendors)) as opened:
        await opened.walk(STEPS[:1])
        shown = list_shown()
        door = opened.context.door
        for holder in (
            opened.context.settings,
            door.discipline,
            door.discipline.redactor,
            door.provider,
            door,
        ):
            with pytest.raises(TypeError, match=r"never written to disk|cannot pickle"):
                pickle.dumps(holder)
    assert any("Redactor" in one for one in shown)
    assert any("Endpoint" in one for one in shown)
    assert [one[:200] for one in shown if "secretsecret" in one] == []


class Hello(Contract):
    """Nothing is asked."""


HELLO = Prompt("hello", "hello", "hash")


class Echo:
    """A server that puts the key it was sent into every field of a good reply."""

    name, model = "openai", "m"

    async def complete(self, request: Request) -> Completion:
        call = ToolCall(
            id=KEY, name=f"look_{KEY}", arguments={"key": KEY}, raw=json.dumps({"key": KEY})
        )
        coded = base64.b64encode(KEY.encode()).decode()
        return Completion(
            text=f"I was sent {KEY[::-1]}",
            tool_calls=(call,),
            reasoning=f"It is {coded}.",
            model=KEY,
            notes=(KEY,),
            signed=({"thought": KEY},),
        )

    async def close(self) -> None: ...


async def test_no_field_of_a_reply_brings_a_key_into_the_ledger(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    gateway = Gateway(Echo(), journal, {}, 0, discipline=CallPolicy(redactor=Redactor([KEY])))
    completion = await gateway.open_session("s", "x").converse(
        HELLO, Hello(), [Message("user", "hello")]
    )
    await journal.close()
    written = repr(completion) + "".join(
        path.read_text() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert "[secret]" in written
    for told in (KEY, KEY[::-1], base64.b64encode(KEY.encode()).decode().rstrip("=")):
        assert told not in written
