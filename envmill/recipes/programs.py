"""Tests of programs over JSON state, as several recipes ask for them."""

from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from envmill.recipes.scenarios import read_source
from schemas.base import Json
from schemas.environment import Environment
from schemas.prompts import TestsInput, TestsReply


def load_tests() -> Prompt:
    return Prompt.load(PROMPTS / "envscaler" / "tests.md", TestsInput, TestsReply)


async def ask_tests(
    prompt: Prompt,
    environment: Environment,
    _before: TestsReply | None,
    repair: Repair,
    models: ModelSession,
    _rows: Json = None,
) -> TestsReply:
    """All tools' tests over one initial state."""
    inputs = TestsInput(
        brief=environment.brief,
        summary=environment.summary,
        rules=environment.rules,
        tools=environment.tools,
        source=read_source(environment),
    )
    return await models.ask(prompt, inputs, TestsReply, complaint=repair.render())
