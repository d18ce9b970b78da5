# pyright: basic, reportMissingImports=false
"""Exported scenarios in TRL's `GRPOTrainer`: environment classes, and rows to roll out, to imitate and to prefer.

rows (public) ──load_rows──► train_dataset        sessions (sealed) ──load_environments──► environment_factory
the last words of a completion ──read_last_words──► environment ──get_reward──► 1, 0, or None where nothing was found out
"""

from .environments import TrlEnvironment, load_environments, read_last_words
from .loading import load_pairs, load_rows, load_trajectories

__all__ = ["TrlEnvironment", "load_environments", "load_pairs", "load_rows", "load_trajectories", "read_last_words"]
