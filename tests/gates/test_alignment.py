"""Which sentence asks for which change: what a row holds and another change writes speaks of the
other one."""

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.reading.request_alignment import RequestAlignment, leave_out_written, list_signs
from schemas.environment import Call
from schemas.scenario import UserContract
from tests.gates.specimens import pose
from tests.gates.specimens.studio import STATE

TEXT = "moved over from the old system"
PLANS = {
    "P1": {"id": "P1", "name": "maple-gate", "description": TEXT},
    "P2": {"id": "P2", "name": "cedar", "description": "new"},
}
STOCK = StateIndex.of({"plans": PLANS})
DELETE, UPDATE = (
    Call(name="delete_plan", arguments={"plan_id": "P1"}),
    Call(name="update_plan", arguments={"plan_id": "P2", "description": TEXT}),
)


def test_a_text_that_another_change_writes_is_no_sign_of_the_row_that_has_it() -> None:
    deleted, updated = leave_out_written(
        [DELETE, UPDATE], [list_signs(call, STOCK) for call in (DELETE, UPDATE)]
    )
    assert ("value", TEXT) not in deleted
    assert {("value", "maple-gate"), ("name", "delete")} <= deleted.keys()
    assert {("value", "cedar"), ("value", TEXT), ("name", "update")} <= updated.keys()


def test_where_no_other_change_writes_it_it_stays_a_sign() -> None:
    other = Call(name="update_plan", arguments={"plan_id": "P2", "description": "kept"})
    deleted, _ = leave_out_written(
        [DELETE, other], [list_signs(call, STOCK) for call in (DELETE, other)]
    )
    assert ("value", TEXT) in deleted


def test_each_change_goes_to_the_sentence_that_names_its_row() -> None:
    request = (
        "See to it that maple-gate is deleted. Final one: give the plan cedar description "
        f"'{TEXT}'."
    )
    posed = pose(
        request=request,
        user=UserContract(opening=request),
        oracle=[DELETE, UPDATE],
        initial_state=STATE | {"plans": PLANS},
    )
    assert [one.sentence for one in RequestAlignment.of(posed).wishes] == [0, 1]
