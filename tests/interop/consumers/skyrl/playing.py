# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""SkyRL's own data set and generator on an exported folder, with a scripted model: an interpreter
that has SkyRL and nothing of ours.

playing.py FOLDER ANSWERS  <  {"scripts": {scenario: [{"name", "texts"}, …]}, "rounds": calls to
time, "settings": names of settings}
"""

import asyncio
import copy
import importlib
import importlib.util
import json
import statistics
import sys
import time
import types
from dataclasses import is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_type_hints

found: Any = importlib.util.find_spec("skyrl")
root = Path(found.submodule_search_locations[0])
for part in ("backends", "tinker", "train/generators"):
    # What these packages import when they are opened is a training server's, and wants Python 3.12.
    # Their modules do not.
    name = f"skyrl.{part.replace('/', '.')}"
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(root / part)]
sys.path.insert(0, sys.argv[1])
import skyrl_gym  # noqa: E402
from skyrl.train.config import GeneratorConfig, SkyRLGymConfig, SkyRLTrainConfig  # noqa: E402
from skyrl.train.dataset import PromptDataset  # noqa: E402
from skyrl.train.generators.base import TrajectoryID  # noqa: E402
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator  # noqa: E402
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput  # noqa: E402
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

envmill_skyrl = importlib.import_module("envmill_skyrl")
LONG = 10_000_000
TEMPLATE = (
    "{% for one in messages %}<|im_start|>{{ one.role }}\n{{ one.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ENDS: dict[tuple[str, str], dict[str, Any]] = {}


class Watched(envmill_skyrl.SkyrlEnvironment):
    """The environment, with what each episode came to written down."""

    def __init__(self, env_config: Any, extras: dict[str, Any]) -> None:
        super().__init__(env_config, extras)
        self._policy = extras["extra_info"]["policy"]

    def step(self, action: str) -> Any:
        step = super().step(action)
        if step["done"]:
            ENDS[step["metadata"]["scenario"], self._policy] = {
                "reward": step["reward"],
                **step["metadata"],
            }
        return step


class Scripted:
    """An inference client that says what policies were told to say; a trajectory is known by its
    session."""

    model_name = "scripted"

    def __init__(self, tokenizer: Any, scripts: dict[str, list[str]]) -> None:
        self._tokenizer, self._left = (
            tokenizer,
            {name: list(texts) for name, texts in scripts.items()},
        )

    async def generate(self, input_batch: Any, model: Any = None) -> Any:
        left = self._left[input_batch["session_ids"][0]]
        text = left.pop(0) if left else ""
        ids = self._tokenizer.encode(f"{text}<|im_end|>")
        return {
            "responses": [text],
            "response_ids": [ids],
            "stop_reasons": ["stop"],
            "response_logprobs": None,
        }

    async def finish_session(self, session: str) -> None:
        del session


def make_tokenizer() -> Any:
    """A token per byte, and ChatML."""
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
    """Scenario → prompt, environment class and extras, as the data loader hands them to the
    generator."""
    found = {}
    for path in sorted(Path(sys.argv[1], "data").glob("*.jsonl")):
        rows = PromptDataset(str(path), tokenizer, LONG, num_workers=1)
        for given in rows.collate_fn([rows[place] for place in range(len(rows))]):
            found[given["env_extras"]["extra_info"]["scenario"]] = given
    return found


def generate(
    tokenizer: Any,
    rows: dict[str, Any],
    chosen: list[tuple[str, str]],
    client: Any,
    sampling: Any = None,
) -> Any:
    """Rollouts of scenarios, each with a name, by the generator: all at once, with several threads
    for the environments."""
    asked: dict[str, Any] = {
        "prompts": [],
        "env_classes": [],
        "env_extras": [],
        "trajectory_ids": [],
    }
    for scenario, name in chosen:
        row = copy.deepcopy(rows[scenario])
        row["env_extras"]["extra_info"]["policy"] = name
        for column, value in (
            ("prompts", row["prompt"]),
            ("env_classes", row["env_class"]),
            ("env_extras", row["env_extras"]),
        ):
            asked[column].append(value)
        asked["trajectory_ids"].append(TrajectoryID(scenario, name))
    config = GeneratorConfig(max_turns=60, batched=False, max_input_length=LONG)
    if sampling:
        config.sampling_params = sampling
    generator = SkyRLGymGenerator(config, SkyRLGymConfig(max_env_workers=8), client, tokenizer)
    return asyncio.run(generator.generate(asked, disable_tqdm=True))


def play(tokenizer: Any, rows: dict[str, Any], scripts: dict[str, Any]) -> list[Any]:
    """Every script by the generator."""
    chosen = [(scenario, script) for scenario, played in scripts.items() for script in played]
    client = Scripted(
        tokenizer, {f"{scenario}_{script['name']}": script["texts"] for scenario, script in chosen}
    )
    named = [(scenario, script["name"]) for scenario, script in chosen]
    made = generate(tokenizer, rows, named, client)
    told = []
    for (scenario, name), ids, rewards, mask, metrics in zip(
        named,
        made["response_ids"],
        made["rewards"],
        made["loss_masks"],
        made["env_metrics"],
        strict=True,
    ):
        learnt = tokenizer.decode([token for token, learn in zip(ids, mask, strict=True) if learn])
        told.append(
            {
                "scenario": scenario,
                "name": name,
                "paid": sum(rewards),
                "learnt": learnt,
                "metrics": metrics,
                **ENDS[scenario, name],
            }
        )
    return told


class Plain(BaseTextEnv):
    """What a step costs in an environment that does nothing."""

    def step(self, action: str) -> Any:
        return BaseTextEnvStepOutput(
            observations=[{"role": "user", "content": action}], reward=0.0, done=False, metadata={}
        )


def time_steps(rows: dict[str, Any], scenario: str, text: str, rounds: int) -> dict[str, float]:
    told = {}
    row = rows[scenario]
    for name, env in (
        ("envmill", envmill_skyrl.SkyrlEnvironment({}, row["env_extras"])),
        ("bare", Plain()),
    ):
        took = []
        for _ in range(rounds):
            env.init(row["prompt"])
            for _ in range(30):
                begun = time.perf_counter()
                env.step(text)
                took.append(time.perf_counter() - begun)
        env.close()
        told[name] = 1000 * statistics.median(took)
    return told


def find_unknown(settings: list[str]) -> list[str]:
    """Settings that SkyRL's trainer does not have."""
    found = []
    for setting in settings:
        # To make one of them opens what talks to vLLM: their types say as much.
        place: Any = SkyRLTrainConfig
        for name in setting.split("."):
            place = get_type_hints(place).get(name) if is_dataclass(place) else None
        if place is None:
            found.append(setting)
    return found


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    tokenizer = make_tokenizer()
    rows = load(tokenizer)
    skyrl_gym.register(id="envmill", entry_point=Watched)
    envmill_skyrl.register_environment()
    first, played = next(iter(asked["scripts"].items()))
    answers = {
        "rows": {scenario: row["prompt"] for scenario, row in rows.items()},
        "plays": play(tokenizer, rows, asked["scripts"]),
        "unknown": find_unknown(asked["settings"]),
        "step_ms": time_steps(rows, first, played[0]["texts"][0], asked["rounds"]),
        "versions": {name: version(name) for name in ("skyrl", "skyrl-gym")},
        "ours": sorted(
            name for name in sys.modules if name.split(".")[0] in ("envmill", "schemas")
        ),
    }
    Path(sys.argv[2]).write_text(json.dumps(answers))
