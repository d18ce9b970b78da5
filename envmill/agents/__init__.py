"""Scripted policies by name."""

from envmill.agents.base import Policy
from envmill.agents.careless import Careless
from envmill.agents.reference import Reference

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (Reference(), Careless())}
