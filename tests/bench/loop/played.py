"""What the training loop plays: environments of the offline author, a shed with a generated check,
and one with hostile tools.

scenario × five policies × three lengths ─► script: calls, last words, and what they earn natively
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.interop.consumers import CONSUMERS
from envmill.kinds import KINDS
from envmill.kinds.trial import try_calls
from envmill.sandbox import Sandbox
from schemas.environment import Call, Environment
from schemas.scenario import Check, Scenario
from tests.interop.bundles.policies import list_policies
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.offline.questions import THEMES
from tests.specimens import EFFECTS, PROGRAM, VERIFIER, make_environment, make_scenario
from tests.trust import posing

ENVIRONMENTS = 12
LENGTHS, SHORTEST, LONGEST = 3, 4, 40
"""Lengths of each policy's script, and bounds of the turns of a rollout, the last words among
them."""
_MEDIAN, _SPREAD = 10.0, 0.6
"""Of the turns of a rollout, which are distributed lognormally."""
_CHECK = """
def check(initial, final):
    return any(loan["tool"] == "T1" and loan["member"] == "M1" for loan in final["loans"].values())
"""
_HOSTILE = """
    def spin(self) -> str:
        \"\"\"Never end.\"\"\"
        while True:
            pass

    def hog(self) -> str:
        \"\"\"Take all the memory there is.\"\"\"
        held = []
        while True:
            held.append(bytearray(16 << 20))

    def flood(self) -> str:
        \"\"\"Answer with as much as a reply may have.\"\"\"
        return "x" * 1_900_000
"""
HOSTILE_TOOLS = ("spin", "hog", "flood")


@dataclass(frozen=True)
class Script:
    """One way to play a scenario, and what it earns natively."""

    scenario: str
    name: str
    judged: str
    """`declarative` or `generated`."""
    calls: list[dict[str, Any]]
    say: str
    reward: float
    state_hash: str


@dataclass(frozen=True)
class ExportSet:
    """An exported folder and the scripts for it."""

    folder: Path
    scripts: list[Script]
    hostile: str
    """The scenario whose environment has hostile tools."""

    def write(self, path: Path) -> Path:
        """Scripts as a file for other processes."""
        path.write_text(
            json.dumps(
                {"scripts": [asdict(script) for script in self.scripts], "hostile": self.hostile}
            )
        )
        return path


async def make(place: Path, environments: int = ENVIRONMENTS) -> ExportSet:
    """The folder that `envmill export --for openenv` writes, and scripts with their native
    verdicts."""
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(place / "home")})) as jail:
        posed = [await _pose(theme, jail) for theme in sorted(THEMES)[:environments]]
        checked, hostile = _make_checked(), _make_hostile()
        pairs = [*posed, checked]
        scripts = [
            script
            for scenario, home in pairs
            for script in await _write_scripts(scenario, home, jail)
        ]
    folder = write_consumer(CONSUMERS["openenv"], make_export_set([*pairs, hostile]), place / "out")
    return ExportSet(folder, scripts, hostile[0].id)


async def _pose(theme: str, jail: Sandbox) -> tuple[Scenario, Environment]:
    scenario = await posing.find_clean(posing.Spot(theme, 0, 0), jail)
    assert isinstance(scenario, Scenario), scenario
    home = posing.make_environment(theme, 0)
    return Scenario.model_validate(scenario.model_dump() | {"environment": home.id, "id": ""}), home


def _make_checked() -> tuple[Scenario, Environment]:
    shed = make_environment(name="Checked shed")
    goal = Check(name="The drill is lent to Ada.", op="generated", path=[], source=_CHECK)
    return make_scenario(
        shed, verifier=VERIFIER.model_copy(update={"goals": [*VERIFIER.goals, goal]})
    ), shed


def _make_hostile() -> tuple[Scenario, Environment]:
    program = PROGRAM + _HOSTILE
    effects: dict[str, Any] = EFFECTS | dict.fromkeys(HOSTILE_TOOLS, "query")
    shed = make_environment(
        program, tools=KINDS["stateful"].derive_tools(program, "Shed", effects), name="Hostile shed"
    )
    return make_scenario(shed), shed


async def _write_scripts(scenario: Scenario, home: Environment, jail: Sandbox) -> Sequence[Script]:
    chance, found = random.Random(scenario.id), list[Script]()
    generated = any(
        check.op == "generated" for check in (*scenario.verifier.goals, *scenario.verifier.guards)
    )
    queries = {tool.name for tool in home.tools if tool.effect == "query"}
    look = next((call for call in scenario.oracle if call.name in queries), scenario.oracle[0])
    for name, (calls, said) in list_policies(scenario).items():
        for _ in range(LENGTHS):
            turns = min(LONGEST, max(SHORTEST, round(chance.lognormvariate(0, _SPREAD) * _MEDIAN)))
            played = _lengthen(calls, look, turns - 1)
            trial = await try_calls(scenario, home, jail, played, said)
            end = trial.seen[-2] if trial.replies else trial.seen[0]
            assert trial.verdict.reward is not None
            told = [{"tool": call.name, "arguments": call.arguments} for call in played]
            judged = "generated" if generated else "declarative"
            found.append(
                Script(
                    scenario.id,
                    name,
                    judged,
                    told,
                    " ".join(said),
                    trial.verdict.reward,
                    end.state_hash,
                )
            )
    return found


def _lengthen(calls: Sequence[Call], look: Call, turns: int) -> list[Call]:
    """As many calls as turns: looks come first, as an agent's do."""
    return [*[look] * max(0, turns - len(calls)), *calls][: LONGEST - 1]
