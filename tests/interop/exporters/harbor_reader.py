"""Harbor's own models, run by an interpreter that has them: what do they make of these folders and
trajectories? Answers as JSON.

harbor_reader.py FOLDER...
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from harbor.models.task.task import Task  # pyright: ignore[reportMissingImports]
from harbor.models.trajectories import Trajectory  # pyright: ignore[reportMissingImports]

warnings.simplefilter("error")


def read(path: Path) -> dict[str, Any]:
    try:
        if path.is_file():
            found = Trajectory.model_validate_json(path.read_text())
            return {
                "fault": "",
                "steps": len(found.steps),
                "same": found.to_json_dict() == json.loads(path.read_text()),
            }
        task = Task(path)
        return {
            "fault": "" if Task.is_valid_dir(path) else "no valid folder",
            "name": task.name,
            "instruction": task.instruction,
        }
    except Exception as error:  # noqa: BLE001  whatever they say is the answer
        return {"fault": f"{type(error).__name__}: {error}"[:500]}


json.dump([read(Path(path)) for path in sys.argv[1:]], sys.stdout)
