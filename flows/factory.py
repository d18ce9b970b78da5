"""The factory: the whole line under Prefect.

generate ─► build ─► verify ─► filter            (environments)
generate ─► build ─► verify ─► filter ─► collect ─► export   (scenarios)
"""

from prefect import flow

from flows.rounds import walk_rounds
from flows.running import run_name
from flows.spread.names import RunnerName
from schemas.run import RunConfig


@flow(name="factory", flow_run_name=run_name, persist_result=False, validate_parameters=True)
async def factory(config: RunConfig, runner: RunnerName = "local") -> None:
    """Seeds in, verified environments, scenarios and training data out. Retry goes on where it stopped."""
    await walk_rounds(config, runner)
