"""Views: each format is what the vendor's own types take, says what `sft` says, and refuses by
name what it has no form for."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from envmill.interop.exporters import EXPORTERS, ExportSet
from envmill.interop.exporters.messages import as_openai
from envmill.interop.exporters.views import (
    BESIDE,
    FORMATS,
    PARALLEL,
    SILENT,
    UNEVEN,
    UNMARKED,
    NotRepresentable,
)
from envmill.stages.export import pack_outputs
from schemas.base import Json, canonical_json
from schemas.rollout import Trajectory
from tests.interop.exporters.specimens import (
    ASKED,
    CALL,
    CALLED,
    DONE,
    TOOLS,
    make_export_set,
    make_trajectory,
)

SYSTEM = {"role": "system", "content": "Be brief."}
REFUSED = {
    "role": "tool",
    "tool_call_id": "call_2",
    "content": {"ok": False, "error": {"code": "unavailable", "message": "No."}},
}
AGAIN = {"role": "assistant", "content": "", "tool_calls": [CALL | {"id": "call_2"}]}
BOTH = [
    {"role": "assistant", "content": "", "tool_calls": [CALL, CALL | {"id": "call_2"}]},
    {"role": "tool", "tool_call_id": "call_1", "content": {"ok": True, "parts": []}},
    REFUSED,
]
TALK = [
    SYSTEM,
    ASKED,
    *CALLED,
    {"role": "assistant", "content": "Which one?"},
    {"role": "user", "content": "That."},
    AGAIN,
    REFUSED,
    DONE,
]
TOLD = {"role": "wait", "seconds": 5, "notifications": [{"text": "It is back."}]}
SAID = {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}


def hold(messages: list[Any], loss: list[bool] | None = None) -> Trajectory:
    return make_trajectory(
        "rol_1", messages=messages, loss=loss or [one["role"] == "assistant" for one in messages]
    )


SPECIMENS = {
    "calls": hold([ASKED, *CALLED, DONE]),
    "talk": hold(TALK),
    "parallel": hold([ASKED, *BOTH, DONE]),
    "beside": hold([ASKED, SAID, CALLED[1], DONE]),
    "told": hold([ASKED, *CALLED, TOLD, DONE]),
    "silent": hold([ASKED, *CALLED, DONE | {"content": ""}]),
    "unlearnt": hold([ASKED, *CALLED, DONE], [False, False, False, True]),
    "unanswered": hold([ASKED, *CALLED]),
}
FORMLESS = {
    "anthropic": {"silent": SILENT, "unlearnt": UNMARKED},
    "sharegpt": {
        "parallel": PARALLEL,
        "beside": BESIDE,
        "told": UNEVEN,
        "unlearnt": UNMARKED,
        "unanswered": UNEVEN,
    },
    "openai": {},
}


def read_anthropic(row: Any) -> list[Json]:
    """Its line as messages of `sft`."""
    found: list[Any] = [{"role": "system", "content": row["system"]}] if "system" in row else []
    for message in row["messages"]:
        calls, said = [], ""
        for block in message["content"]:
            match block:
                case {"type": "text", "text": text} if message["role"] == "user":
                    found.append({"role": "user", "content": text})
                case {"type": "text", "text": text}:
                    said = text
                case {"type": "tool_use", "id": name, "name": tool, "input": arguments}:
                    calls.append(make_call(name, tool, arguments))
                case {"type": "tool_result", "tool_use_id": name, "content": text, **rest}:
                    assert rest == ({} if json.loads(text)["ok"] else {"is_error": True})
                    found.append({"role": "tool", "tool_call_id": name, "content": text})
                case _:
                    pytest.fail(f"unknown block {block}")
        if message["role"] == "assistant":
            found.append(
                {"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})}
            )
    return found


def read_sharegpt(row: Any) -> list[Json]:
    found: list[Any] = [{"role": "system", "content": row["system"]}] if "system" in row else []
    calls = 0
    for turn in row["conversations"]:
        match turn["from"]:
            case "human":
                found.append({"role": "user", "content": turn["value"]})
            case "gpt":
                found.append({"role": "assistant", "content": turn["value"]})
            case "observation":
                found.append(
                    {"role": "tool", "tool_call_id": f"call_{calls}", "content": turn["value"]}
                )
            case _:
                calls, told = calls + 1, json.loads(turn["value"])
                made = make_call(f"call_{calls}", told["name"], told["arguments"])
                found.append({"role": "assistant", "content": "", "tool_calls": [made]})
    return found


def make_call(name: str, tool: str, arguments: Json) -> Json:
    return {
        "id": name,
        "type": "function",
        "function": {"name": tool, "arguments": canonical_json(arguments)},
    }


def read_tools(view: str, row: Any) -> list[Json]:
    if view == "openai":
        return [one["function"] for one in row["tools"]]
    if view == "sharegpt":
        return json.loads(row["tools"])
    return [
        {"name": one["name"], "description": one["description"], "parameters": one["input_schema"]}
        for one in row["tools"]
    ]


READERS: dict[str, Callable[[Any], list[Json]]] = {
    "openai": lambda row: row["messages"], "anthropic": read_anthropic, "sharegpt": read_sharegpt,
}  # fmt: skip
TYPED = ("openai", "anthropic")


@cache
def read_types(view: str) -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    """A message and a list of tools. Imported here: it takes two seconds, which workers that only
    collect need not spend."""
    if view == "openai":
        from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

        return TypeAdapter(ChatCompletionMessageParam), TypeAdapter(list[ChatCompletionToolParam])
    from anthropic.types import MessageParam, ToolParam

    return TypeAdapter(MessageParam), TypeAdapter(list[ToolParam])


def check_types(view: str, row: Any) -> None:
    """What the vendor's package says a request is."""
    message, tools = read_types(view)
    for one in row["messages"]:
        exhaust(
            message.validate_python({key: value for key, value in one.items() if key != "weight"})
        )
    tools.validate_python(row["tools"])
    if view == "anthropic":
        assert isinstance(row.get("system", ""), str)


