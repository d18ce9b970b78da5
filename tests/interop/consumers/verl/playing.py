# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""verl's own data set, agent loop and reward manager on an exported folder, with a scripted server,
where nothing of ours is.

playing.py FOLDER ANSWERS  <  {"scripts": {scenario: [{"name", "calls", "said"}, …]}, "rounds":
calls to time, "settings": names of settings}
"""

import asyncio
import importlib
import json
import pickle
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])
sys.path.insert(1, str(Path(__file__).parent))
import numpy as np
import torch
import training
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from tensordict import TensorDict
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse
from verl.tools.tool_registry import load_all_tools
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.utils.import_utils import load_extern_object
from verl.workers.rollout.replica import TokenOutput

LONG = 10_000_000
TEMPLATE = (
    "{% if tools %}<|im_start|>tools\n{% for one in tools %}{{ one | tojson }}\n{% endfor "
    "%}<|im_end|>\n{% endif %}"
    "{% for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content or '' }}"
    "{% for call in one.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% "
    "endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TURNS = {
    "max_user_turns": None, "max_assistant_turns": None, "max_parallel_calls": 8, "max_tool_response_length": LONG,
    "tool_response_truncate_side": "right", "format": "hermes",
}  # fmt: skip
ROLLOUT = {
    "multi_turn": TURNS,
    "prompt_length": LONG,
    "response_length": LONG,
    "full_determinism": False,
}
CONFIG = OmegaConf.create(
    {"actor_rollout_ref": {"rollout": ROLLOUT}, "data": {"return_raw_chat": True}}
)


class Scripted:
    """A server that says what a policy was told to say."""

    def __init__(self, tokenizer: Any, texts: list[str]) -> None:
        self._tokenizer, self._left = tokenizer, list(texts)

    async def generate(self, **_: Any) -> Any:
        text = self._left.pop(0) if self._left else ""
        return TokenOutput(
            token_ids=self._tokenizer.encode(f"{text}<|im_end|>"), stop_reason="completed"
        )


def make_tokenizer() -> Any:
    """A token per byte, and a template with tools."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    plain = Tokenizer(
        models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[])
    )
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    plain.decoder = decoders.ByteLevel()
    plain.add_special_tokens(
        [AddedToken(name, special=True) for name in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def load(tokenizer: Any) -> dict[str, Any]:
    """Scenario → row, as verl's data set gives it."""
    found = {}
    for path in sorted(Path(sys.argv[1], "data").glob("*.parquet")):
        config = OmegaConf.create(
            {"return_raw_chat": True, "filter_overlong_prompts": False, "cache_dir": "/tmp/cache"}
        )
        rows = RLHFDataset(str(path), tokenizer, config)
        found |= {rows[place]["extra_info"]["scenario"]: rows[place] for place in range(len(rows))}
    return found


def write_texts(script: Any, names: dict[str, str]) -> list[str]:
    """Calls by the names that verl knows."""
    calls = [
        {"name": names.get(call["name"], call["name"]), "arguments": call["arguments"]}
        for call in script["calls"]
    ]
    return [
        *(f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>" for call in calls),
        " ".join(script["said"]),
    ]


async def roll_out(tokenizer: Any, row: Any, script: Any, tools: list[Any]) -> Any:
    chosen = set(row["extra_info"]["tool_selection"])
    names = {tool.config["tool"]: tool.name for tool in tools if tool.name in chosen}
    server = Scripted(tokenizer, write_texts(script, names))
    loop = ToolAgentLoop(
        DictConfigWrap(CONFIG),
        server,
        tokenizer,
        None,
        RLHFDataset,
        DictConfigWrap(CONFIG.data),
        tools=ToolListWrap(tools),
    )
    output = await loop.run(
        {}, **{key: value for key, value in row.items() if key != "dummy_tensor"}
    )
    return output, write_texts(script, names)


async def play(tokenizer: Any, row: Any, script: Any, tools: list[Any]) -> Any:
    output, said = await roll_out(tokenizer, row, script, tools)
    learnt = tokenizer.decode(
        [
            token
            for token, learn in zip(output.response_ids, output.response_mask, strict=True)
            if learn
        ]
    )
    paid = await reward(tokenizer, row, output)
    return {"learnt": learnt, "said": said, **paid}


async def train_once(
    tokenizer: Any, row: Any, scripts: list[Any], tools: list[Any]
) -> dict[str, Any]:
    """A group of rollouts of one scenario, and one step on it."""
    samples = []
    for script in scripts:
        output, _ = await roll_out(tokenizer, row, script, tools)
        paid = await reward(tokenizer, row, output)
        samples.append(
            training.Sample(
                prompt=list(output.prompt_ids),
                response=list(output.response_ids),
                mask=list(output.response_mask),
                reward=paid["reward"],
            )
        )
    return training.train(samples, len(tokenizer))


async def reward(tokenizer: Any, row: Any, output: Any) -> Any:
    """As verl's reward loop asks for it, in a process of its own."""
    compute = load_extern_object(
        module_path="pkg://envmill_verl.reward", object_name="compute_score"
    )
    manager = NaiveRewardManager(CONFIG, tokenizer, compute)
    prompt, response = torch.tensor([output.prompt_ids]), torch.tensor([output.response_ids])
    both = torch.cat([prompt, response], 1)
    batch = TensorDict(
        {
            "prompts": prompt,
            "responses": response,
            "input_ids": both,
            "attention_mask": torch.ones_like(both),
        },
        batch_size=1,
    )
    told = {
        "data_source": row["data_source"],
        "reward_model": row["reward_model"],
        "extra_info": dict(row["extra_info"]),
    }
    fields = pickle.loads(pickle.dumps(output.extra_fields))
    given = {key: np.array([value]) for key, value in told.items()} | {
        "tool_extra_fields": np.array([fields], dtype=object)
    }
    found = await manager.run_single(
        DataProto(
            batch=batch, non_tensor_batch={**given, "__num_turns__": np.array([output.num_turns])}
        )
    )
    return {"reward": found["reward_score"], **found["reward_extra_info"]}


class Plain(BaseTool):
    """What a call costs of a tool that does nothing."""

    async def execute(self, instance_id: str, parameters: Any, **_: Any) -> Any:
        return ToolResponse(text="{}"), 0.0, {}


class Data:
    """What a tool is handed of a rollout."""

    def __init__(self, row: Any) -> None:
        self.messages, self.tools_kwargs, self.extra_fields = (
            list(row["raw_prompt"]),
            row["tools_kwargs"],
            {},
        )


async def time_calls(row: Any, call: Any, tools: list[Any], rounds: int) -> dict[str, float]:
    ours = next(
        tool
        for tool in tools
        if tool.name in row["extra_info"]["tool_selection"] and tool.config["tool"] == call["name"]
    )
    schema = {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
    told = {}
    for name, tool in (
        ("envmill", ours),
        ("bare", Plain({}, OpenAIFunctionToolSchema.model_validate(schema))),
    ):
        took = []
        for _ in range(rounds):
            data = Data(row)
            for _ in range(30):
                begun = time.perf_counter()
                instance, _ = await tool.create(create_kwargs={})
                await tool.execute(instance, call["arguments"], agent_data=data)
                await tool.release(instance)
                took.append(time.perf_counter() - begun)
        told[name] = 1000 * statistics.median(took)
    return told


def find_unknown(settings: list[str]) -> list[str]:
    """Settings that verl's trainer does not have."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer")
    missing = object()
    return [one for one in settings if OmegaConf.select(config, one, default=missing) is missing]


async def main(asked: Any) -> Any:
    tokenizer = make_tokenizer()
    rows, tools = load(tokenizer), load_all_tools(str(Path(sys.argv[1], "tools.yaml")), None)
    chosen = [
        (scenario, script) for scenario, played in asked["scripts"].items() for script in played
    ]
    told = []
    for place in range(0, len(chosen), 8):
        group = chosen[place : place + 8]
        answers = await asyncio.gather(
            *(play(tokenizer, rows[scenario], script, tools) for scenario, script in group)
        )
        told += [
            {"scenario": scenario, "name": script["name"], **one}
            for (scenario, script), one in zip(group, answers, strict=True)
        ]
    first, script = next((scenario, one) for scenario, one in chosen if one["calls"])
    shortest = min(asked["scripts"], key=lambda one: len(str(rows[one]["raw_prompt"])))
    return {
        "training": await train_once(tokenizer, rows[shortest], asked["scripts"][shortest], tools),
        "plays": told,
        "rows": {
            scenario: [row["raw_prompt"], list(row["extra_info"]["tool_selection"])]
            for scenario, row in rows.items()
        },
        "tools": {
            tool.name: [
                tool.config,
                tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True),
            ]
            for tool in tools
        },
        "unknown": find_unknown(asked["settings"]),
        "step_ms": await time_calls(rows[first], script["calls"][0], tools, asked["rounds"]),
        "versions": {"verl": version("verl")},
        "ours": sorted(
            name for name in sys.modules if name.split(".")[0] in ("envmill", "schemas")
        ),
    }


if __name__ == "__main__":
    importlib.import_module("envmill_verl")
    Path(sys.argv[2]).write_text(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
