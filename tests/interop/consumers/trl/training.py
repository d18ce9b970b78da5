# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""TRL's own trainers on exported folders, run by an interpreter that has TRL and nothing of ours.

training.py FOLDER ANSWERS  <  {task: what the test asks}      tasks: schemas, rollouts, grpo, outage, sft, dpo, page, calls
"""

import inspect
import json
import logging
import math
import os
import statistics
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), sys.argv[1]]
import datasets  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import trl  # noqa: E402
from tiny import make_model, make_tokenizer  # noqa: E402
from transformers.utils import get_json_schema  # noqa: E402

envmill_trl = import_module("envmill_trl")
LONG = 100_000
QUIET: dict[str, Any] = {
    "output_dir": tempfile.mkdtemp(), "use_cpu": True, "bf16": False, "report_to": [], "logging_steps": 1, "max_steps": 1,
    "save_strategy": "no", "gradient_checkpointing": False, "disable_tqdm": True, "learning_rate": 1e-3,
}  # fmt: skip


class Scripted(trl.GRPOTrainer):
    """GRPO whose generation says what policies were told to say; rollout loop, tools and rewards
    are the trainer's own."""

    scripts: dict[str, list[dict[str, Any]]]
    """Scenario → per generation of its group: calls and last words."""
    broken: tuple[str, ...] = ()
    """Policies whose environment breaks down before it is judged."""

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        turn: dict[str, int] = {}
        self.live: list[Any] = []
        for row in inputs:
            place = turn[row["scenario"]] = turn.get(row["scenario"], -1) + 1
            script = self.scripts[row["scenario"]][place % len(self.scripts[row["scenario"]])]
            self.live.append(
                {
                    "turns": render_script(script, self.processing_class),
                    "begun": None,
                    "scenario": row["scenario"],
                    "name": script["name"],
                }
            )
        return super()._generate_and_score_completions(inputs)

    def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        """The next turn of each rollout that is asked for; known by what it said so far."""
        said = []
        first = all(one["begun"] is None for one in self.live)
        waiting = list(self.live)
        for place, ids in enumerate(prompt_ids):
            one = (
                self.live[place]
                if first
                else next(one for one in waiting if ids[: len(one["begun"])] == one["begun"])
            )
            waiting.remove(one)
            turn = one["turns"].pop(0)
            one["begun"] = [*ids, *turn]
            said.append(turn)
        return said, None

    def _calculate_rewards(self, inputs: Any, *rest: Any) -> Any:
        for one, environment in zip(self.live, self.environments, strict=True):
            if one["name"] in self.broken:
                environment._outage = "planted"
        rewards = super()._calculate_rewards(inputs, *rest)
        for one, environment, row in zip(
            self.live, self.environments, rewards.tolist(), strict=True
        ):
            paid = [reward for reward in row if not math.isnan(reward)]
            one["report"] = {
                "scenario": one["scenario"], "name": one["name"], "rewards": paid, "left": len(one["turns"]),
                "state_hash": environment._session.state_hash, "outcome": environment._verdict.outcome, "moves": environment._session.moves,
            }  # fmt: skip
        return rewards


def render_script(script: dict[str, Any], tokenizer: Any) -> list[list[int]]:
    """A script as tokens: a turn per call, and one for the last words."""
    calls = [
        f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call><|im_end|>"
        for call in script["calls"]
    ]
    return [tokenizer.encode(text) for text in (*calls, f"{' '.join(script['said'])}<|im_end|>")]


def make_trainer(kind: Any, rows: Any, group: int, **settings: Any) -> Any:
    tokenizer = make_tokenizer()
    args = trl.GRPOConfig(
        **QUIET, per_device_train_batch_size=group, num_generations=group, max_completion_length=settings.pop("length", LONG),
        max_tool_calling_iterations=60, **settings,
    )  # fmt: skip
    return kind(
        model=make_model(len(tokenizer)),
        args=args,
        processing_class=tokenizer,
        train_dataset=rows,
        environment_factory=envmill_trl.load_environments(),
        reward_funcs=[envmill_trl.read_last_words],
    )


def play(asked: Any) -> Any:
    """Every script through the trainer's rollout loop, one group per scenario; no step is taken."""
    splits = {script[0]["split"] for script in asked["scripts"].values()}
    rows = datasets.concatenate_datasets([envmill_trl.load_rows(split) for split in sorted(splits)])
    group = len(next(iter(asked["scripts"].values())))
    trainer = make_trainer(Scripted, rows, group)
    trainer.scripts = asked["scripts"]
    told = []
    for row in rows:
        if row["scenario"] in asked["scripts"]:
            trainer._generate_and_score_completions([dict(row) for _ in range(group)])
            told += [one["report"] for one in trainer.live]
    return told


def step_grpo(asked: Any) -> Any:
    """One step on one group of scripted rollouts, and how likely their calls are before and
    after."""
    rows = envmill_trl.load_rows(asked["split"])
    rows = rows.filter(lambda row: row["scenario"] in asked["scripts"])
    trainer = make_trainer(Scripted, rows, asked["group"], loss_type="grpo")
    trainer.scripts, trainer.broken = asked["scripts"], tuple(asked["broken"])
    before = measure(trainer)
    trainer.train()
    logged = {key: value for entry in trainer.state.log_history for key, value in entry.items()}
    return {
        "logged": logged,
        "before": before,
        "after": measure(trainer),
        "rollouts": [one["report"] for one in trainer.live],
    }


