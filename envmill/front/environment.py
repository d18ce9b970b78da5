"""An environment opened for a program: its scenarios, sessions, rollouts and audits.

folder, or id in the lake ─► open_environment ─┬─► start ─► Session
                                               ├─► play ─► Rollout
                                               └─► audit ─► AuditEntry per gate
"""

from pathlib import Path

from envmill.agents import find_policy
from envmill.agents.function import FunctionPolicy, Respond
from envmill.agents.rollout import play_scenario
from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.front.background import BackgroundLoop, Held
from envmill.front.holdings import Playable, as_playable, find_playable, find_tests
from envmill.front.session import Session
from envmill.front.settings import settle
from envmill.gates.base import GateContext
from envmill.interop.bundles import Folder, read_folder
from envmill.kinds import open_sandbox
from envmill.kinds.start import CLOCK, start
from envmill.pipeline.audit import AuditEntry, audit_folder, audit_scenario
from envmill.sandbox import Reset
from schemas.base import Json
from schemas.environment import Tool
from schemas.rollout import Form, Rollout
from schemas.scenario import Scenario


def open_environment(
    where: str | Path, *, run: str = "", settings: Settings | None = None
) -> "OpenEnvironment":
    """Open a bundle folder, or an environment or scenario of the lake by its id or the beginning of
    one.

    `run` says in which run of the lake to look; without it, the latest that holds the id. `settings` are read from the variables
    `ENVMILL_*` when left out.
    """
    settings = settle(settings)
    path = Path(where)
    if path.is_dir():
        found = read_folder(path)
        return OpenEnvironment(as_playable(found), found, settings)
    if isinstance(where, Path) or "/" in where:
        raise SettingsError(
            f"There is no folder {where}. Name a bundle folder (docs/bundle-folder.md), or an id "
            "of the lake."
        )
    playable, _ = find_playable(settings, where, run)
    tests = (
        find_tests(settings, playable.environment.id, run)
        if playable.scenarios or playable.states
        else []
    )
    return OpenEnvironment(
        playable, Folder(playable.environment, tuple(tests), tuple(playable.scenarios)), settings
    )


class OpenEnvironment:
    """An environment with a jail that runs its program. Close it, or use it as a context."""

    def __init__(self, playable: Playable, folder: Folder, settings: Settings) -> None:
        self.record, self.scenarios = playable.environment, playable.scenarios
        self._states, self._folder = playable.states, folder
        self._background = BackgroundLoop()
        try:
            self._held = Held(self._background, open_sandbox(settings))
        except BaseException:
            self._background.close()
            raise

    @property
    def tools(self) -> list[Tool]:
        """Tools that the agent may call."""
        return [tool for tool in self.record.shown if "agent" in tool.actors]

    def find_scenario(self, name: str) -> Scenario:
        """Find a scenario by its id, the beginning of it, or its number."""
        found = [
            one for one in self.scenarios if one.id.startswith(name) or f"{one.number:03d}" == name
        ]
        if len(found) != 1:
            known = ", ".join(f"{one.number:03d} ({one.id})" for one in self.scenarios) or "none"
            raise SettingsError(
                f"{len(found)} scenarios of {self.record.name} are {name!r}. There are: {known}."
            )
        return found[0]

    def start(
        self,
        scenario: Scenario | str | None = None,
        *,
        state: dict[str, Json] | None = None,
        seed: int | None = None,
    ) -> Session:
        """Start a session: in a scenario, in a state, or in the environment's own first state.
        `seed` decides ids and chance."""
        chosen = self.find_scenario(scenario) if isinstance(scenario, str) else scenario
        if chosen is not None and state is not None:
            raise SettingsError(
                "A scenario has its own state. Name a scenario or a state, not both."
            )
        if chosen is None and state is None and not self._states:
            raise SettingsError(
                f"{self.record.name} has no initial state of its own. Name a scenario or a state."
            )
        reset = (
            start(chosen)
            if chosen
            else Reset(self._states[0] if state is None else state, CLOCK, 0)
        )
        if seed is not None:
            reset = Reset(reset.state, reset.clock, seed)
        return Session(self._background, self._held.value, self.record, reset, chosen)

    def play(
        self,
        scenario: Scenario | str,
        policy: Respond | str = "reference",
        *,
        form: Form = "single",
        attempt: int = 0,
    ) -> Rollout:
        """Play one rollout and judge it.

        `policy` is a function, or the name of a script: `reference`, `careless`, `skilled@0.7`. A function gets messages and tools in
        OpenAI's form and returns words, or a message with `tool_calls`. Words end the form
        `single`; in a `conversation` the scripted
        user answers. Another `attempt` is another seed.
        """
        chosen = self.find_scenario(scenario) if isinstance(scenario, str) else scenario
        if policy == "model":
            raise SettingsError(
                "A model plays within a run. Give a function that asks the model, or use `envmill "
                "run --probe model`."
            )
        actor = find_policy(policy) if isinstance(policy, str) else FunctionPolicy(policy)
        return self._background.run(
            play_scenario(
                actor, chosen, self.record, self._held.value, "library", attempt, form=form
            )
        )

    def audit(self, scenario: Scenario | str | None = None, *, seed: int = 0) -> list[AuditEntry]:
        """Ask every gate about one scenario, or about the environment and all its scenarios.
        Nothing is written."""
        means = GateContext(self._held.value, seed=seed)
        if scenario is None:
            return self._background.run(audit_folder(self._folder, means))
        chosen = self.find_scenario(scenario) if isinstance(scenario, str) else scenario
        return self._background.run(audit_scenario(self._folder, chosen, means))

    def close(self) -> None:
        """End the jail and every session in it."""
        if self._background.is_open:
            self._held.close()
            self._background.close()

    def __enter__(self) -> "OpenEnvironment":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
