"""Chains carried out in the jail: values flow from what was seen, and an expansion is kept only
when it is needed and breaks nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.expansion import PlottedChain, judge_expansion
from envmill.recipes.drafting.rechecking import PlayedChain, hold
from envmill.sandbox import Observation, Program, Reset, Sandbox, Step
from envmill.toolgraph.chain_player import enact, put_argument, read_path
from envmill.toolgraph.validity import limit_written
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    Filling,
    FromItem,
    FromNode,
    FromRecord,
    FromUser,
    Loop,
    Node,
    Pick,
    Reason,
)
from schemas.scenario import Fact
from schemas.seed import Brief
from tests.specimens import make_environment

SOURCE = '''
"""A shed that lends tools."""

from typing import Any

from envmill.runtime import Rejection


class Shed:
    def __init__(self, state: dict[str, Any]) -> None:
        self.members, self.loans = state["members"], state["loans"]

    def find_member(self, name: str) -> list[dict[str, Any]]:
        """Members of a name.

        Args:
            name: Part of the name.
        """
        return [dict(row) for row in self.members.values() if name in row["name"]]

    def list_loans(self, member_id: str) -> dict[str, Any]:
        """Loans of a member.

        Args:
            member_id: The member.
        """
        return {"loans": [dict(row) for row in self.loans.values() if row["member_id"] == member_id]}

    def give_back(self, loan_id: str) -> dict[str, Any]:
        """Take a loan back.

        Args:
            loan_id: The loan.
        """
        if self.loans[loan_id]["status"] != "out":
            raise Rejection("not_out", "It is back already.")
        self.loans[loan_id]["status"] = "back"
        return dict(self.loans[loan_id])

    def set_debt(self, member_id: str, debt: int) -> dict[str, Any]:
        """Write down what a member owes.

        Args:
            member_id: The member.
            debt: How much.
        """
        self.members[member_id]["debt"] = debt
        return dict(self.members[member_id])

    def list_members(self) -> list[dict[str, Any]]:
        """All members."""
        return [dict(row) for row in self.members.values()]

    def give_back_all(self, loan_ids: list[str]) -> list[dict[str, Any]]:
        """Take loans back together.

        Args:
            loan_ids: The loans.
        """
        for loan_id in loan_ids:
            self.loans[loan_id]["status"] = "back"
        return [dict(self.loans[loan_id]) for loan_id in loan_ids]
'''
EFFECTS: Any = {
    "find_member": "query",
    "list_loans": "query",
    "give_back": "change",
    "set_debt": "change",
}
EFFECTS |= {"list_members": "query", "give_back_all": "change"}
PROGRAM = Program(
    {"program.py": SOURCE}, "program:Shed", KINDS["stateful"].derive_tools(SOURCE, "Shed", EFFECTS)
)
STATE: dict[str, Any] = {
    "members": {
        "m1": {"id": "m1", "name": "Maya", "debt": 0},
        "m2": {"id": "m2", "name": "Tom", "debt": 3},
    },
    "loans": {
        "l1": {"id": "l1", "member_id": "m1", "tool": "saw", "status": "back", "fee": 4},
        "l2": {"id": "l2", "member_id": "m1", "tool": "drill", "status": "out", "fee": 2},
        "l3": {"id": "l3", "member_id": "m1", "tool": "ladder", "status": "out", "fee": 5},
    },
}
FIND = ChainStep(id="s1", tool="find_member", arguments={"name": FromUser()})
MEMBER = Reason(id="r1", rule="choose", takes=[FromNode(node="s1", path="[].id")])
LIST = ChainStep(id="s2", tool="list_loans", arguments={"member_id": FromNode(node="r1")})
LOAN = Reason(id="r2", rule="choose", takes=[FromNode(node="s2", path="loans[].id")])
BACK = ChainStep(id="s3", tool="give_back", arguments={"loan_id": FromNode(node="r2")})
TOTAL = Reason(id="r3", rule="total", takes=[FromNode(node="s2", path="loans[].fee")])
DEBT = ChainStep(
    id="s4",
    tool="set_debt",
    arguments={"member_id": FromNode(node="r1"), "debt": FromNode(node="r3")},
)
FILLING = Filling(said={"s1.name": "Maya"}, picks={"r2": Pick(path="loans[].tool", equals="drill")})
SEED = [FIND, MEMBER, LIST, LOAN, BACK]


def plot(nodes: list[Node], filling: Filling = FILLING, **state: Any) -> PlottedChain:
    return PlottedChain(
        Chain(sampler="author", nodes=nodes), filling, Reset(STATE | state, CLOCK, 0)
    )


async def run(one: PlottedChain, jail: Sandbox) -> list[tuple[str, dict[str, Any]]]:
    done = await enact(one.chain, one.filling, PROGRAM, one.reset, jail)
    return [(call.name, call.arguments) for call in done.calls]


async def test_arguments_come_from_what_was_seen(jail: Sandbox) -> None:
    calls = await run(plot([*SEED, TOTAL, DEBT]), jail)
    assert [name for name, _ in calls] == ["find_member", "list_loans", "give_back", "set_debt"]
    assert [arguments for _, arguments in calls[1:]] == [
        {"member_id": "m1"},
        {"loan_id": "l2"},
        {"member_id": "m1", "debt": 11},
    ]


async def test_a_loop_does_for_each_item_what_a_branch_lets_it(jail: Sandbox) -> None:
    give = ChainStep(
        id="s5", tool="give_back", arguments={"loan_id": FromItem(loop="each1", path="loans[].id")}
    )
    only = Branch(
        id="if1",
        left=FromItem(loop="each1", path="loans[].status"),
        op="equals",
        right="out",
        then=[give],
    )
    each = Loop(id="each1", over=FromNode(node="s2", path="loans[]"), body=[only])
    calls = await run(plot([FIND, MEMBER, LIST, each]), jail)
    assert calls[2:] == [("give_back", {"loan_id": "l2"}), ("give_back", {"loan_id": "l3"})]


async def test_values_of_one_record_belong_together(jail: Sandbox) -> None:
    arguments = {
        "member_id": FromRecord(table="members", column="id"),
        "debt": FromRecord(table="members", column="debt"),
    }
    one = plot(
        [ChainStep(id="s1", tool="set_debt", arguments=dict(arguments))],
        Filling(records={"members": "m2"}),
    )
    assert await run(one, jail) == [("set_debt", {"member_id": "m2", "debt": 3})]


@pytest.mark.parametrize(
    ("nodes", "filling", "reason"),
    [
        ([FIND], Filling(), "not_said"),
        ([FIND, MEMBER, LIST], Filling(said={"s1.name": "Nobody"}), "empty_list"),
        ([*SEED[:3], BACK], FILLING, "not_there_yet"),
        (
            SEED,
            FILLING.model_copy(update={"picks": {"r2": Pick(path="loans[].tool", equals="kiln")}}),
            "nothing_chosen",
        ),
        (
            SEED,
            FILLING.model_copy(update={"picks": {"r2": Pick(path="loans[].tool", equals="saw")}}),
            "refused",
        ),
        (
            [FIND, MEMBER.model_copy(update={"takes": [FromNode(node="s1", path="[].key")]}), LIST],
            FILLING,
            "no_output",
        ),
        (
            [
                ChainStep(
                    id="s1",
                    tool="set_debt",
                    arguments={"member_id": FromRecord(table="members", column="id")},
                )
            ],
            FILLING,
            "no_record",
        ),
        ([MEMBER.model_copy(update={"rule": "count", "takes": [FromUser()]})], FILLING, "not_said"),
    ],
)
async def test_what_has_no_source_is_never_made_up(
    jail: Sandbox, nodes: list[Node], filling: Filling, reason: str
) -> None:
    with pytest.raises(BuildError) as stuck:
        await run(plot(nodes, filling), jail)
    assert stuck.value.facts["reason"] == reason


ALL_LOANS = FromNode(node="s2", path="loans[].id")


@pytest.mark.parametrize("spelling", ["loan_ids", "loan_ids[]"])
@pytest.mark.parametrize(
    ("source", "loans"), [(ALL_LOANS, ["l1", "l2", "l3"]), (FromNode(node="r2"), ["l2"])]
)
async def test_a_list_argument_has_one_meaning_to_runner_and_validator(
    jail: Sandbox, spelling: str, source: FromNode, loans: list[str]
) -> None:
    step = ChainStep(id="s3", tool="give_back_all", arguments={spelling: source})
    one = plot([FIND, MEMBER, LIST, *([LOAN] if len(loans) == 1 else []), step])
    done = await enact(one.chain, one.filling, PROGRAM, one.reset, jail)
    assert (done.calls[-1].name, done.calls[-1].arguments) == ("give_back_all", {"loan_ids": loans})
    environment = make_environment(
        SOURCE, entry="program:Shed", tools=list(PROGRAM.tools), tables=[]
    )
    seen = PlayedChain(
        done.calls, done.replies, (STATE, done.state), "Maya's saw, drill and ladder"
    )
    await hold(one.chain, environment, seen)
    wrong = one.chain.model_copy(
        update={"nodes": [*one.chain.nodes[:-1], ChainStep(id="s3", tool="give_back_all")]}
    )
    with pytest.raises(BuildError, match="unbound loan_ids"):
        await hold(wrong, environment, seen)


async def test_parts_of_listed_objects_are_put_together() -> None:
    arguments: dict[str, Any] = {}
    for path, value in (
        ("lines[].product_id", ["p1", "p2"]),
        ("lines[].pieces", 3),
        ("note.text", "x"),
    ):
        put_argument(arguments, path, value)
    assert arguments == {
        "lines": [{"product_id": "p1", "pieces": 3}, {"product_id": "p2", "pieces": 3}],
        "note": {"text": "x"},
    }


def test_a_path_through_lists_lays_them_flat() -> None:
    assert read_path({"a": [{"b": [1, 2]}, {"b": [3]}]}, "a[].b[]") == [1, 2, 3]
    assert read_path([{"id": 1}, {"id": 2}], "[].id") == [1, 2]
    assert read_path({"a": {"b": 3}}, "a.b") == 3


GROWN = [*SEED, TOTAL, DEBT]
IDLE = [
    *SEED,
    ChainStep(
        id="s4", tool="set_debt", arguments={"member_id": FromNode(node="r1"), "debt": FromUser()}
    ),
]
MEMBERS = ChainStep(id="s4", tool="list_members")
DEBTOR = Reason(id="r4", rule="choose", takes=[FromNode(node="s4", path="[].id")])
OWES = ChainStep(id="s5", tool="list_loans", arguments={"member_id": FromNode(node="r4")})
UNREAD = [
    *SEED[:3],
    LOAN,
    BACK,
    ChainStep(id="s4", tool="list_loans", arguments={"member_id": FromNode(node="r1")}),
]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (plot(GROWN), ""),
        (
            plot(
                GROWN,
                loans=STATE["loans"]
                | {"l9": STATE["loans"]["l1"] | {"id": "l9", "member_id": "m2"}},
            ),
            "",
        ),
        (plot(IDLE, FILLING.model_copy(update={"said": FILLING.said | {"s4.debt": 0}})), "idle"),
        (plot(UNREAD), "no_new_tool"),
        (plot([*SEED, ChainStep(id="s4", tool="list_members")]), "nothing_added"),
        (plot([*SEED, MEMBERS, DEBTOR, OWES]), ""),
        (plot([*SEED[1:], TOTAL, DEBT]), "old_rewritten"),
        (
            plot(
                GROWN, loans={key: row | {"status": "back"} for key, row in STATE["loans"].items()}
            ),
            "old_broken",
        ),
        (
            plot(
                GROWN, members={key: row | {"name": "Mia"} for key, row in STATE["members"].items()}
            ),
            "old_changed",
        ),
        (plot(IDLE), "expansion_not_said"),
    ],
)
async def test_an_expansion_is_kept_when_the_old_path_stays_right_and_the_new_one_needs_it(
    jail: Sandbox, new: PlottedChain, reason: str
) -> None:
    old = plot(SEED)
    was = await enact(old.chain, old.filling, PROGRAM, old.reset, jail)
    verdict = await judge_expansion(old, was, new, PROGRAM, jail)
    assert verdict.reason == reason, verdict.detail
    assert (verdict.enacted is None) is bool(reason)


async def test_a_look_up_that_only_a_told_fact_needs_is_an_expansion(jail: Sandbox) -> None:
    old, new = plot(SEED), plot([*SEED, MEMBERS])
    was = await enact(old.chain, old.filling, PROGRAM, old.reset, jail)
    for name, reason in (("Tom", ""), ("Zoe", "nothing_added")):
        fact = Fact(name="who else is a member", kind="text", value=name)
        verdict = await judge_expansion(old, was, new, PROGRAM, jail, [fact])
        assert verdict.reason == reason, verdict.detail


async def test_a_chain_is_as_long_as_the_brief_allows(jail: Sandbox) -> None:
    asks = [
        ChainStep(id=f"a{number}", tool="find_member", arguments={"name": FromUser()})
        for number in range(120)
    ]
    said = Filling(said={f"{step.id}.name": "Maya" for step in asks})
    for count, wanted, reason in (
        (40, None, ""),
        (41, None, "too_long"),
        (75, 60, ""),
        (76, 60, "too_long"),
        (120, 120, ""),
    ):
        most = limit_written(Brief(theme="shed", text="A shed.", number=0, calls=wanted)).most
        one = plot(list(asks[:count]), said)
        if not reason:
            assert (
                len((await enact(one.chain, one.filling, PROGRAM, one.reset, jail, most)).calls)
                == count
            )
            continue
        with pytest.raises(BuildError) as refused:
            await enact(one.chain, one.filling, PROGRAM, one.reset, jail, most)
        assert refused.value.facts["reason"] == reason


async def test_calls_that_answer_otherwise_a_second_time_are_unstable(
    jail: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = jail.play

    async def play_otherwise(program: Program, steps: Sequence[Step]) -> list[Observation]:
        seen = await play(program, steps)
        return [*seen[:2], replace(seen[2], state_hash="another"), *seen[3:]]

    monkeypatch.setattr(jail, "play", play_otherwise)
    with pytest.raises(BuildError, match="up to s2 do not answer alike") as refused:
        await run(plot(SEED), jail)
    assert refused.value.facts["reason"] == "unstable"
