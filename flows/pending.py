"""A run that waits for batches: its process ends, its state says AwaitingBatch, and the server
starts it again in time."""

from datetime import UTC, datetime, timedelta

from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateDetails, StateType
from prefect.exceptions import Pause
from prefect.runtime import deployment, flow_run

from envmill.base.errors import Pending
from flows.local.runs import AWAITING


async def put_off(pending: Pending) -> None:
    """Ends the flow. A run that no deployment can start again ends as failed, with what it waits
    for."""
    if deployment.get_id() is None:
        raise pending
    again = datetime.now(UTC) + timedelta(seconds=float(pending.facts.get("again_in", 60.0)))
    details = StateDetails.model_validate({"scheduled_time": again})
    state: State[None] = State(
        type=StateType.SCHEDULED, name=AWAITING, message=pending.message, state_details=details
    )
    get_run_logger().info(pending.message)
    async with get_client() as client:
        await client.set_flow_run_state(str(flow_run.get_id()), state, force=True)
    raise Pause(state=state)
