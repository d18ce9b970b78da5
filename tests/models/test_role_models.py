"""Who plays whom: specs read, servers found, what is missing said before anyone is asked."""

from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.lake.journal import read_calls
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store
from envmill.models.base import Message, Request
from envmill.models.prompt import Prompt
from envmill.models.role_models import check_cast, find_kin, find_scripts, open_cast, read_specs
from envmill.models.spec import Spec
from envmill.pipeline import open_run
from flows.opening import open_walk
from schemas.base import Contract
from schemas.run import RunConfig
from tests.models.vendors.launch import Loopback

KEYS = {
    "OPENAI_API_KEY": "sk-1",
    "ANTHROPIC_API_KEY": "sk-2",
    "ENVMILL_ENDPOINT_BOX": "http://127.0.0.1:9/v1",
}


class Question(Contract):
    word: str


class Answer(Contract):
    length: int


PROMPT = Prompt("count", "How long is {{word}}? Answer as {{reply_schema}}", "hash")


def make_config(**fields: str) -> RunConfig:
    return RunConfig.model_validate(fields)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("offline", Spec("offline")),
        ("openai:gpt-x", Spec("openai", "gpt-x")),
        ("openai:Qwen/Qwen3-8B@box", Spec("openai", "Qwen/Qwen3-8B", "box")),
        ("openai:qwen3:8b@box", Spec("openai", "qwen3:8b", "box")),
        ("anthropic:claude-x@20251001", Spec("anthropic", "claude-x@20251001")),
        (
            "anthropic:claude-x@20251001@my_gate2",
            Spec("anthropic", "claude-x@20251001", "my_gate2"),
        ),
    ],
)
def test_a_spec_is_read_and_rendered_the_same(text: str, spec: Spec) -> None:
    assert Spec.parse(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize("text", ["", ":m", "openai:@box"])
def test_a_spec_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="names no model"):
        Spec.parse(text)


def test_roles_without_a_model_are_the_authors() -> None:
    config = make_config(
        provider="openai", model="gpt-x", judge="anthropic:claude-x", user="openai:gpt-x"
    )
    assert {role: str(spec) for role, spec in read_specs(config).items()} == {
        "author": "openai:gpt-x",
        "judge": "anthropic:claude-x",
        "user": "openai:gpt-x",
    }
    cast = open_cast(config, Settings.read(KEYS), {})
    assert cast.others["user"] is cast.author
    assert (cast.others["judge"].name, cast.others["judge"].model) == ("anthropic", "claude-x")
    assert cast.others.keys() == {"judge", "user"}


def test_two_servers_may_call_their_models_the_same() -> None:
    config = make_config(provider="openai", model="m", judge="openai:m@box", critic="responses:m")
    cast = open_cast(config, Settings.read(KEYS), {})
    assert {cast.author.model, cast.others["judge"].model} == {"m", "m@box"}


