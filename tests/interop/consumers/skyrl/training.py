# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""One step of a tiny model by SkyRL's own engine, on a group of rollouts that SkyRL's generator
made in our environment.

data loader ─► generator ─► rollouts, paid by the environment ─► SkyRL's advantage ─► its JAX engine: loss, gradient, AdamW
                  ▲
scripts, or the same engine that samples ─ tokens and log probabilities

training.py FOLDER ANSWERS  <  {"scripts": [{"name", "texts"}, …], "samples": rollouts that the engine samples}

SkyRL has two engines. The one of its PPO trainer (FSDP or Megatron) asks for vLLM, flash-attn and GPUs; the other,
behind its Tinker API, is written in JAX and runs on a processor.
"""

import json
import sys
import tempfile
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typing_extensions

sys.path.insert(0, str(Path(__file__).parent))
# SkyRL is written for Python 3.12: before it pydantic reads only the other TypedDict.
typing.TypedDict = typing_extensions.TypedDict
import numpy as np  # noqa: E402
import playing  # noqa: E402
import torch  # noqa: E402
from skyrl.backends.jax import JaxBackend, JaxBackendConfig  # noqa: E402
from skyrl.backends.skyrl_train.utils.ppo_utils import compute_grpo_outcome_advantage  # noqa: E402
from skyrl.tinker import types  # noqa: E402
from skyrl.train.config import SamplingParams  # noqa: E402
from transformers import Qwen3Config, Qwen3ForCausalLM  # noqa: E402

MODEL = "policy"
LONGEST = 16
"""Tokens of a sampled turn."""
RATE = 1e-2


@dataclass
class Sample:
    """A rollout of the generator."""

    name: str
    prompt: list[int]
    response: list[int]
    mask: list[int]
    rewards: list[float]
    logprobs: list[float] | None

    @property
    def ids(self) -> list[int]:
        return self.prompt + self.response

    def shift(self, values: Sequence[float]) -> list[float]:
        """Values of the response's tokens, at the places of the tokens before them."""
        return [0.0] * (len(self.prompt) - 1) + list(values)


class Engine:
    """SkyRL's JAX engine with one adapter on a model of random weights."""

    def __init__(self, tokenizer: Any, home: str) -> None:
        torch.manual_seed(7)
        shape = Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            max_position_embeddings=200_000,
            tie_word_embeddings=True,
        )
        Qwen3ForCausalLM(shape).float().save_pretrained(home)
        tokenizer.save_pretrained(home)
        config = JaxBackendConfig(max_lora_adapters=2, max_lora_rank=8, train_micro_batch_size=1)
        self._backend = JaxBackend(home, config)
        self._sampled = 0
        self._backend.create_model(MODEL, types.LoraConfig(rank=8, alpha=16.0, seed=0))

    def sample(self, prompt: list[int], end: int) -> Any:
        self._sampled += 1
        asked = types.SamplingParams(
            temperature=1.0, max_tokens=LONGEST, seed=self._sampled, stop_tokens=[end]
        )
        batch = types.PreparedSampleBatch(
            all_model_inputs=[_wrap(prompt)],
            all_sampling_params=[asked],
            all_model_ids=[""],
            all_checkpoint_ids=[""],
            all_checkpoint_paths=[""],
            all_session_ids=[None],
            needs_prompt_logprobs=False,
            request_batch_slices=[("one", "", 0, 1, False)],
        )
        return self._backend.sample(batch)["one"].sequences[0]

    def score(self, samples: list[Sample]) -> list[list[float]]:
        """Log probability of each token of each response."""
        zeros = [[0.0] * len(one.response) for one in samples]
        told = self._backend.forward(_prepare(samples, "cross_entropy", zeros, zeros))
        return _read(samples, told)

    def step(
        self, samples: list[Sample], logprobs: list[list[float]], advantages: list[list[float]]
    ) -> dict[str, float]:
        """Clipped loss, gradient, one step of AdamW."""
        told = self._backend.forward_backward(_prepare(samples, "ppo", logprobs, advantages))
        _read(samples, told)
        adam = types.AdamParams(
            learning_rate=RATE, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.0
        )
        return self._backend.optim_step(MODEL, types.OptimStepInput(adam_params=adam)).metrics


def _wrap(ids: list[int]) -> Any:
    return types.ModelInput(chunks=[types.EncodedTextChunk(tokens=ids)])


