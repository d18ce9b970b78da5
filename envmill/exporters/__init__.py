"""Exporters by name: what leaves the factory, in which form."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from envmill.exporters import sft
from schemas.rollout import Bundle, Trajectory

EXPORTERS: dict[str, Callable[[Sequence[Trajectory], Mapping[str, str], Path], Bundle]] = {sft.NAME: sft.export_sft}
