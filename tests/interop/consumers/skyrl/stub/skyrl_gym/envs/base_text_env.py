from typing import Any

BaseTextEnvStepOutput = dict[str, Any]


class BaseTextEnv:
    def __init__(self) -> None:
        self.turns = 0
        self.max_turns: Any = 1