def _prepare(
    samples: list[Sample], loss: str, logprobs: list[list[float]], advantages: list[list[float]]
) -> Any:
    count = len(samples)
    empty: list[list[float]] = [[] for _ in samples]
    return types.PreparedModelPassBatch(
        all_model_inputs=[_wrap(one.ids[:-1]) for one in samples],
        all_targets=[one.ids[1:] for one in samples],
        all_token_weights=[one.shift(one.mask) for one in samples],
        all_sampling_logprobs=[
            one.shift(told) for one, told in zip(samples, logprobs, strict=True)
        ],
        all_advantages=[one.shift(told) for one, told in zip(samples, advantages, strict=True)],
        all_values=empty,
        all_returns=empty,
        all_model_ids=[MODEL] * count,
        all_loss_fns=[loss] * count,
        all_loss_fn_configs=[None] * count,
        request_batch_slices=[("all", MODEL, 0, count)],
    )


def _read(samples: list[Sample], told: Any) -> list[list[float]]:
    found = [one["logprobs"]["data"] for one in told["all"].loss_fn_outputs]
    return [row[len(one.prompt) - 1 :] for one, row in zip(samples, found, strict=True)]


class Sampling:
    """An inference client that has the engine sample."""

    model_name = "tiny"

    def __init__(self, tokenizer: Any, engine: Engine) -> None:
        self._tokenizer, self._engine = tokenizer, engine

    async def generate(self, input_batch: Any, model: Any = None) -> Any:
        (prompt,) = input_batch["prompt_token_ids"]
        told = self._engine.sample(prompt, self._tokenizer.eos_token_id)
        return {
            "responses": [self._tokenizer.decode(told.tokens, skip_special_tokens=True)],
            "response_ids": [list(told.tokens)],
            "stop_reasons": [told.stop_reason],
            "response_logprobs": [list(told.logprobs)],
        }

    async def finish_session(self, session: str) -> None:
        del session


def make_samples(names: list[str], made: Any) -> list[Sample]:
    logprobs = made["rollout_logprobs"] or [None] * len(names)
    return [
        Sample(
            name,
            made["prompt_token_ids"][place],
            made["response_ids"][place],
            made["loss_masks"][place],
            made["rewards"][place],
            logprobs[place],
        )
        for place, name in enumerate(names)
    ]


def find_advantages(samples: list[Sample]) -> list[list[float]]:
    """One group, by SkyRL's GRPO."""
    width = max(len(one.response) for one in samples)
    rewards = torch.zeros(len(samples), width)
    mask = torch.zeros(len(samples), width)
    for row, one in enumerate(samples):
        rewards[row, : len(one.rewards)] = torch.tensor(one.rewards)
        mask[row, : len(one.mask)] = torch.tensor(one.mask).float()
    found, _ = compute_grpo_outcome_advantage(rewards, mask, np.array(["group"] * len(samples)))
    return [row[: len(one.response)].tolist() for row, one in zip(found, samples, strict=True)]


def mean_said(one: Sample, values: list[float]) -> float:
    """Over the tokens that the policy said."""
    said = [value for value, kept in zip(values, one.mask, strict=True) if kept]
    return sum(said) / len(said)


def train(asked: Any, home: str) -> dict[str, Any]:
    tokenizer = playing.make_tokenizer()
    rows = playing.load(tokenizer)
    (scenario,) = rows
    scripts = {one["name"]: one["texts"] for one in asked["scripts"]}
    client = playing.Scripted(
        tokenizer, {f"{scenario}_{name}": texts for name, texts in scripts.items()}
    )
    engine = Engine(tokenizer, home)
    unknown = SamplingParams(logprobs=None)
    made = playing.generate(
        tokenizer, rows, [(scenario, name) for name in scripts], client, unknown
    )
    scripted = make_samples(list(scripts), made)
    names = [f"sampled {number}" for number in range(asked["samples"])]
    made = playing.generate(
        tokenizer, rows, [(scenario, name) for name in names], Sampling(tokenizer, engine)
    )
    sampled = make_samples(names, made)
    samples = [*scripted, *sampled]
    before, advantages = engine.score(samples), find_advantages(samples)
    metrics = engine.step(samples, before, advantages)
    after = engine.score(samples)
    return {
        "rollouts": [
            {
                "name": one.name,
                "reward": sum(one.rewards),
                "advantage": mean_said(one, gain),
                "before": mean_said(one, then),
                "after": mean_said(one, now),
                "said": sum(one.mask),
                "tokens": len(one.ids),
            }
            for one, gain, then, now in zip(samples, advantages, before, after, strict=True)
        ],
        "apart": [
            max(
                abs(ours - theirs)
                for ours, theirs, kept in zip(told, one.logprobs or [], one.mask, strict=True)
                if kept
            )
            for one, told in zip(samples, before, strict=True)
            if one.logprobs is not None
        ],
        "metrics": metrics,
        "versions": {name: version(name) for name in ("skyrl", "skyrl-gym", "jax")},
    }


if __name__ == "__main__":
    playing.skyrl_gym.register(id="envmill", entry_point=playing.Watched)
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[2]).write_text(json.dumps(train(given, folder)))
