"""Asking for several replies at once, and telling where a blueprint comes from."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt, describe_prompt
from schemas.origin import Origin
from schemas.seed import Seed

R = TypeVar("R")


async def ask_all(asked: Sequence[Awaitable[R]]) -> list[R]:
    """All to their end before the first error counts: what is under way is paid for, and belongs to
    this subject."""
    replies, errors = list[R](), list[BaseException]()
    for one in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(one, BaseException):
            errors.append(one)
        else:
            replies.append(one)
    if errors:
        raise errors[0]
    return replies


def describe_origin(seed: Seed, models: ModelSession, prompt: Prompt) -> Origin:
    """The origin of a blueprint, by the prompt that decides about it."""
    return Origin(
        recipe=seed.recipe,
        seed=seed.id,
        provider=models.provider,
        model=models.model,
        **describe_prompt(prompt),
    )
