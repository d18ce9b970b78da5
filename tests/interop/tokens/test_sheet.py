"""Rows of `sft`, `rl` and `preferences` with token ids: in columns of their own, exact or left out
by name."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from envmill.base.errors import SettingsError
from envmill.interop.exporters import ExportSet
from envmill.interop.exporters.preferences import export_preferences
from envmill.interop.exporters.rl import export_rl
from envmill.interop.exporters.sft import export_sft
from envmill.interop.tokens.sheet import EXPORTERS, encode_export_set
from envmill.interop.tokens.tokenizer import ChatTokenizer, read_tokenizer
from tests.interop.exporters.specimens import ASKED, CALLED, DONE, make_export_set, make_trajectory
from tests.interop.tokens.families import FAMILIES, read_template, write_folder
from tests.interop.tokens.talks import THOUGHTS, say


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> ChatTokenizer:
    return read_tokenizer(
        write_folder(FAMILIES["chatml"], tmp_path_factory.mktemp("chatml") / "chatml")
    )


def read_rows(files: Any, split: str = "train") -> list[dict[str, Any]]:
    return pq.read_table(io.BytesIO(files[f"{split}.parquet"])).to_pylist()


def test_a_trajectory_has_its_ids_and_two_masks(chat: ChatTokenizer) -> None:
    wrong = make_trajectory(
        "rol_1", messages=[ASKED, *CALLED, DONE], loss=[False, False, False, True]
    )
    (output,) = export_sft(encode_export_set(ExportSet(trajectories=(wrong,)), chat, "sft"))
    (row,) = read_rows(output.files)
    assert len(row["token_ids"]) == len(row["assistant_mask"]) == len(row["loss_mask"])
    said = [
        token
        for token, masked in zip(row["token_ids"], row["assistant_mask"], strict=True)
        if masked
    ]
    learnt = [
        token for token, masked in zip(row["token_ids"], row["loss_mask"], strict=True) if masked
    ]
    call = (
        '<tool_call>\n{"name": "lend", "arguments": {"tool_id": "T1", "note": "ü"}}\n</tool_call>'
    )
    assert (chat.decode(said), chat.decode(learnt)) == (
        f"{call}<|im_end|>Done.<|im_end|>",
        "Done.<|im_end|>",
    )
    told = json.loads(output.files["manifest.json"])["tokens"]
    assert (told["rows"], told["tokens"], told["said"], told["trained_on"]) == (
        1,
        len(row["token_ids"]),
        len(said),
        len(learnt),
    )
    assert told["tokenizer"]["name"] == "chatml"
    assert sorted(told["tokenizer"]["files"]) == [
        "chat_template.jinja",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert told["tokenizer"]["templates"] == [told["tokenizer"]["files"]["chat_template.jinja"]]


def test_a_trajectory_in_parts_is_as_many_rows_and_one_line(tmp_path: Path) -> None:
    chat = read_tokenizer(write_folder(FAMILIES["thinking"], tmp_path / "thinking"))
    one = make_trajectory(
        "rol_1", messages=THOUGHTS, loss=[message["role"] == "assistant" for message in THOUGHTS]
    )
    (output,) = export_sft(encode_export_set(ExportSet(trajectories=(one,)), chat, "sft"))
    assert [(row["part"], row["trajectory"]) for row in read_rows(output.files)] == [
        (0, one.id),
        (1, one.id),
    ]
    assert len(output.files["train.jsonl"].splitlines()) == output.rows == 1
    assert json.loads(output.files["manifest.json"])["tokens"]["in_parts"] == 1


def test_a_part_that_teaches_nothing_is_no_row_and_a_row_without_any_is_left_out(
    tmp_path: Path,
) -> None:
    chat = read_tokenizer(write_folder(FAMILIES["thinking"], tmp_path / "thinking"))
    last = make_trajectory("rol_1", messages=THOUGHTS, loss=[False] * 6 + [True])
    idle = make_trajectory("rol_2", messages=THOUGHTS, loss=[False] * 7)
    export_set = encode_export_set(ExportSet(trajectories=(last, idle)), chat, "sft")
    assert export_set.tokens
    assert [len(parts) for parts in export_set.tokens.trajectories.values()] == [1]
    assert export_set.tokens.left_out == {"nothing_learnt": [idle.id]}


def test_a_prompt_has_its_ids_in_both_files(chat: ChatTokenizer) -> None:
    (output,) = export_rl(encode_export_set(make_export_set(), chat, "rl"))
    rows, lines = (
        read_rows(output.files),
        [json.loads(line) for line in output.files["train.jsonl"].splitlines()],
    )
    assert [row["prompt_ids"] for row in rows] == [line["prompt_ids"] for line in lines]
    assert {row["form"] for row in rows} == {"single", "conversation"}
    for line in lines:
        told = chat.decode(line["prompt_ids"])
        assert told.endswith(f"{line['prompt'][-1]['content']}<|im_end|>\n<|im_start|>assistant\n")


def test_a_pair_has_one_prompt_and_two_ends_with_masks(chat: ChatTokenizer) -> None:
    (output,) = export_preferences(encode_export_set(make_export_set(), chat, "preferences"))
    (row,) = read_rows(output.files)
    assert chat.decode(row["prompt_ids"]).endswith(
        "<|im_start|>user\nLend it.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert chat.decode(row["rejected_ids"]) == "Done.<|im_end|>\n"
    assert row["rejected_mask"] == [True] * (len(row["rejected_ids"]) - 1) + [False], (
        "the new line is the template's"
    )
    chosen = [
        token for token, masked in zip(row["chosen_ids"], row["chosen_mask"], strict=True) if masked
    ]
    assert "<tool_response>" in chat.decode(row["chosen_ids"])
    assert "<tool_response>" not in chat.decode(chosen)
    assert chat.decode(chosen).endswith("</tool_call><|im_end|>Done.<|im_end|>")


@pytest.mark.parametrize(("words", "kept"), [("Done.", True), ("Do ne.", False)])
def test_a_pair_of_which_other_tokens_were_sampled_is_left_out(
    chat: ChatTokenizer, words: str, kept: bool
) -> None:
    export_set = make_export_set()
    sampled = [None, {"ids": chat.encode(f"{words}<|im_end|>").ids, "logprobs": None}]
    encoded = encode_export_set(
        replace(export_set, sampled={export_set.pairs[0].rejected: sampled}), chat, "preferences"
    )
    assert (len(encoded.pairs) == 1) is kept
    assert encoded.tokens is not None
    assert encoded.tokens.left_out == ({} if kept else {"tokens_differ": [export_set.pairs[0].id]})


def test_a_pair_has_log_probabilities_where_tokens_were_sampled(chat: ChatTokenizer) -> None:
    """Those of the chosen attempt only: the rejected one was played without `--token-ids`."""
    export_set = make_export_set()
    pair = export_set.pairs[0]
    words = chat.encode("Done.<|im_end|>").ids
    told = [-0.5 - place for place in range(len(words))]
    sampled: list[Any] = [None] * (len(pair.shared) + len(pair.better))
    sampled[-1] = {"ids": words, "logprobs": told}
    done = encode_export_set(
        replace(export_set, sampled={pair.chosen: sampled}), chat, "preferences"
    )
    (output,) = export_preferences(done)
    (row,) = read_rows(output.files)
    assert row["rejected_logprobs"] is None
    assert len(row["chosen_logprobs"]) == len(row["chosen_ids"])
    beside = [
        (token, logprob)
        for token, logprob in zip(row["chosen_ids"], row["chosen_logprobs"], strict=True)
        if logprob is not None
    ]
    assert beside == list(zip(words, told, strict=True))
    assert json.loads(output.files["manifest.json"])["tokens"]["turns_as_sampled"] == 1


def test_a_pair_whose_turn_is_rendered_otherwise_later_is_left_out(tmp_path: Path) -> None:
    chat = read_tokenizer(write_folder(FAMILIES["thinking"], tmp_path / "thinking"))
    export_set = make_export_set()
    pair = export_set.pairs[0]
    better = [
        say("Which?", thought="Hm."),
        {"role": "user", "content": "The drill."},
        say("Done.", thought="Well."),
    ]
    odd = pair.model_copy(update={"better": better, "better_loss": [True, False, True]})
    worse = pair.model_copy(
        update={
            "worse": [say("Done.", thought="Well.")],
            "better": [say("Done!", thought="Well.")],
            "better_loss": [True],
        }
    )
    done = encode_export_set(replace(export_set, pairs=(odd, worse)), chat, "preferences")
    assert done.tokens
    assert (done.tokens.left_out, done.pairs) == (
        {"prefix_broken": [odd.id]},
        (worse,),
    ) or odd.id == worse.id


def test_without_exact_ids_a_row_is_in_neither_file_and_the_manifest_says_so(
    tmp_path: Path,
) -> None:
    chat = read_tokenizer(write_folder(FAMILIES["gemma"], tmp_path / "gemma"))
    talk = make_trajectory("rol_2", messages=[ASKED, DONE], loss=[False, True], tools=[])
    export_set = encode_export_set(
        ExportSet(trajectories=(make_trajectory("rol_1"), talk)), chat, "sft"
    )
    (output,) = export_sft(export_set)
    manifest = json.loads(output.files["manifest.json"])
    assert [line["trajectory"] for line in manifest["lines"]["train"]] == [talk.id]
    assert manifest["tokens"]["left_out"] == {"template_refuses": [make_trajectory("rol_1").id]}
    assert len(read_rows(output.files)) == len(output.files["train.jsonl"].splitlines()) == 1


def test_without_a_tokenizer_nothing_changes() -> None:
    (output,) = export_sft(make_export_set())
    assert "tokens" not in json.loads(output.files["manifest.json"])
    assert "token_ids" not in read_rows(output.files)[0]


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_same_rows_make_the_same_ids(chat: ChatTokenizer, exporter: str) -> None:
    assert (
        encode_export_set(make_export_set(), chat, exporter).tokens
        == encode_export_set(make_export_set(), chat, exporter).tokens
    )


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        pytest.param("tokenizer.json", "{", "is not JSON", id="no json"),
        pytest.param("tokenizer.json", "[]", "is not a JSON object", id="no object"),
        pytest.param("tokenizer.json", "{}", "cannot be read", id="no tokenizer"),
        pytest.param(
            "tokenizer_config.json",
            '{"eos_token": "<|gone|>"}',
            r"no added token '<\|gone\|>'",
            id="unknown token",
        ),
        pytest.param("chat_template.jinja", "{% if %}", "not valid Jinja", id="no template"),
    ],
)
def test_a_folder_that_is_no_tokenizer_is_refused_by_name(
    tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    folder = write_folder(FAMILIES["chatml"], tmp_path / "chatml")
    (folder / name).write_text(text)
    with pytest.raises(SettingsError, match=complaint):
        encode_export_set(
            ExportSet(trajectories=(make_trajectory("rol_1"),)), read_tokenizer(folder), "sft"
        )


def test_the_template_comes_from_its_file_from_the_settings_or_from_the_one_that_is_named(
    tmp_path: Path,
) -> None:
    folder = write_folder(FAMILIES["chatml"], tmp_path / "chatml")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(SettingsError, match="--chat-template FILE"):
        read_tokenizer(folder)
    (tmp_path / "own.jinja").write_text(read_template("chatml"))
    assert read_tokenizer(folder, tmp_path / "own.jinja").template.source == read_template("chatml")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    several = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": read_template("chatml")},
    ]
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": several}))
    chat = read_tokenizer(folder)
    assert (chat.choose_template([]).source, chat.choose_template([{}]).source) == (
        "plain",
        read_template("chatml"),
    )


def test_a_template_runs_in_a_sandbox(tmp_path: Path) -> None:
    """A template is a program of others. What reaches for Python's internals is refused, and so is
    the row."""
    reach = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    chat = read_tokenizer(write_folder(FAMILIES["chatml"], tmp_path / "chatml", template=reach))
    export_set = encode_export_set(ExportSet(trajectories=(make_trajectory("rol_1"),)), chat, "sft")
    assert export_set.tokens
    assert list(export_set.tokens.left_out) == ["template_refuses"]