def exhaust(value: Any) -> None:
    """Iterables of a typed dictionary are validated while they are read."""
    if isinstance(value, dict):
        for part in value.values():
            exhaust(part)
    elif not isinstance(value, str) and hasattr(value, "__iter__"):
        for part in value:
            exhaust(part)


@pytest.mark.parametrize("view", FORMATS)
@pytest.mark.parametrize("name", SPECIMENS)
def test_a_line_says_what_sft_says_or_is_refused_by_name(view: str, name: str) -> None:
    line = as_openai(SPECIMENS[name])
    if why := FORMLESS[view].get(name):
        with pytest.raises(NotRepresentable, match=f"^{why}$"):
            FORMATS[view](line)
        return
    row: Any = json.loads(json.dumps(FORMATS[view](line)))
    assert READERS[view](row) == line["messages"]
    assert read_tools(view, row) == TOOLS
    if view in TYPED:
        check_types(view, row)


@pytest.mark.parametrize("view", TYPED)
def test_the_vendors_types_refuse_another_format(view: str) -> None:
    """What the check is worth: each vendor's types refuse the other's line."""
    other = next(one for one in TYPED if one != view)
    with pytest.raises((ValidationError, KeyError)):
        check_types(view, FORMATS[other](as_openai(SPECIMENS["calls"])))


def test_replies_to_one_turn_are_one_message_and_a_refusal_is_an_error() -> None:
    row = FORMATS["anthropic"](as_openai(SPECIMENS["parallel"]))
    assert [one["role"] for one in row["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [block.get("is_error") for block in row["messages"][2]["content"]] == [None, True]


def test_the_folder_names_each_line_and_each_refusal() -> None:
    rows = tuple(
        one.model_copy(update={"rollout": name, "id": f"trj_{name}"})
        for name, one in SPECIMENS.items()
    )
    (output,) = EXPORTERS["views"](ExportSet(trajectories=rows))
    told = json.loads(output.files["manifest.json"])["views"]
    assert output.rows == len(rows)
    for view, formless in FORMLESS.items():
        assert told[view]["refused"] == {f"trj_{name}": why for name, why in formless.items()}
        assert sum(told[view]["counts"].values()) == len(formless)
        lines = output.files[f"{view}/train.jsonl"].splitlines()
        assert told[view]["lines"]["train"] == sorted(
            one.id for one in rows if one.id not in told[view]["refused"]
        )
        assert len(lines) == len(rows) - len(formless)


def test_openai_is_the_line_of_sft_and_every_split_is_a_file() -> None:
    export_set = make_export_set()
    views, sft = (pack_outputs(export_set, [name])[0] for name in ("views", "sft"))
    for split in ("train", "validation", "test"):
        assert views.files[f"openai/{split}.jsonl"] == sft.files[f"{split}.jsonl"]
    assert len(views.files) == 3 * len(FORMATS) + 1


def test_nothing_is_written_of_nothing() -> None:
    assert EXPORTERS["views"](ExportSet()) == []
