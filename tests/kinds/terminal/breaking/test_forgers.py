"""Nobody is paid for what the judge's commands read, run or stand on, and whoever mends is, with
the very same tools."""

import pytest

from envmill.kinds.terminal.breaking.judging import judge
from envmill.kinds.terminal.breaking.proving import break_down
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.machines.baseline import take_ground, take_reference
from envmill.sandbox.machines.machine import Containers, run, set_up
from schemas.system import BrokenSystem, Judgement
from tests.kinds.terminal.breaking.forgers import FORGERS, MENDED, PLAN, TOOLS, Forger, write_check
from tests.kinds.terminal.breaking.mends import Mend
from tests.kinds.terminal.breaking.test_mends import find_fault
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALWAYS = (
    "git: settings of a home",
    "python: usercustomize",
    "what a restart empties: /run",
    "what nobody compares: /home",
)


@pytest.mark.long
@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", ALWAYS if count(1, 2) == 1 else FORGERS)
async def test_a_forger_is_not_paid(containers: Containers, name: str) -> None:
    judgement = await try_forger(containers, FORGERS[name])
    assert judgement.verdict == "fail", judgement


async def test_whoever_mends_is_paid_whatever_tool_asks(containers: Containers) -> None:
    mend = Forger("share", "wrong_mode", "year", f"echo '{MENDED}' >{PLAN}")
    judgement = await try_forger(containers, mend, write_check(*TOOLS))
    assert (judgement.verdict, judgement.detail) == ("pass", "")


async def try_forger(containers: Containers, forger: Forger, check: str = "") -> Judgement:
    healthy = load_system(forger.system)
    if check or forger.tool:
        healthy = healthy._replace(check=check or write_check(forger.tool))
    fault = find_fault(Mend(forger.system, forger.operator, forger.handle, "", False))
    broken = BrokenSystem(system=forger.system, variation=0, faults=[fault])
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        await break_down(container, broken)
        reference = await take_reference(container, healthy, ground)
        ran = await run(container, forger.script)
        assert ran.code == 0, ran.text
        return await judge(container, healthy, broken, reference)
