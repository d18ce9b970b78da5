# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false
"""One optimiser step of a tiny random model, by verl's GRPO advantage and clipped policy loss.

rollouts of one scenario ──► padded batch ──► verl's advantage, loss ──► gradient ──► AdamW step

verl's own trainer asks for vLLM or SGLang and a GPU. The rest of its path is taken here: data set,
agent loop, reward manager, response masks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, compute_policy_loss

RATE = 1e-3


@dataclass(frozen=True)
class Sample:
    """A rollout of verl's agent loop, with what the reward manager paid."""

    prompt: list[int]
    response: list[int]
    mask: list[int]
    reward: float


def make_model(vocabulary: int) -> Any:
    """Random weights, always the same."""
    torch.manual_seed(7)
    shape = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=200_000,
        tie_word_embeddings=True,
    )
    return Qwen3ForCausalLM(shape)


def train(samples: Sequence[Sample], vocabulary: int) -> dict[str, Any]:
    """One step on one group; what it did to the log probabilities of what was said."""
    model = make_model(vocabulary)
    before = _score_all(model, samples)
    width = max(len(one.response) for one in samples)
    mask = torch.tensor([one.mask + [0] * (width - len(one.mask)) for one in samples]).float()
    rewards = torch.zeros_like(mask)
    for row, one in enumerate(samples):
        rewards[row, len(one.response) - 1] = one.reward
    advantages, _ = compute_grpo_outcome_advantage(
        rewards, mask, np.array(["group"] * len(samples))
    )
    loss, *_ = compute_policy_loss(
        _pad(before, width).detach(), _pad(before, width), advantages, mask, cliprange=0.2
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    loss.backward()
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9))
    optimizer.step()
    with torch.no_grad():
        after = _score_all(model, samples)
    gained = [
        float(((new - old.detach()) * torch.tensor(one.mask)).sum() / max(1, sum(one.mask)))
        for old, new, one in zip(before, after, samples, strict=True)
    ]
    return {
        "rewards": [one.reward for one in samples],
        "advantages": [float(row.abs().max() * row.sum().sign()) for row in advantages],
        "gradient": norm,
        "gained": gained,
        "tokens": [len(one.prompt) + len(one.response) for one in samples],
    }


def _score_all(model: Any, samples: Sequence[Sample]) -> list[Any]:
    return [_score(model, one) for one in samples]


def _score(model: Any, one: Sample) -> Any:
    """Log probability of each token of the response."""
    ids = torch.tensor([one.prompt + one.response])
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=len(one.response) + 1).logits[0]
    table = torch.log_softmax(logits[:-1], -1)
    return table.gather(1, torch.tensor(one.response)[:, None])[:, 0]


def _pad(rows: Sequence[Any], width: int) -> Any:
    return torch.stack([torch.nn.functional.pad(row, (0, width - len(row))) for row in rows])
