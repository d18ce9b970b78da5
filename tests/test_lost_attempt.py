"""Two machines at one bucket: who loses the attempt looks again and saves only what still lacks."""

import pytest

from envmill.lake.lake import Lake
from envmill.line import STEPS
from envmill.opening import open_walk
from envmill.settings import Settings
from schemas.ledger import Attrition
from schemas.run import RunConfig


@pytest.mark.parametrize("share", [1.0, 0.5], ids=["it-saved-everything", "it-saved-half"])
async def test_the_loser_saves_what_the_winner_did_not(settings: Settings, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    config, real, raced = RunConfig(environments=4, seed=1), Lake.publish, [True]

    def publish(lake: Lake, rows: list[object], attrition: list[Attrition], stamp: object) -> bool:
        if raced and raced.pop():
            won = attrition[: round(len(attrition) * share)]
            assert real(lake, [], won, stamp)  # pyright: ignore[reportArgumentType]
        return real(lake, rows, attrition, stamp)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Lake, "publish", publish)
    async with open_walk("r1", config, settings) as walk:
        await walk.walk(STEPS[:1])
        saved = walk.lake.read(Attrition, "r1")
    assert len({row.subject for row in saved}) == len(saved) == 4
    assert sorted(row.try_number for row in saved) == ([1] * 4 if share == 1.0 else [1, 1, 2, 2])