def measure(trainer: Any) -> list[float]:
    """Mean log probability that the model gives to what each policy says, after the prompt
    alone."""
    tokenizer, found = trainer.processing_class, []
    row = trainer.train_dataset[0]
    tools = trainer._env_tools[row["environment"]]
    prompt = tokenizer.apply_chat_template(
        row["prompt"], tools=tools, add_generation_prompt=True, tokenize=True, return_dict=False
    )
    for script in trainer.scripts[row["scenario"]]:
        said = [token for turn in render_script(script, tokenizer) for token in turn]
        with torch.no_grad():
            logits = trainer.model(torch.tensor([[*prompt, *said]])).logits[0, len(prompt) - 1 : -1]
        found.append(
            torch.log_softmax(logits, -1).gather(1, torch.tensor(said)[:, None]).mean().item()
        )
    return found


def follow_page(asked: Any) -> Any:
    """The how-to's code, block by block, with tiny models for the reader's; what each trainer
    logged."""
    os.chdir(asked["home"])
    told = []
    for code in asked["blocks"]:
        tokenizer = make_tokenizer()
        names: dict[str, Any] = {
            "tokenizer": tokenizer,
            "model": make_model(len(tokenizer)),
            "reference": make_model(len(tokenizer)),
        }
        exec(compile(code, "docs/consumers/trl.md", "exec"), names)
        told.append(
            {
                key: value
                for entry in names["trainer"].state.log_history
                for key, value in entry.items()
            }
        )
    return told


class Plain:
    """What an environment costs that does nothing."""

    def reset(self, **_: Any) -> None:
        """Begin."""

    def look(self, **_: Any) -> str:
        """Look."""
        return '{"ok":true,"parts":[]}'

    def get_reward(self) -> float:
        """Nothing."""
        return 0.0


def time_calls(asked: Any) -> Any:
    """Milliseconds per call, and per rollout without its calls, of a class of ours and of one that
    does nothing."""
    row = next(
        row for row in envmill_trl.load_rows(asked["split"]) if row["scenario"] == asked["scenario"]
    )
    ours = envmill_trl.load_environments()[row["environment"]]()
    ours.reset(**row)
    told = {}
    for name, environment, tool in (
        ("envmill", ours, asked["call"]["name"]),
        ("bare", Plain(), "look"),
    ):
        calls, rest = [], []
        for _ in range(asked["rounds"]):
            begun = time.perf_counter()
            environment.reset(**row)
            rest.append(time.perf_counter() - begun)
            method = getattr(environment, tool)
            for _ in range(30):
                begun = time.perf_counter()
                method(**asked["call"]["arguments"])
                calls.append(time.perf_counter() - begun)
            if name == "envmill":
                environment._take_words("Done.")
            begun = time.perf_counter()
            environment.get_reward()
            rest[-1] += time.perf_counter() - begun
        told[name] = {
            "call_ms": 1000 * statistics.median(calls),
            "rollout_ms": 1000 * statistics.median(rest),
        }
    return told


def step_sft(asked: Any) -> Any:
    """Some steps of supervised training; the loss at each."""
    rows = envmill_trl.load_trajectories(asked["folder"])
    tokenizer = make_tokenizer()
    settings = {**QUIET, "max_steps": asked["steps"]}
    args = trl.SFTConfig(
        **settings, per_device_train_batch_size=1, max_length=None, assistant_only_loss=True
    )
    trainer = trl.SFTTrainer(
        model=make_model(len(tokenizer)), args=args, processing_class=tokenizer, train_dataset=rows
    )
    trainer.train()
    batch = trainer.data_collator([trainer.train_dataset[0]])
    learnt = tokenizer.decode(batch["labels"][batch["labels"] != -100])
    return {
        "rows": len(rows),
        "losses": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
        "learnt": learnt,
        "first": rows[0],
    }


def step_dpo(asked: Any) -> Any:
    """One step of preference training."""
    rows = envmill_trl.load_pairs(asked["folder"])
    tokenizer = make_tokenizer()
    args = trl.DPOConfig(**QUIET, per_device_train_batch_size=1, max_length=None)
    policy, reference = (make_model(len(tokenizer)) for _ in range(2))
    trainer = trl.DPOTrainer(
        model=policy, ref_model=reference, args=args, processing_class=tokenizer, train_dataset=rows
    )
    trainer.train()
    return {
        "rows": len(rows),
        "first": rows[0],
        **{key: value for entry in trainer.state.log_history for key, value in entry.items()},
    }


def list_schemas(_: Any) -> Any:
    """What transformers reads from the classes: environment → interface."""
    found = {}
    for environment, cls in envmill_trl.load_environments().items():
        made = cls()
        names = [
            name
            for name, _ in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        ]
        found[environment] = {
            name: get_json_schema(getattr(made, name))
            for name in names
            if name not in ("reset", "get_reward")
        }
    return found


TASKS = {
    "rollouts": play,
    "grpo": step_grpo,
    "outage": step_grpo,
    "page": follow_page,
    "calls": time_calls,
    "sft": step_sft,
    "dpo": step_dpo,
    "schemas": list_schemas,
}

if __name__ == "__main__":
    logging.captureWarnings(capture=True)
    transformers.logging.set_verbosity_error()
    answers = {name: TASKS[name](asked) for name, asked in json.load(sys.stdin).items()}
    versions = {one.__name__: one.__version__ for one in (trl, transformers, datasets, torch)}
    Path(sys.argv[2]).write_text(json.dumps({"answers": answers, "versions": versions}))
