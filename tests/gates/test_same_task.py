"""The same task in other words: what structure and rare values decide, and what only makes a
suspicion."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envmill.base.settings import Settings
from envmill.gates.f3 import check_for_contamination
from envmill.gates.protected_texts import Protected, make_sketch
from envmill.gates.protecting import same_task
from envmill.gates.protecting.interface import (
    ComparedWorld,
    list_interface,
    list_state_columns,
    split_name,
)
from envmill.gates.protecting.layouts import read_benchmark
from envmill.gates.protecting.reading import Benchmark, BenchmarkDomain, BenchmarkTask
from envmill.gates.protecting.same_task import AskedTask, find_same_task
from envmill.gates.protecting.sketch import BenchmarkSource, ProtectedSketch, render_sketch
from envmill.gates.protecting.structure import (
    describe_end,
    describe_task,
    find_rare,
    list_call_values,
    name_type,
)
from tests.specimens import make_environment

Calls = tuple[tuple[str, dict[str, Any]], ...]

RETURN: Calls = (
    ("find_user", {"name": "Raj Sankar", "zip": "19122"}),
    ("get_order", {"order_id": "W4417"}),
    ("get_item", {"item_id": "6086499569"}),
    ("return_items", {"order_id": "W4417", "items": ["6086499569"], "method": "card_9513"}),
)
ASKED = (
    "I am Raj Sankar in 19122. The water bottle of order W4417 leaks: take it back, please, and "
    "pay me on the card ending in 9513."
)
OTHERS: tuple[tuple[str, Calls], ...] = (
    (
        "Book two seats to Oslo for Anna Berg on 12 May and pay them with certificate C77.",
        (
            ("search", {"to": "Oslo", "day": "12 May"}),
            ("get_profile", {"user": "anna_berg"}),
            ("get_certificate", {"id": "C77"}),
            ("book", {"user": "anna_berg", "flight": "SK204", "seats": 2, "pay": "C77"}),
        ),
    ),
    (
        "Move the log of March into the archive, then tell Lena how large it is.",
        (
            ("cd", {"folder": "logs"}),
            ("mv", {"source": "march.log", "to": "archive"}),
            ("du", {"file": "march.log"}),
            ("say", {"to": "Lena"}),
        ),
    ),
)
PARAPHRASE = (
    "My flask drips. Raj Sankar here, zip 19122; it came with W4417. I want to hand it in and "
    "see the money on card 9513 again."
)
CLONE = (
    ASKED.replace("Raj Sankar", "Mia Hofer")
    .replace("19122", "55810")
    .replace("W4417", "W9083")
    .replace("9513", "2240")
)


def rename(calls: Calls, values: dict[str, str] | None = None) -> Calls:
    """The same calls under other names of tools and parameters, and other values where they are
    given."""

    def put(value: Any) -> Any:
        return (
            [put(one) for one in value]
            if isinstance(value, list)
            else (values or {}).get(str(value), value)
        )

    return tuple(
        (f"tool_{name}", {f"x_{key}": put(value) for key, value in arguments.items()})
        for name, arguments in calls
    )


SWAPPED = {
    "Raj Sankar": "Mia Hofer",
    "19122": "55810",
    "W4417": "W9083",
    "6086499569": "7706410293",
    "card_9513": "card_2240",
}


@pytest.fixture(scope="module")
def sketch() -> ProtectedSketch:
    bench = Benchmark({"tasks:1.1": ASKED})
    for number, (text, calls) in enumerate([(ASKED, RETURN), *OTHERS], start=1):
        bench.tasks.append(BenchmarkTask(f"tasks:{number}", text, calls))
    return make_sketch(bench, BenchmarkSource("bench"))


def find(sketch: ProtectedSketch, text: str, calls: Calls) -> tuple[str, str]:
    match = find_same_task(sketch, AskedTask(text, calls))
    return (match.reason, match.source) if match else ("", "")


def test_a_paraphrase_under_other_names_of_tools_is_the_same_task(sketch: ProtectedSketch) -> None:
    assert find(sketch, PARAPHRASE, rename(RETURN)) == ("same_task", "tasks:1")


def test_one_look_up_more_or_less_makes_no_other_task(sketch: ProtectedSketch) -> None:
    more = (*rename(RETURN)[:1], ("tool_list", {"user": "u1"}), *rename(RETURN)[1:])
    assert find(sketch, PARAPHRASE, more)[0] == "same_task"
    less = rename(RETURN[:2] + RETURN[3:])
    assert find(sketch, PARAPHRASE, less)[0] == "same_task"


def test_a_clone_with_other_values_is_only_suspected(sketch: ProtectedSketch) -> None:
    assert find(sketch, CLONE, rename(RETURN, SWAPPED)) == ("like_task", "tasks:1")


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param(
            PARAPHRASE,
            tuple(("note", {"text": ["flask"], "urgent": True}) for _ in range(4)),
            id="its words, and another way",
        ),
        pytest.param(
            "Water the ferns twice and write it down for Bo.",
            rename(RETURN, SWAPPED),
            id="its calls, and other words, values",
        ),
        pytest.param(PARAPHRASE, (), id="no way at all"),
        pytest.param(PARAPHRASE, rename(RETURN)[:2], id="two calls, which say nothing"),
    ],
)
def test_what_shares_one_thing_alone_is_kept(
    text: str, calls: Calls, sketch: ProtectedSketch
) -> None:
    assert find(sketch, text, calls) == ("", "")


def test_the_same_user_who_wants_something_else_is_never_dropped(sketch: ProtectedSketch) -> None:
    """Two of the four calls, and three of the five rare values: it may be suspected."""
    calls: Calls = (*RETURN[:2], ("say", {"text": "lamp"}))
    assert find(
        sketch,
        "I am Raj Sankar in 19122. Where is my order W4417, and which lamp did I buy?",
        calls,
    )[0] in ("", "like_task")


def test_a_clone_whose_end_is_known_to_be_another_is_kept() -> None:
    bench = Benchmark({"tasks:1.1": ASKED})
    end = (
        (["agent", "orders", "W4417", "status"], "set", "returned"),
        (["agent", "orders", "W4417", "items"], "set", ["1"]),
    )
    bench.tasks.append(BenchmarkTask("tasks:1", ASKED, RETURN, tuple(end)))
    made = make_sketch(bench, BenchmarkSource("bench"))
    same = tuple((path[1:], op, value) for path, op, value in end)
    other = ((["users", "u1"], "add", {"name": "Mia"}),)
    asked = AskedTask(CLONE, rename(RETURN, SWAPPED), same)
    assert find_same_task(made, asked) is not None
    assert find_same_task(made, replace(asked, changes=other)) is None


def test_embeddings_retrieve_where_words_do_not(
    sketch: ProtectedSketch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sketch with embeddings, on a machine that has the embedder; without it words alone
    retrieve."""
    vectors = np.eye(len(sketch.tasks), dtype=np.int8) * np.int8(127)
    embedded = replace(sketch, embedder="minilm", vectors=vectors)
    monkeypatch.setitem(
        same_task.EMBEDDERS, "minilm", lambda texts: [(1.0, 0.0, 0.0) for _ in texts]
    )  # type: ignore[index]
    far = "A flask drips, and its owner would rather have the money."
    asked = AskedTask(far, rename(RETURN, SWAPPED))
    found = find_same_task(embedded, asked, "minilm")
    assert found is not None
    assert (found.reason, found.cosine) == ("like_task", 1.0)
    assert find_same_task(embedded, asked) is None


