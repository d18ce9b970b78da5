"""S9: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s9
from envmill.gates.base import Finding
from envmill.verifiers.compose import GIVEN
from schemas.scenario import UserContract
from tests.gates.cases import Case, answer, ask, check, judge_cases
from tests.gates.specimens import REQUEST, pose
from tests.gates.specimens.studio import STATE

HIDDEN = {
    **STATE,
    "members": {
        **STATE["members"],
        "mem_4c5dd81f": {**STATE["members"]["M2"], "id": "mem_4c5dd81f"},
    },
}
PAPER = {
    **STATE,
    "members": {**STATE["members"], "mem_7": {**STATE["members"]["M2"], "id": "mem_7"}},
}

CASES = {
    "names a tool": Case(ask(f"{REQUEST} You can use book_seats for this."), "tool_name"),
    "names a hidden id": Case(
        ask(f"{REQUEST} (ID: mem_4c5dd81f)", initial_state=HIDDEN), "hidden_id"
    ),
    "names the end of a hidden id": Case(
        ask(f"{REQUEST} (4c5dd81f)", initial_state=HIDDEN), "hidden_id"
    ),
    "names a key that may stand on paper": Case(
        ask(f"{REQUEST} Her number is mem_7.", initial_state=PAPER), "id_like"
    ),
    "names a field": Case(ask(f"{REQUEST} Check the member_id."), "state_key"),
    "a fact bears the name of a field": Case(
        pose(user=UserContract(opening=REQUEST, facts={"class_id": "the wheel class"})), "state_key"
    ),
    "asks with the answer": Case(
        answer(request="Is it right that Bo Lind has 60 euros on his account?"), "answer"
    ),
    "what should be found out is said, and nobody asks for it": Case(
        answer(features={"facts_refused": [f"the balance: {GIVEN}"]}), "answer"
    ),
    "what is done is said, too": Case(pose(features={"facts_refused": [f"the balance: {GIVEN}"]})),
    "a fact is refused for another reason": Case(
        answer(features={"facts_refused": ["the balance: it depends on chance"]})
    ),
    "as it is": Case(pose()),
    "an id that stands on a card": Case(ask(f"{REQUEST} Her card says M1.")),
    "a tool's words as words": Case(ask(f"{REQUEST} You book seats, I know, and top up accounts.")),
    "an answer": Case(answer()),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s9.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s9(name: str) -> None:
    check(find_all()[name], CASES[name])
