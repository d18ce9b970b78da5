"""How a run grows: peak memory and seconds of each step of one run, as JSON.

`python -m tests.bench.growth SCENARIOS FOLDER [--play]`

embedded author ─► every step, its promises, the night, the report, the compaction ─► per part: seconds, peak of resident memory
                    └─ attempts and verdicts of gates are written and not played, unless `--play` is said
"""

import asyncio
import json
import math
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from envmill.agents import attempts
from envmill.agents.setup import RolloutSetup
from envmill.base.settings import Settings
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.kinds.findings import Finding, keep
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEPS
from envmill.pipeline.runner import Runner
from envmill.report.folder import write_report
from envmill.stages import verify
from flows.opening import open_walk
from schemas.base import Json
from schemas.ledger import Lap
from schemas.rollout import Rollout
from schemas.run import RunConfig
from tasks.night import _judge as judge
from tasks.quality import hold_to_promises

RUN = "growth"
PER_ENVIRONMENT = 25
"""Scenarios of an environment, as in EnvScaler's release."""
ASKED = 5 / 4
"""Environments asked for each that is needed: of many by the embedded author some are duplicates, and are dropped."""
Measured = dict[str, dict[str, float]]
"""Part of the run → seconds, and the peak of resident memory in MB."""


def measure(scenarios: int, folder: Path, *, play: bool = False) -> dict[str, Any]:
    """One run in this process. What it took, and what is in the lake afterwards."""
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )
    cut: dict[str, Any] = {"search": 0, "rehearse": False, "coverage": False, "mistakes": 0.0}
    if play:
        cut["provisional"] = True  # without a search, S13 measures nothing
    each = min(PER_ENVIRONMENT, scenarios)
    environments = math.ceil(scenarios / each * ASKED)
    config = RunConfig(environments=environments, scenarios=each, seed=1, attempts=8, **cut)
    parts: Measured = {}
    with ExitStack() as stubs:
        if not play:
            stubs.enter_context(mock.patch.object(attempts, "play_on", write_attempt))
            stubs.enter_context(mock.patch.object(verify, "run_gates_anywhere", write_findings))
        outcomes = asyncio.run(_walk(config, settings, parts))
    lake = Lake(settings.lake)
    with _measured(parts, "report"):
        asyncio.run(write_report(lake, RUN, folder / "report"))
    with _measured(parts, "compaction"):
        compact(lake, RUN)
    return {"scenarios": scenarios, "parts": parts, "outcomes": outcomes}


async def _walk(
    config: RunConfig, settings: Settings, parts: Measured
) -> dict[str, dict[str, int]]:
    """Step → how many entered it, were kept and dropped."""
    outcomes: dict[str, dict[str, int]] = {}
    async with open_walk(RUN, config, settings) as walk:
        for step in STEPS:
            if step.stage == "export":
                with _measured(parts, "night"):
                    await asyncio.to_thread(judge, walk)
            with _measured(parts, step.name):
                await _work(walk, step.name)
        with _measured(parts, "quality of the run"):
            await hold_to_promises(walk, [step.name for step in STEPS], None)
        for step in STEPS:
            told, entered = walk.count(step), len(walk.find_entered(step))
            outcomes[step.name] = {"entered": entered, "kept": told.kept, "dropped": told.dropped}
    note(walk.lake, RUN, "finished", [])
    return outcomes


async def _work(walk: Runner, name: str) -> None:
    """As a flow does: the step, then its promises."""
    step = next(one for one in STEPS if one.name == name)
    await walk.walk((step,))
    await hold_to_promises(walk, [name], {"attrition", "gate_evidence", *step.makes})


@contextmanager
def _measured(parts: Measured, name: str) -> Generator[None]:
    """The kernel keeps the peak; writing 5 there sets it back to what is held now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    began, spent = time.monotonic(), time.process_time()
    yield
    peak = next(
        line
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        if line.startswith("VmHWM")
    )
    parts[name] = {
        "seconds": round(time.monotonic() - began, 2),
        "own": round(time.process_time() - spent, 2),
        "peak": round(int(peak.split()[1]) / 1024, 1),
    }
    sys.stderr.write(f"{name} {parts[name]}\n")


async def write_findings(lap: Lap, *_: Any) -> list[Finding]:
    """What the gates of a lap find of something sound, with a dossier of the usual size."""
    gates = ENVIRONMENT_GATES if lap == "environments" else SCENARIO_GATES
    told: Json = {"probes": [{"seen": f"end {number}", "reward": 0.0} for number in range(12)]}
    return [keep(gate.name, told) for gate in gates if not gate.asks]


async def write_attempt(
    ground: RolloutSetup, policy: Any, sandbox: Any, group: str, number: int, **asked: Any
) -> Rollout:
    """An attempt of the usual size that nobody played: the reference path, whole in two of three attempts and cut short in the third."""
    scenario, passes = ground.scenario, number % 3 != 1
    calls = scenario.oracle if passes else scenario.oracle[:-1]
    messages: list[Json] = [{"role": "user", "content": scenario.request}]
    for place, call in enumerate(calls):
        told = {"id": f"call_{place}", "name": call.name, "arguments": call.arguments}
        messages.append(
            {"role": "assistant", "content": f"Attempt {number}.", "tool_calls": [told]}
        )
        reply: Json = {
            "ok": True,
            "parts": [{"type": "json", "value": {"seen": [scenario.id] * 10}}],
        }
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"call_{place}",
                "content": reply,
                "state_hash": "0" * 20,
            }
        )
    messages.append(
        {"role": "assistant", "content": "Done." if passes else "I could not do all of it."}
    )
    return Rollout(
        scenario=scenario.id,
        environment=scenario.environment,
        policy=policy.name,
        rollout_group=group,
        attempt=number,
        seed=number,
        outcome="pass" if passes else "fail",
        reward=1.0 if passes else 0.0,
        components={"goals": 1.0 if passes else 0.0},
        reason="" if passes else "A goal was not reached.",
        steps=len(calls),
        termination="done",
        final_state_hash="0" * 20,
        transcript=messages,
        changes=[],
        form=asked.get("form", "single"),
    )


if __name__ == "__main__":
    found = measure(int(sys.argv[1]), Path(sys.argv[2]), play="--play" in sys.argv[3:])
    sys.stdout.write(json.dumps(found) + "\n")
