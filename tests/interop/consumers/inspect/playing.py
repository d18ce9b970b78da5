# pyright: basic, reportMissingImports=false
"""inspect-ai plays an installed folder in its own loop, by scripted models; run by an interpreter
that has inspect-ai and nothing of ours.

playing.py SITE ANSWERS  <  {"scripts", "talks", "broken", "attack", "clocked", "commands",
"openings", "opened"}
"""

import json
import os
import runpy
import shlex
import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypeAlias

SITE = sys.argv[1]
OFFLINE = Path(__file__).parents[1] / "offline.py"
runpy.run_path(str(OFFLINE))["leave_network"]()
sys.path.insert(0, SITE)

from inspect_ai import Task, eval, score  # noqa: E402  the network is left first
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.log import EvalLog, EvalSample, read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.solver import basic_agent, generate, use_tools  # noqa: E402
from inspect_ai.solver._task_state import sample_state  # noqa: E402
from inspect_ai.tool import ToolDef, ToolInfo  # noqa: E402

envmill_inspect = import_module("envmill_inspect")
Turn: TypeAlias = dict[str, Any]
"""`call` and `arguments`, or `say`; `kill` ends the jail and the judge before it."""
PATIENCE = 900


def script(turns: dict[str, list[Turn]], seen: dict[str, list[ToolInfo]] | None = None) -> Any:
    """A model that takes its turns by the sample's id. After the last of them it says nothing."""

    def speak(messages: list[Any], tools: list[ToolInfo], choice: Any, config: Any) -> ModelOutput:
        state = sample_state()
        assert state is not None
        if seen is not None:
            seen[str(state.sample_id)] = tools
        spoken = sum(message.role == "assistant" for message in messages)
        mine = turns[str(state.sample_id)]
        turn = mine[spoken] if spoken < len(mine) else {"say": ""}
        if turn.get("kill"):
            kill_children()
        if "call" in turn:
            output = ModelOutput.for_tool_call("scripted", turn["call"], turn["arguments"])
        else:
            output = ModelOutput.from_content("scripted", turn["say"])
        # Otherwise the model counts tokens with a table that it downloads.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=speak, memoize=False)


def kill_children() -> None:
    """The jail and the judge are this process's children."""
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                os.kill(int(place.parent.name), signal.SIGKILL)


def evaluate(task: Task, model: Any, **asked: Any) -> EvalLog:
    """The log, as it was read back from its file."""
    (log,) = eval(task, model=model, display="none", log_dir="logs", **asked)
    assert log.status == "success", log.error
    return read_eval_log(log.location)


def describe(sample: EvalSample) -> dict[str, Any]:
    value = next(iter(sample.scores.values())) if sample.scores else None
    return {
        "scenario": str(sample.id), "error": sample.error.message if sample.error else "",
        "value": value and value.value, "metadata": value and value.metadata,
        "replies": [message.text for message in sample.messages if message.role == "tool"],
        "errors": [message.error.message for message in sample.messages if message.role == "tool" and message.error],
        "heard": [message.text for message in sample.messages if message.role == "user"],
        "store": dict(sample.store),
    }  # fmt: skip


def play(turns: dict[str, list[Turn]], **asked: Any) -> list[dict[str, Any]]:
    task = envmill_inspect.envmill(scenarios=list(turns))
    return [
        describe(sample)
        for sample in evaluate(task, script(turns), max_samples=8, **asked).samples or ()
    ]


def play_scripts(policies: dict[str, dict[str, list[Turn]]]) -> list[dict[str, Any]]:
    return [{"name": name, **told} for name, turns in policies.items() for told in play(turns)]


def list_shown(turns: dict[str, list[Turn]]) -> dict[str, Any]:
    """Scenario → the tools that the model is shown."""
    seen: dict[str, list[ToolInfo]] = {}
    evaluate(
        envmill_inspect.envmill(scenarios=list(turns)),
        script({row: [{"say": ""}] for row in turns}, seen),
    )
    return {
        row: [tool.model_dump(exclude_none=True) for tool in tools] for row, tools in seen.items()
    }


def break_down(turns: dict[str, list[Turn]]) -> dict[str, Any]:
    """The jail and the judge die in the first sample; the second goes on with others. Then the log
    is scored again."""
    log = evaluate(envmill_inspect.envmill(scenarios=list(turns)), script(turns), max_samples=1)
    assert log.results
    again = score(log, envmill_inspect.passed(), action="overwrite", display="none")
    assert again.results
    counted = [
        {"mean": one.metrics["mean"].value, "scored": one.scored_samples}
        for found in (log.results, again.results)
        for one in found.scores
    ]
    return {
        "samples": {str(sample.id): describe(sample) for sample in log.samples or ()},
        "counted": counted,
    }


def play_with_agent(turns: dict[str, list[Turn]], row: str) -> list[dict[str, Any]]:
    """inspect's own agent in place of our solver: it ends with a tool of its own. And a
    conversation, which it cannot hold."""
    ending = {
        name: [
            *(turn for turn in mine if "call" in turn),
            {"call": "submit", "arguments": {"answer": mine[-1].get("say", "Done.")}},
        ]
        for name, mine in turns.items()
    }
    told = play(ending, solver=basic_agent())
    return [
        *told,
        *play({row: [{"call": "submit", "arguments": {"answer": "Done."}}]}, solver=basic_agent()),
    ]


