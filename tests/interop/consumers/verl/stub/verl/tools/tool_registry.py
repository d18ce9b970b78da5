from importlib import import_module
from pathlib import Path
from typing import Any

import yaml


def load_all_tools(tool_config_path: str, function_tool_path: None) -> list[Any]:
    found = []
    for told in yaml.safe_load(Path(tool_config_path).read_text())["tools"]:
        module, name = told["class_name"].rsplit(".", 1)
        found.append(
            getattr(import_module(module), name)(
                config=told["config"], tool_schema=told.get("tool_schema")
            )
        )
    return found
