"""The least taskset of verifiers with a tool and a state: what a step costs without us."""

# pyright: basic, reportMissingImports=false

import verifiers.v1 as vf


class PlainState(vf.State):
    calls: int = 0


class PlainToolset(vf.Toolset[vf.SharedToolsetConfig, PlainState]):
    TOOL_PREFIX = None

    @vf.tool
    def list_tools(self) -> str:
        """List nothing."""
        self.state.calls += 1
        return '{"ok":true}'


class PlainTask(vf.Task[vf.TaskData, PlainState]):
    @vf.reward
    async def passed(self, trace: vf.Trace) -> float:
        return float(trace.state.calls > 0)


class PlainConfig(vf.TasksetConfig):
    tools: vf.SharedToolsetConfig = vf.SharedToolsetConfig()


class PlainTaskset(vf.Taskset[PlainTask, PlainConfig]):
    @classmethod
    def toolsets(cls, config: PlainConfig) -> list[vf.Toolset]:
        return [PlainToolset(config.tools)]

    def load(self) -> list[PlainTask]:
        return [
            PlainTask(
                vf.TaskData(name="plain", prompt="Please lend the drill to Ada."), self.config.task
            )
        ]


__all__ = ["PlainTask", "PlainTaskset"]

if __name__ == "__main__":
    PlainToolset.run()
