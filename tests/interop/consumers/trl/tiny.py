# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""A tokenizer of bytes and a tiny random model, made on the spot: nothing is downloaded. The chat
template is one that TRL brings."""

from pathlib import Path
from typing import Any

import torch
import trl
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

MARKS = [
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]


def make_tokenizer() -> Any:
    """A token per byte, and those of Qwen3's template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    plain = Tokenizer(
        models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[])
    )
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    plain.decoder = decoders.ByteLevel()
    plain.add_special_tokens(
        [AddedToken(name, special=True) for name in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    )
    plain.add_tokens([AddedToken(name, normalized=False) for name in MARKS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text()
    return tokenizer


def make_model(vocabulary: int) -> Any:
    """Random weights, always the same."""
    torch.manual_seed(7)
    shape = Qwen3Config(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=200_000, tie_word_embeddings=True,
    )  # fmt: skip
    return Qwen3ForCausalLM(shape)
