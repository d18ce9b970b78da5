"""Reasons for which a row has no token ids."""

from typing import Literal, get_args

Reason = Literal[
    "template_refuses",
    "prefix_broken",
    "says_less",
    "says_more",
    "token_straddles",
    "does_not_decode",
    "unknown_token",
    "control_token",
    "reserved_character",
    "nothing_learnt",
    "tokens_differ",
]
REASONS: tuple[Reason, ...] = get_args(Reason)


class TokenRefusal(Exception):
    """One row cannot be written as tokens. It is left out and counted under its reason."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason: Reason = reason
        self.detail = detail
