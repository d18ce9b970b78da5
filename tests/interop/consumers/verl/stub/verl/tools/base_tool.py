from typing import Any
from uuid import uuid4

from .schemas import ToolResponse


class BaseTool:
    def __init__(self, config: dict[str, Any], tool_schema: Any) -> None:
        self.config, self.tool_schema = config, tool_schema or self.get_openai_tool_schema()
        self.name = self.tool_schema.function.name

    def get_openai_tool_schema(self) -> Any:
        return self.tool_schema

    async def create(self, instance_id: str | None = None, **words: Any) -> tuple[str, Any]:
        return instance_id or str(uuid4()), ToolResponse()

    async def calc_reward(self, instance_id: str, **words: Any) -> float:
        return 0.0

    async def release(self, instance_id: str, **words: Any) -> None:
        pass
