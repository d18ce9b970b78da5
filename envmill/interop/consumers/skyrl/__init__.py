"""SkyRL (NovaSky): an environment of SkyRL-gym for every exported scenario, and rows for SkyRL's
data loader."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envmill.interop.consumers.base import Consumer, fill_needs
from envmill.interop.consumers.sessions import ScenarioRow

PACKAGE = "envmill_skyrl"
VERSIONS = {"skyrl-gym": "0.4.0"}
NAME = "envmill"
"""What the environment is registered as: `env_class` of every row."""
_TOOLS = """# Tools
You have the tools below. Each line is one of them, with a JSON Schema of its arguments:
<tools>
{tools}
</tools>
To call one, write a JSON object with its name and its arguments between the tags:
<tool_call>
{{"name": "NAME", "arguments": {{"PARAMETER": "VALUE"}}}}
</tool_call>
You may write several of them. The replies come in <tool_response></tool_response> in the same order.
A message without a call goes to the user."""
_HERE = Path(__file__).parent


def describe_row(row: ScenarioRow) -> dict[str, Any]:
    """A row of SkyRL's data set. SkyRL renders messages alone, so the tools stand in the system
    message."""
    tools = "\n".join(
        json.dumps(tool["function"], sort_keys=True, ensure_ascii=False) for tool in row.tools
    )
    told = [message["content"] for message in row.prompt if message["role"] == "system"]
    system = "\n\n".join([*told, _TOOLS.format(tools=tools)])
    return {
        "data_source": "envmill",
        "prompt": [
            {"role": "system", "content": system},
            *(one for one in row.prompt if one["role"] != "system"),
        ],
        "env_class": NAME,
        "reward_spec": {"method": "rule", "ground_truth": ""},
        "extra_info": {
            "scenario": row.id,
            "environment": row.environment,
            "kind": row.kind,
            "split": row.split,
        },
    }


def _write_papers(rows: Sequence[ScenarioRow]) -> dict[str, str]:
    """The distribution, and the data set: a file per split."""
    papers = {
        "pyproject.toml": fill_needs(
            (_HERE / "distribution.toml").read_text(encoding="utf-8"), VERSIONS
        )
    }
    for split in sorted({row.split for row in rows}):
        lines = [
            json.dumps(describe_row(row), ensure_ascii=False) for row in rows if row.split == split
        ]
        papers[f"data/{split}.jsonl"] = "".join(f"{line}\n" for line in lines)
    return papers


CONSUMER = Consumer(
    name="skyrl",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=_write_papers,
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
)
