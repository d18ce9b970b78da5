"""A machine with an author's services is compared with how it stands at rest; one that never rests,
with how it stood last."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.machines import baseline
from envmill.sandbox.machines.frame import Frame

BOARD = "/srv/board"
RESTLESS = [str(number) for number in range(99)]


@pytest.mark.parametrize(
    ("system", "authored", "shown", "told", "looks"),
    [
        pytest.param("website", True, ["whole"], "whole", 2, id="at rest already"),
        pytest.param(
            "website", True, ["whole", "", "whole"], "whole", 4, id="it writes the same again"
        ),
        pytest.param(
            "website", True, ["", "whole"], "whole", 3, id="half written at the first look"
        ),
        pytest.param(
            "website", True, RESTLESS, str(baseline.LOOKS), 1 + baseline.LOOKS, id="never at rest"
        ),
        pytest.param(
            "website", False, RESTLESS, "0", 1, id="a system of ours names what it changes"
        ),
        pytest.param("share", True, RESTLESS, "0", 1, id="no service"),
    ],
)
async def test_a_machine_is_listed_at_rest(
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    authored: bool,
    shown: list[str],
    told: str,
    looks: int,
) -> None:
    seen = list[str]()

    def show() -> Iterator[str]:
        yield from shown
        while True:
            yield shown[-1]

    contents = show()

    async def list_frame(*_: Any) -> Frame:
        seen.append(next(contents))
        return Frame({BOARD: seen[-1]}, {})

    monkeypatch.setattr(baseline, "list_frame", list_frame)
    monkeypatch.setattr(baseline, "read_trusted", lambda *_: _nothing())
    monkeypatch.setattr(baseline, "PAUSE", 0.0)
    healthy = load_system(system)._replace(exams={"final.py": ""} if authored else {})
    reference = await baseline.take_reference(cast(Any, None), healthy, volatile=b"packed")
    assert (reference.frame.own[BOARD], len(seen)) == (told, looks)


async def _nothing() -> dict[str, Any]:
    return {}
