"""Opens runs and judges with the embedded author registered: it plays the provider `offline`, and
knows the truth about its domains."""

from contextlib import AbstractAsyncContextManager

import offline as author
from envmill.base.settings import Settings
from envmill.models.gateway import ModelSession
from envmill.models.offline import Author
from envmill.pipeline import open_run
from envmill.pipeline.runner import Runner
from offline.truth import find_truth
from schemas.run import RunConfig


def open_walk(
    run: str, config: RunConfig, settings: Settings, answer: Author = author.answer
) -> AbstractAsyncContextManager[Runner]:
    """A run, where the embedded author or a stand-in for it answers what no model is asked."""
    return open_run.open_walk(run, config, settings, answer, find_truth)


def open_judge(spec: str, settings: Settings) -> AbstractAsyncContextManager[ModelSession]:
    """A judge outside of any run."""
    return open_run.open_judge(spec, settings, author.answer)
