"""Covering rules: once a program's own tests are green, a reader names the rules that none of them
breaks, and these calls are made.

green version ─► missing calls ─► jail ─► refused, or accepted and confirmed by the judge ─► tests more, of every later version, too
"""

from envmill.base.errors import BadReply
from envmill.gates.base import EnvironmentCase
from envmill.gates.reading.coverage import (
    BREAKS,
    PROMPT,
    MissedRule,
    ask_missing,
    confirm_all,
    is_accepted,
    is_refused,
)
from envmill.gates.reading.suspicions import asks_judge
from envmill.gates.w3 import play_tests
from envmill.models.gateway import ModelSession
from envmill.models.prompt import describe_prompt
from envmill.sandbox import Program
from envmill.stages.context import RunContext
from schemas.environment import Call, Environment, Test

__all__ = ["BREAKS", "Coverage"]


class Coverage:
    """What was found missing while one program is built. A reader is asked once: repairs are not
    read again."""

    def __init__(self) -> None:
        self.asked = False
        self._missed: tuple[MissedRule, ...] = ()

    def list_tests(self, environment: Environment) -> tuple[Test, ...]:
        """The missing calls as tests of a version."""
        return tuple(_store(one, environment) for one in self._missed)

    async def find_missing(
        self, case: EnvironmentCase, context: RunContext, models: ModelSession
    ) -> tuple[Test, ...]:
        """Tests that are added to a version whose own are green; none where the run asks no judge,
        or it gives no usable reply."""
        if (
            self.asked
            or not context.config.coverage
            or not asks_judge(context.config.suspicions, models)
        ):
            return ()
        self.asked = True
        played = await play_tests(case.environment, case.tests, context.sandbox)
        try:
            missing = await ask_missing(case.environment, played, models)
        except BadReply:
            return ()
        tests = [_store(one, case.environment) for one in missing]
        ended = [seen for _, seen in await play_tests(case.environment, tests, context.sandbox)]
        refused = [one for one, seen in zip(missing, ended, strict=True) if is_refused(seen)]
        accepted = [
            (one, seen) for one, seen in zip(missing, ended, strict=True) if is_accepted(seen)
        ]
        self._missed = (*refused, *await confirm_all(case, accepted, models))
        return self.list_tests(case.environment)


def _store(missed: MissedRule, environment: Environment) -> Test:
    program = Program.of(environment)

    def sign(call: Call) -> Call:
        return Call(name=call.name, arguments=call.arguments, actor=program.name_actor(call.name))

    return Test(
        environment=environment.id,
        name=missed.name,
        initial_state=missed.state,
        setup=[sign(call) for call in missed.told.setup],
        call=sign(missed.told.call),
        expect="rejection",
        origin=environment.origin.model_copy(update=describe_prompt(PROMPT)),
    )