@pytest.mark.parametrize(
    ("fields", "environ", "told"),
    [
        ({"provider": "openai"}, KEYS, "no model is named"),
        ({"provider": "openai", "model": "m"}, {}, "OPENAI_API_KEY is not set"),
        ({"provider": "responses", "model": "m"}, {}, "OPENAI_API_KEY is not set"),
        ({"provider": "anthropic", "model": "m"}, {}, "ANTHROPIC_API_KEY is not set"),
        (
            {"provider": "openai", "model": "m@bax"},
            KEYS,
            "Set ENVMILL_ENDPOINT_BAX=URL; known: box",
        ),
        ({"provider": "openai", "model": "m@openai"}, KEYS, "ENVMILL_ENDPOINT_OPENAI=URL"),
        ({"provider": "offline", "model": "m"}, {}, "offline has no model to choose"),
        ({"judge": "mistral:m"}, KEYS, "must be one of .*openai"),
        ({"judge": "openai"}, KEYS, "The judge .*no model is named"),
        ({"judge": "replay"}, KEYS, "cannot be replayed alone"),
        ({"policy": "batch-openai:m"}, KEYS, "would wait for a batch: ask it as openai:m"),
        ({"user": "batch-lines:m"}, KEYS, "would wait for a batch: give it a direct provider"),
        ({"probe": "model"}, KEYS, "A model is to play the policy, and offline cannot take turns"),
        (
            {"teacher": "model", "provider": "batch-lines", "model": "m"},
            KEYS,
            "set `policy` to one that can",
        ),
        ({"person": "model", "form": "mixed"}, KEYS, "A model is to play the user"),
    ],
)
def test_what_is_missing_is_said_before_anyone_is_asked(
    fields: dict[str, str], environ: dict[str, str], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        check_cast(make_config(**fields), Settings.read(environ))


@pytest.mark.parametrize(
    "fields",
    [
        {"provider": "openai", "model": "m@box"},
        {"judge": "anthropic:m@box"},
        {"provider": "offline"},
        {"probe": "model", "policy": "openai:m@box"},
        {"teacher": "model", "provider": "openai", "model": "m@box"},
        {"person": "model", "form": "single"},
    ],
)
def test_a_server_of_ones_own_needs_no_key(fields: dict[str, str]) -> None:
    check_cast(
        make_config(**fields), Settings.read({"ENVMILL_ENDPOINT_BOX": "http://127.0.0.1:9/v1"})
    )


@pytest.mark.parametrize(
    ("author", "judge", "warned"),
    [
        ("openai:gpt-5", "openai:o3", True),
        ("openai:gpt-5", "anthropic:claude-x", False),
        ("openai:Qwen3@box", "openai:DeepSeek-R1-Distill-Qwen-7B@box", True),
        ("openai:mine@box", "openai:mine@box", True),
        ("openai:mine@box", "openai:yours@box", False),
    ],
)
def test_a_judge_of_the_authors_family_is_warned_of(author: str, judge: str, warned: bool) -> None:
    provider, _, model = author.partition(":")
    found = list(find_kin(make_config(provider=provider, model=model, judge=judge)))
    assert bool(found) == warned
    assert all("judge" in warning and "another family" in warning for warning in found)


@pytest.mark.parametrize(
    ("fields", "scripts"),
    [
        ({"provider": "openai", "model": "m@box"}, []),
        ({"provider": "openai", "model": "m@box", "probe": "careless"}, ["probe"]),
        (
            {
                "provider": "openai",
                "model": "m@box",
                "probe": "skilled@0.7",
                "teacher": "reference",
            },
            ["probe", "teacher"],
        ),
        ({"provider": "batch-lines", "model": "m"}, ["probe", "teacher"]),
        ({}, []),
        ({"provider": "replay", "recording": "r"}, []),
    ],
)
def test_a_script_that_judges_the_work_of_a_model_is_warned_of(
    fields: dict[str, str], scripts: list[str]
) -> None:
    found = list(find_scripts(make_config(**fields)))
    assert len(found) == len(scripts)
    assert all(
        f"The {role} policy is the script" in warning
        for role, warning in zip(scripts, found, strict=True)
    )


def test_the_offline_author_is_nobodys_kin() -> None:
    assert list(find_kin(make_config(judge="openai:gpt-5"))) == []


async def test_a_run_that_cannot_be_cast_does_not_take_its_id(tmp_path: Path) -> None:
    settings = Settings.read(
        {"ENVMILL_HOME": str(tmp_path / "home"), "ENVMILL_LAKE": str(tmp_path / "lake")}
    )
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        async with open_walk("r1", make_config(provider="openai", model="gpt-x"), settings):
            pass
    assert Lake(open_store(settings.lake)).runs() == []


async def test_without_the_embedded_author_a_run_needs_a_model(tmp_path: Path) -> None:
    settings = Settings.read(
        {"ENVMILL_HOME": str(tmp_path / "home"), "ENVMILL_LAKE": str(tmp_path / "lake")}
    )
    with pytest.raises(SettingsError, match="no embedded author is registered"):
        async with open_run.open_walk("r1", make_config(), settings):
            pass
    assert Lake(open_store(settings.lake)).runs() == []


async def test_a_run_asks_each_role_at_its_model(tmp_path: Path, vendors: Loopback) -> None:
    environ = {
        "ENVMILL_HOME": str(tmp_path / "home"),
        "ENVMILL_LAKE": str(tmp_path / "lake"),
        "ENVMILL_OPENAI_URL": vendors.openai,
        "ENVMILL_ENDPOINT_BOX": vendors.root,
    }
    vendors.script({"turn": {"text": '{"length": 3}'}})
    config = make_config(
        provider="openai", model="gpt-x", judge="anthropic:claude-x@box", critic="responses:gpt-y"
    )
    async with open_walk("r1", config, Settings.read(environ)) as walk:
        models = walk.context.door.open_session("scenarios-verify", "scn_1")
        for role in ("author", "judge", "critic", "user"):
            assert await models.ask(PROMPT, Question(word=role), Answer, role=role) == Answer(
                length=3
            )
        calls = list(read_calls(walk.context.settings.home / "journal" / "r1"))
    assert [(call.role, call.provider, call.model, call.family, call.kin) for call in calls] == [
        ("author", "openai", "gpt-x", "openai", False),
        ("judge", "anthropic", "claude-x@box", "anthropic", False),
        ("critic", "responses", "gpt-y", "openai", True),
        ("user", "openai", "gpt-x", "openai", False),
    ]
    assert [request["path"] for request in vendors.requests()] == [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/responses",
        "/v1/chat/completions",
    ]


@pytest.mark.parametrize(
    ("fields", "players", "asked"),
    [
        ({}, ("careless", "reference"), None),
        ({"provider": "openai", "model": "m@box"}, ("model", "model"), None),
        (
            {"provider": "openai", "model": "m@box", "probe": "skilled@0.7"},
            ("skilled@0.7", "model"),
            None,
        ),
        ({"provider": "batch-openai", "model": "m@box"}, ("model", "model"), "openai:m@box"),
        (
            {
                "provider": "batch-openai",
                "model": "m@box",
                "probe": "careless",
                "teacher": "reference",
            },
            ("careless", "reference"),
            None,
        ),
        ({"provider": "batch-lines", "model": "m"}, ("careless", "reference"), None),
        ({"provider": "replay", "recording": "r"}, ("careless", "reference"), None),
        ({"policy": "anthropic:m@box"}, ("model", "model"), "anthropic:m@box"),
    ],
)
def test_a_model_acts_where_one_can(
    fields: dict[str, str], players: tuple[str, str], asked: str | None
) -> None:
    config = make_config(**fields)
    assert (config.probe, config.teacher) == players
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config
    assert (str(spec) if (spec := read_specs(config).get("policy")) else None) == asked
    check_cast(config, Settings.read({"ENVMILL_ENDPOINT_BOX": "http://127.0.0.1:9/v1"}))


def test_a_request_names_its_role() -> None:
    assert Request(PROMPT, {}, (Message("user", "x"),), None, 1, 0, "s", "a").role == "author"


@pytest.mark.parametrize(
    ("fields", "person", "asked"),
    [
        ({}, "scripted", None),
        ({"provider": "openai", "model": "m@box"}, "model", None),
        ({"provider": "batch-openai", "model": "m@box"}, "model", "openai:m@box"),
        ({"provider": "batch-lines", "model": "m"}, "scripted", None),
        ({"provider": "replay", "recording": "r"}, "scripted", None),
        ({"user": "anthropic:m@box"}, "model", "anthropic:m@box"),
        ({"provider": "openai", "model": "m@box", "user": "offline"}, "scripted", "offline"),
        ({"provider": "openai", "model": "m@box", "person": "scripted"}, "scripted", None),
    ],
)
def test_a_model_plays_the_user_where_one_can(
    fields: dict[str, str], person: str, asked: str | None
) -> None:
    config = make_config(**fields)
    assert config.person == person
    assert RunConfig.model_validate(config.model_dump(mode="json")).person == person
    assert (str(spec) if (spec := read_specs(config).get("user")) else None) == asked
    check_cast(config, Settings.read({"ENVMILL_ENDPOINT_BOX": "http://127.0.0.1:9/v1"}))
