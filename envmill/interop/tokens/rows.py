"""Token ids that exporters write: rows by trajectory, pair, prompt or attempt, and the ids of rows
that were left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas.base import Json


@dataclass(frozen=True)
class TokenRow:
    """A trajectory as a model reads it, or one part of it."""

    part: int
    """0 for the whole; higher numbers for its beginnings, which mask turns that the template writes
    differently when later messages follow."""
    ids: list[int]
    said: list[bool]
    """Per token: whether the policy said it."""
    loss: list[bool]
    """Per token: whether a trainer learns from it."""
    turns: list[int]
    """Messages that are masked, by index."""
    quoted: bool = False
    """Whether one of its texts contains the characters of a control token."""
    thinking_left_out: bool = False
    """Whether the template leaves out thinking that the row has."""
    logprobs: list[float | None] | None = None
    """Per token: its log probability when sampled; null if it was not sampled or is unknown."""
    sampled: int = 0
    """How many masked turns have the ids that the server sampled."""


@dataclass(frozen=True)
class TokenEnd:
    """One attempt of a pair as a model reads it."""

    prompt: list[int]
    """Ids with which both attempts begin."""
    ids: list[int]
    """Ids after the prompt."""
    mask: list[bool]
    """Per token of `ids`: whether the policy said it and the comparison uses it."""
    logprobs: list[float | None] | None = None
    """Per token of `ids`, as in `TokenRow`."""
    sampled: int = 0
    """How many of its turns have the ids that the server sampled."""


@dataclass(frozen=True)
class TokenPair:
    """A pair as a model reads it."""

    chosen: TokenEnd
    rejected: TokenEnd


@dataclass(frozen=True)
class TokenSheet:
    """Token ids of all rows of one export."""

    tokenizer: Json
    """Name, SHA-256 of its files and of its templates."""
    trajectories: Mapping[str, Sequence[TokenRow]] = field(
        default_factory=dict[str, Sequence[TokenRow]]
    )
    pairs: Mapping[str, TokenPair] = field(default_factory=dict[str, TokenPair])
    prompts: Mapping[tuple[str, str], list[int]] = field(
        default_factory=dict[tuple[str, str], list[int]]
    )
    """Scenario and form → ids."""
    attempts: Mapping[str, Sequence[TokenRow]] = field(
        default_factory=dict[str, Sequence[TokenRow]]
    )
    """Rollout → its parts."""
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Reason → rows that have no token ids."""

    def describe(self) -> Json:
        """The counts that a manifest lists."""
        talks = [*self.trajectories.values(), *self.attempts.values()]
        rows = [row for parts in talks for row in parts]
        pairs = list(self.pairs.values())
        ends = [end for pair in pairs for end in (pair.chosen, pair.rejected)]
        lengths = [len(pair.chosen.prompt) for pair in pairs] + [len(end.ids) for end in ends]
        told: dict[str, Json] = {
            "tokenizer": self.tokenizer,
            "rows": len(rows) + len(pairs) + len(self.prompts),
            "tokens": sum(len(row.ids) for row in rows)
            + sum(lengths)
            + sum(map(len, self.prompts.values())),
            "left_out": {reason: list(ids) for reason, ids in sorted(self.left_out.items())},
        }
        if pairs:
            told["turns_as_sampled"] = sum(end.sampled for end in ends)
        if rows:
            told |= {
                "said": sum(sum(row.said) for row in rows),
                "trained_on": sum(sum(row.loss) for row in rows),
                "in_parts": sum(len(parts) > 1 for parts in talks),
                "quoted": sum(row.quoted for row in rows),
                "turns_as_sampled": sum(row.sampled for row in rows),
                "thinking_left_out": sum(row.thinking_left_out for row in rows),
            }
        return told
