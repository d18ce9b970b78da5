"""Consumers by name: libraries that play our scenarios in their own loop. `envmill export --for
NAME` writes the folder of one."""

from envmill.interop.consumers import inspect, nemo_gym, openenv, skyrl, trl, verifiers, verl
from envmill.interop.consumers.base import Consumer
from envmill.interop.consumers.writing import export_for, find_left_out

__all__ = ["CONSUMERS", "Consumer", "export_for", "find_left_out"]

_EVERY = (inspect, nemo_gym, openenv, skyrl, trl, verifiers, verl)
CONSUMERS: dict[str, Consumer] = {one.CONSUMER.name: one.CONSUMER for one in _EVERY}
