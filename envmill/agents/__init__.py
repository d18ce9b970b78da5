"""Agents: policies by name, simulated users, rollouts and attackers."""

from collections.abc import Callable

from envmill.agents import model
from envmill.agents.base import Policy
from envmill.agents.careless import Careless
from envmill.agents.model import ModelPolicy
from envmill.agents.reference import ReferencePolicy
from envmill.agents.skilled import Skilled
from envmill.agents.users import model as user
from envmill.agents.users import umpire
from envmill.base.errors import SettingsError

POLICIES: dict[str, Callable[[str], Policy | ModelPolicy]] = {
    "reference": lambda _: ReferencePolicy(),
    "careless": lambda _: Careless(),
    "skilled": lambda degree: Skilled(_read_degree(degree)),
    "model": lambda _: ModelPolicy(),
}
"""Name → what makes the policy of a degree; all but `skilled` have none."""

SCRIPTED = frozenset(POLICIES) - {"model"}
"""Policies that ask no model."""

ROLLOUT_PROMPTS = (model.PROMPT, user.PROMPT)
FAULT_PROMPT = umpire.PROMPT
"""What models are asked with in rollouts."""


def find_policy(name: str) -> Policy | ModelPolicy:
    """`reference`, `careless`, `skilled@0.7`, `model`."""
    family, _, degree = name.partition("@")
    if family not in POLICIES or (degree and family != "skilled"):
        raise SettingsError(
            f"There is no policy {name!r}: use one of reference, careless, model, or skilled@0.7 "
            "with a degree from 0 to 1."
        )
    return POLICIES[family](degree)


def is_scripted(policy: str) -> bool:
    """Whether a policy, as rollouts and trajectories name it, is a script."""
    return policy.partition("@")[0] in SCRIPTED


def _read_degree(text: str) -> float:
    try:
        degree = float(text)
    except ValueError:
        degree = -1.0
    if not 0 <= degree <= 1:
        raise SettingsError(
            f"The skilled policy's degree is {text!r}: write a number from 0 (poor) to 1 (the "
            "oracle), like skilled@0.7."
        )
    return degree
