"""Families of chat formats: their templates, written from their documentation, and small tokenizers
with the control tokens of each.

The tokenizers are trained here, in a second, on a few lines: their vocabulary is small, their
pipeline is that of the family.
`make soak AREA=consumers` takes the vocabularies of Qwen, Llama, Mistral and DeepSeek from the packages that ship them.
"""

# pyright: basic

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

tokenizers = pytest.importorskip(
    "tokenizers", reason="the extra `tokens` is not installed: make setup"
)

TEMPLATES = Path(__file__).parent / "templates"
_WORDS = (
    r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
_CORPUS = [
    'Please lend the drill to Ada. {"name": "lend", "arguments": {"tool_id": "T1", "note": "for '
    'a day"}}',
    "assistant user system tool model ipython\n\nThe tool is lent. It is back on Monday.\n",
    '{"ok":true,"parts":[{"text":"done"}]} # Tools\n\nYou may call functions. Return each call '
    "as a JSON object.",
]


@dataclass(frozen=True)
class Family:
    """A chat format."""

    name: str
    special: tuple[str, ...]
    """Control tokens."""
    added: tuple[str, ...] = ()
    """Added tokens that are no special ones."""
    bos: str = ""
    eos: str = ""
    pipeline: str = "bytes"
    """`bytes` as in GPT-2; `nfc` the same after Unicode's NFC; `trimmed` with offsets that leave
    blanks out; `pieces` as in SentencePiece;
    `prefixed` the same with a blank before each piece."""
    calls: bool = True
    """Whether the template knows tools."""


FAMILIES = {
    one.name: one
    for one in (
        Family(
            "chatml",
            ("<|im_start|>", "<|im_end|>"),
            ("<tool_call>", "</tool_call>"),
            eos="<|im_end|>",
            pipeline="nfc",
        ),
        Family(
            "thinking",
            ("<|im_start|>", "<|im_end|>"),
            ("<tool_call>", "</tool_call>", "<think>", "</think>"),
            eos="<|im_end|>",
        ),
        Family(
            "llama",
            ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
            bos="<|begin_of_text|>",
            eos="<|eot_id|>",
            pipeline="trimmed",
        ),
        Family(
            "mistral",
            (
                "[INST]",
                "[/INST]",
                "[TOOL_CALLS]",
                "[AVAILABLE_TOOLS]",
                "[/AVAILABLE_TOOLS]",
                "[TOOL_RESULTS]",
                "[/TOOL_RESULTS]",
            ),
            bos="<s>",
            eos="</s>",
            pipeline="prefixed",
        ),
        Family(
            "deepseek",
            (
                *(
                    "<｜begin▁of▁sentence｜>",
                    "<｜end▁of▁sentence｜>",
                    "<｜User｜>",
                    "<｜Assistant｜>",
                    "<｜tool▁calls▁begin｜>",
                ),
                *(
                    "<｜tool▁calls▁end｜>",
                    "<｜tool▁call▁begin｜>",
                    "<｜tool▁call▁end｜>",
                    "<｜tool▁sep｜>",
                ),
                *("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
            ),
            bos="<｜begin▁of▁sentence｜>",
            eos="<｜end▁of▁sentence｜>",
        ),
        Family(
            "gemma",
            ("<start_of_turn>", "<end_of_turn>"),
            ("\n\n", "<table>"),
            bos="<bos>",
            eos="<end_of_turn>",
            pipeline="pieces",
            calls=False,
        ),
    )
}


def read_template(name: str) -> str:
    return (TEMPLATES / f"{name}.jinja").read_text()


def strip_marks(template: str) -> str:
    """The template as most are published: without `generation` blocks, and with the same text."""
    return re.sub(r"\{%(-?)\s*(?:end)?generation\s*(-?)%\}", r"{#\1\2#}", template)


def make_config(family: Family) -> dict[str, Any]:
    """`tokenizer_config.json`."""
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    config |= {"bos_token": family.bos} if family.bos else {}
    return config | {"eos_token": {"__type": "AddedToken", "content": family.eos, "special": True}}


def write_folder(family: Family, folder: Path, *, template: str | None = None) -> Path:
    """A tokenizer folder as models come with."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(_train(family.name))
    (folder / "tokenizer_config.json").write_text(json.dumps(make_config(family)))
    (folder / "chat_template.jinja").write_text(template or read_template(family.name))
    return folder


@cache
def _train(name: str) -> str:
    family = FAMILIES[name]
    made = (
        _make_pieces(family) if family.pipeline in ("pieces", "prefixed") else _make_bytes(family)
    )
    made.add_special_tokens([one for one in (family.bos, family.eos, *family.special) if one])
    made.add_tokens([tokenizers.AddedToken(one, normalized=False) for one in family.added])
    data = json.loads(made.to_str())
    # What the trainer keeps apart as it begins is vocabulary, and no control token.
    kept = {*family.special, *family.added, family.bos, family.eos, "<unk>"}
    data["added_tokens"] = [one for one in data["added_tokens"] if one["content"] in kept]
    return json.dumps(data)


def _make_bytes(family: Family) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.normalizer = tokenizers.normalizers.NFC() if family.pipeline == "nfc" else None
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words = tokenizers.pre_tokenizers.Split(tokenizers.Regex(_WORDS), "isolated")
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([words, level])
    made.decoder = tokenizers.decoders.ByteLevel()
    made.train_from_iterator(
        _CORPUS * 3, _make_trainer(tokenizers.pre_tokenizers.ByteLevel.alphabet(), ())
    )
    if family.pipeline == "trimmed":
        made.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True)
    return made


def _make_pieces(family: Family) -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    spaces = tokenizers.normalizers.Replace(" ", "▁")
    prefixed = [tokenizers.normalizers.Prepend("▁"), spaces]
    made.normalizer = tokenizers.normalizers.Sequence(
        prefixed if family.pipeline == "prefixed" else [spaces]
    )
    steps = [
        tokenizers.decoders.Replace("▁", " "),
        tokenizers.decoders.ByteFallback(),
        tokenizers.decoders.Fuse(),
    ]
    strip = [tokenizers.decoders.Strip(" ", 1, 0)] if family.pipeline == "prefixed" else []
    made.decoder = tokenizers.decoders.Sequence([*steps, *strip])
    lines = [word for line in _CORPUS * 3 for word in re.findall(r"\S+ ?", line)]
    made.train_from_iterator(
        lines, _make_trainer((), ("<unk>", *(f"<0x{byte:02X}>" for byte in range(256))))
    )
    return made


def _make_trainer(alphabet: Sequence[str], first: Sequence[str]) -> Any:
    return tokenizers.trainers.BpeTrainer(
        vocab_size=640,
        show_progress=False,
        initial_alphabet=list(alphabet),
        special_tokens=list(first),
    )
