"""Rights are part of health: what can be broken on a healthy system may not be opened to everybody,
and its check says so."""

import pytest

from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.sandbox.machines.healthy import SERVICES, Healthy, mode_of, owner_of, quote
from envmill.sandbox.machines.machine import Containers, check_health, run, set_up
from schemas.system import DatabaseRow, FileLine, GitBranch, OwnedPath
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.long
@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", ("share",) if count(1, 2) == 1 else list_systems())
async def test_what_is_opened_to_everybody_is_ill(containers: Containers, name: str) -> None:
    healthy, unseen = load_system(name), list[str]()
    async with containers() as container:
        await set_up(container, healthy)
        assert not any((await check_health(container, healthy)).values())
        for path in list_breakable(healthy):
            await run(container, f"chmod 777 {quote(path)}")
            said = await check_health(container, healthy)
            unseen += [] if any(said.values()) else [path]
            await run(
                container,
                f"chmod {mode_of(healthy, path)} {quote(path)}; chown {owner_of(healthy, path)} "
                f"{quote(path)}; {SERVICES} start",
            )
    assert unseen == []


def list_breakable(healthy: Healthy) -> list[str]:
    """Files and folders that a mend may change."""
    places = {
        each.path
        for each in healthy.system.handles
        if isinstance(each, OwnedPath) and not each.stray
    }
    places |= {
        f"{each.path}/HEAD" for each in healthy.system.handles if isinstance(each, GitBranch)
    }
    return sorted(
        places
        | {each.file for each in healthy.system.handles if isinstance(each, FileLine | DatabaseRow)}
    )
