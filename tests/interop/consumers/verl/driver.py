"""verl's tools driven as its agent loop drives them, with verl or what stands for it, and nothing
of ours.

driver.py FOLDER STUB  <  {"plays": [[row, [[[tool, arguments], …] per message], [last words]], …],
"break": play whose jail is ended}
"""

import asyncio
import json
import pickle
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

asked = json.load(sys.stdin)
sys.path[:0] = sys.argv[1:3]
load_all_tools = import_module("verl.tools.tool_registry").load_all_tools
worlds, reward = (import_module(f"envmill_verl.{name}") for name in ("worlds", "reward"))
rows: dict[str, Any] = {one["extra_info"]["scenario"]: one for one in asked["rows"]}


class AgentData:
    """What a tool is handed of a rollout."""

    def __init__(self, row: Any) -> None:
        self.messages = list(row["prompt"])
        self.tools_kwargs = row["extra_info"]["tools_kwargs"]
        self.extra_fields: dict[str, Any] = {}


async def call(tools: dict[str, Any], name: str, arguments: Any, data: AgentData) -> str:
    if name not in tools:
        return f"Unknown function '{name}'"
    tool = tools[name]
    instance, _ = await tool.create(
        create_kwargs=data.tools_kwargs.get(name, {}).get("create_kwargs", {})
    )
    response, paid, _ = await tool.execute(instance, arguments, agent_data=data)
    assert paid == 0.0
    await tool.release(instance)
    return response.text


async def play(row: Any, turns: list[Any], said: list[str], broken: bool) -> Any:
    every = {tool.name: tool for tool in load_all_tools(str(Path(sys.argv[1], "tools.yaml")), None)}
    tools = {name: every[name] for name in row["extra_info"]["tool_selection"]}
    real = {tool.config["tool"]: name for name, tool in tools.items()}
    data, replies = AgentData(row), []
    for number, calls in enumerate(turns):
        if broken and number == 1:
            worlds.open_worlds().lanes.shared[0].engine.jail.close()
        data.messages.append({"role": "assistant", "content": "", "tool_calls": [{}]})
        answers = await asyncio.gather(
            *(call(tools, real.get(name, name), arguments, data) for name, arguments in calls)
        )
        replies += answers
        data.messages += [{"role": "tool", "content": answer} for answer in answers]
    words = " ".join(said)
    data.messages.append({"role": "assistant", "content": f"{words}<|im_end|>"})
    # As Ray carries it to the process of the rewards.
    fields = pickle.loads(pickle.dumps(data.extra_fields))
    return (
        words,
        fields,
        replies,
        [
            tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True)
            for tool in tools.values()
        ],
    )


told = []
for place, (name, turns, said) in enumerate(asked["plays"]):
    row = rows.get(name) or asked["rows"][0] | {
        "extra_info": asked["rows"][0]["extra_info"] | asked["wrong"]
    }
    words, fields, replies, schemas = asyncio.run(
        play(row, turns, said, asked.get("break") == place)
    )
    extra = {**row["extra_info"], **fields, "num_turns": 1}
    ground_truth = row["reward_model"]["ground_truth"]
    score = reward.compute_score(
        data_source="envmill", solution_str=words, ground_truth=ground_truth, extra_info=extra
    )
    told.append(
        {
            **score,
            "replies": replies,
            "schemas": schemas,
            "live": fields.get("extras", {}).get("envmill", {}),
        }
    )
ours = sorted(name for name in sys.modules if name.split(".")[0] in ("envmill", "schemas"))
sys.stdout.write(json.dumps({"told": told, "ours": ours}))
