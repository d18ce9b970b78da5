"""W2: programs that do not load, construct or keep their state, and near misses that do."""

import pytest

from envmill.gates import w2
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.sandbox import Sandbox
from tests.gates.specimens import ground
from tests.specimens import PROGRAM, STATE, make_environment, make_tests

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("class Shed:", "class Shed(:", "does_not_load"),
        ("from envmill.runtime import", "from nowhere import", "does_not_load"),
        ("class Shed:", "1 / 0\n\n\nclass Shed:", "does_not_load"),
        ("class Shed:", "class Barn:", "does_not_load"),
        ('state["loans"]', 'state["debts"]', "does_not_construct"),
        ('state["loans"]', "{1, 2}", "does_not_construct"),
        ('state["loans"]', '{"stale": {}}', "state_not_kept"),
    ],
)
async def test_drops_what_does_not_load_construct_or_keep_state(
    sandbox: Sandbox, old: str, new: str, reason: str
) -> None:
    environment = make_environment(PROGRAM.replace(old, new))
    finding = await w2.check(
        EnvironmentCase(environment, tuple(make_tests(environment))), GateContext(sandbox)
    )
    assert (finding.outcome, finding.reason) == ("dropped", reason), finding


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("class Shed:", "import math\n\n\nclass Shed:"),
        (
            'self.loans = state["loans"]',
            'self.loans = state["loans"]\n        self._cache = {1, 2}',
        ),
        ('self.loans = state["loans"]', 'self.loans = dict(state["loans"])'),
    ],
)
async def test_keeps_near_misses(sandbox: Sandbox, old: str, new: str) -> None:
    environment = make_environment(PROGRAM.replace(old, new))
    assert (
        await w2.check(
            EnvironmentCase(environment, tuple(make_tests(environment))), GateContext(sandbox)
        )
    ).outcome == "kept"


async def test_examples_are_states_it_must_take_as_well(sandbox: Sandbox) -> None:
    shed = make_environment()
    built = EnvironmentCase(shed, tuple(make_tests(shed)), ({"tools": {}, "members": {}},))
    assert (await w2.check(built, GateContext(sandbox))).reason == "does_not_construct"
    assert (
        await w2.check(EnvironmentCase(shed, built.tests, (STATE,)), GateContext(sandbox))
    ).evidence == {"states": 1}


async def test_keeps_the_studio(sandbox: Sandbox) -> None:
    assert (await w2.check(ground(), GateContext(sandbox))).outcome == "kept"