def test_a_same_task_is_dropped_and_a_like_one_suspected(
    sketch: ProtectedSketch, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(
        "envmill.gates.f3.read_protected", lambda *_: Protected([replace(sketch, power={})])
    )
    for text, calls, outcome, reason in (
        (PARAPHRASE, rename(RETURN), "dropped", "same_task"),
        (CLONE, rename(RETURN, SWAPPED), "suspected", "like_task"),
    ):
        finding = check_for_contamination(
            {"opening": "Hello."}, tmp_path, asked=AskedTask(text, calls)
        )
        assert (finding.outcome, finding.reason) == (outcome, reason)
        assert finding.evidence["source"] == "tasks:1"


@pytest.mark.parametrize("layout", ["tau2", "any"])
def test_where_the_benchmark_itself_is_at_hand_a_judge_is_shown_its_task(
    layout: str, tmp_path: Path
) -> None:
    """A sketch has no text to show; a folder of a layout that is known has the task and its
    solution."""
    retail = tmp_path / "retail"
    retail.mkdir()
    task = {"id": "0", "user_scenario": {"instructions": {"reason_for_call": ASKED}}}
    actions = [{"name": name, "arguments": arguments} for name, arguments in RETURN]
    (retail / "tasks.json").write_text(
        json.dumps([task | {"evaluation_criteria": {"actions": actions}}])
    )
    if layout == "tau2":
        (retail / "tools.json").write_text(json.dumps({"tools": []}))
    asked = AskedTask(
        CLONE.replace("The water bottle of order", "A bottle that came with").replace(
            "take it back", "fetch it"
        ),
        rename(RETURN, SWAPPED),
    )
    finding = check_for_contamination({"opening": "Hello."}, tmp_path, asked=asked)
    if layout == "any":
        assert finding.outcome != "suspected", "nothing tells what solves it"
        return
    assert (finding.outcome, finding.reason, finding.evidence["source"]) == (
        "suspected",
        "like_task",
        "retail/tasks:1",
    )
    assert ASKED in finding.question
    made = make_sketch(read_benchmark(retail.parent), BenchmarkSource("bench"))
    retail.rename(tmp_path / ".retail")
    (tmp_path / "bench.sketch").write_bytes(render_sketch(made))
    by_sketch = check_for_contamination({"opening": "Hello."}, tmp_path, asked=asked)
    assert (by_sketch.outcome, by_sketch.reason, by_sketch.question) == (
        "suspected",
        "like_task",
        "",
    )


def test_structure_holds_no_name() -> None:
    made = describe_task(RETURN, [(["orders", "W4417", "status"], "set", "returned")], b"salt")
    assert made.calls == ("0:ss", "0:s", "0:s", "0:lsss")
    assert made.end == ("0:set:3:s",)
    assert made == describe_task(rename(RETURN), [(["x", "W4417", "y"], "set", "z")], b"salt")
    again = (RETURN[1], RETURN[0], RETURN[1], RETURN[1])
    assert describe_task(again, [], b"salt").calls == ("0:s", "0:ss", "2:s", "1:s")
    assert all(0 <= value < 256 for value in made.values)


def test_values_of_many_tasks_are_not_rare_and_variants_count_once() -> None:
    world = [frozenset({"USD", f"item {number}"}) for number in range(5)]
    assert find_rare([*world, world[0]]) == [
        frozenset({f"item {number}"}) for number in (0, 1, 2, 3, 4, 0)
    ]


def test_types_of_arguments_have_a_letter() -> None:
    assert [name_type(value) for value in ("a", 1, 2.5, True, None, {}, [], ["a"], [1])] == [
        "s",
        "n",
        "n",
        "b",
        "z",
        "o",
        "l",
        "ls",
        "ln",
    ]
    assert list_call_values((("a", {"x": [1, "b", "Cd"], "y": True, "z": {"k": "Ef"}}),)) == {
        "cd",
        "ef",
    }
    assert describe_end([(["agent", "a", "b"], "add", {}), (["b", "c"], "remove", None)]) == (
        "0:add:2:o",
        "1:remove:2:z",
    )


def test_a_world_with_the_names_of_a_domain_is_near_it_and_ours_is_not() -> None:
    tools = [
        ("cancel_pending_order", {"properties": {"order_id": {}, "reason": {}}}),
        ("getOrderDetails", {"properties": {"orderId": {}}}),
    ]
    bench = Benchmark(
        {"policy:1.1": ASKED},
        domains={"retail": BenchmarkDomain(list_interface(tools), [ASKED, OTHERS[0][0]])},
    )
    protected = Protected([make_sketch(bench, BenchmarkSource("bench"))])
    near = ComparedWorld(
        frozenset(list_interface([*tools, ("find_user", {"properties": {"name": {}}})])), ""
    )
    assert set(protected.find_domains(near)["bench/retail"]) == {"interface"}
    assert set(
        protected.find_domains(ComparedWorld(frozenset({"tool mow"}), f"{ASKED} Thanks."))[
            "bench/retail"
        ]
    ) == {"policy"}
    assert protected.find_domains(ComparedWorld.of(make_environment())) == {}


def test_names_are_compared_as_words_and_columns_are_those_of_records() -> None:
    assert split_name("getOrderDetails") == split_name("get_order_details") == "get order details"
    assert list_state_columns(
        {"orders": {"o1": {"orderId": 1}}, "log": [{"at": 1}], "open": True}
    ) == {"column order id", "column at"}


def test_what_is_shipped_is_read_and_measures_enough() -> None:
    """Every run without sets of its own has these; power below the bounds of F3 would leave all of
    it provisional."""
    finding = check_for_contamination(
        {"request": "Please water the ferns."}, Settings.read({}).sketches
    )
    assert finding.outcome == "kept"
    assert set(finding.evidence["sets"]) == {"bfcl 2026.3.23", "tau2 1.0.1"}