def make_bare(tools: list[ToolInfo]) -> Task:
    """A task of inspect's own with the same interface, whose tools answer a constant."""

    async def execute(**kwargs: Any) -> str:
        return '{"ok":true}'

    bare = [
        ToolDef(partial(execute), tool.name, tool.description, tool.parameters) for tool in tools
    ]
    return Task([Sample("x", id="bare")], solver=[use_tools(bare), generate()], scorer=includes())


def clock(scenario: str, turn: Turn) -> dict[str, dict[str, float]]:
    """Milliseconds a step, of the clock and of this process: from evaluations of few and of many
    calls, the median of five."""
    few, many = 2, 38
    seen: dict[str, list[ToolInfo]] = {}
    evaluate(envmill_inspect.envmill(scenarios=scenario), script({scenario: [{"say": ""}]}, seen))

    def time_of(task: Task, sample: str, count: int) -> tuple[float, float]:
        wall, used = time.perf_counter(), time.process_time()
        log = evaluate(task, script({sample: [turn] * count}))
        assert (
            len(
                [
                    message
                    for message in (log.samples or [])[0].messages
                    if message.role == "tool" and not message.error
                ]
            )
            == count
        )
        return time.perf_counter() - wall, time.process_time() - used

    told: dict[str, dict[str, float]] = {}
    for name, sample in (("bare", "bare"), ("envmill", scenario)):
        costs = []
        for _ in range(5):
            tasks = [
                make_bare(seen[scenario])
                if name == "bare"
                else envmill_inspect.envmill(scenarios=scenario)
                for _ in range(2)
            ]
            short, long = (
                time_of(task, sample, count) for task, count in zip(tasks, (few, many), strict=True)
            )
            costs.append(
                [
                    (after - before) / (many - few) * 1000
                    for before, after in zip(short, long, strict=True)
                ]
            )
        told[name] = {
            "wall": statistics.median(cost[0] for cost in costs),
            "processor": statistics.median(cost[1] for cost in costs),
        }
    return told


def catch(act: Any) -> str:
    try:
        act()
    except Exception as error:  # noqa: BLE001  what a user is told, whatever it is
        return str(error)
    return ""


def run_commands(commands: list[str], scripts: Any, rows: list[str]) -> list[Any]:
    """The page's commands, with a scripted server of OpenAI's interface as the model; after each of
    them the newest log."""
    Path("scripts.json").write_text(json.dumps(scripts))
    told = []
    for command in commands:
        assert command.split()[0] == "inspect"
        words = [
            str(newest_log()) if word == "logs/FILE.eval" else word for word in shlex.split(command)
        ]
        words = ["openai-api/local/oracle" if word == "MODEL" else word for word in words]
        words += ["-T", f"scenarios={','.join(rows)}"] if "eval" in words else []
        env = {
            **os.environ,
            "PYTHONPATH": SITE,
            "LOCAL_API_KEY": "none",
            "INSPECT_DISPLAY": "plain",
        }
        shell = 'export LOCAL_BASE_URL="$0"; exec "$@"'
        run = [
            sys.executable,
            str(OFFLINE),
            "scripts.json",
            "--",
            "sh",
            "-c",
            shell,
            "{url}",
            sys.executable,
            "-m",
            "inspect_ai",
        ]
        done = subprocess.run(
            [*run, *words[1:]],
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        log = read_eval_log(str(newest_log()))
        scores = [
            {name: one.value for name, one in (sample.scores or {}).items()}
            for sample in log.samples or ()
        ]
        told.append(
            {"code": done.returncode, "said": (done.stdout + done.stderr)[-3000:], "scores": scores}
        )
    return told


def newest_log() -> Path:
    return max(Path("logs").glob("*.eval"), key=lambda path: path.stat().st_mtime)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    if asked.keys() == {"talks"}:
        Path(sys.argv[2]).write_text(json.dumps({"talks": play(asked["talks"])}))
        sys.exit()
    first, turns = asked["clocked"]
    oracles = asked["scripts"]["oracle"]
    answers = {
        "scripts": play_scripts(asked["scripts"]),
        "shown": list_shown(oracles),
        "talks": play(asked["talks"]),
        "attack": play(asked["attack"]),
        "broken": break_down(asked["broken"]),
        "agent": play_with_agent(oracles, next(iter(asked["talks"]))),
        "mistakes": {
            "unknown scenario": catch(lambda: envmill_inspect.envmill(scenarios="scn_9")),
            "unknown split": catch(lambda: envmill_inspect.envmill(split="dev")),
            "no row": catch(lambda: envmill_inspect.envmill(forms="monologue")),
            "no folder": catch(lambda: envmill_inspect.envmill(folder="/nowhere")),
        },
        "clock": clock(first, turns[0]),
        "commands": run_commands(asked["commands"], {"oracle": asked["openings"]}, asked["opened"]),
    }
    Path(sys.argv[2]).write_text(
        json.dumps({"answers": answers, "versions": {"inspect-ai": metadata.version("inspect-ai")}})
    )
