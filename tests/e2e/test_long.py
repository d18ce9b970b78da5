"""Long paths and wide interfaces go through the whole line, from seed to export."""

from schemas.run import RunConfig
from tests.bench.whole import measure_run


async def test_a_long_path_in_a_wide_interface_is_kept_played_and_exported() -> None:
    config = RunConfig(
        environments=1,
        scenarios=1,
        seed=1,
        mistakes=0.0,
        polarities={"achieve": 1},
        calls=60,
        steps=90,
        visible=60,
    )
    found = await measure_run(config)
    assert found["dropped"] == {}
    (calls,) = found["kept"]
    assert 45 <= calls <= 75
    assert found["rollouts"]["pass"] > 0
    assert found["exported"] > 0
