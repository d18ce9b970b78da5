"""The importer of AWM's rows: tables, rows, endpoints and code that judges become bundle folders,
and the rest says why it did not."""

from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, read_folder, write_folder
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import Harvest
from envmill.kinds.start import CLOCK, start
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from schemas.environment import Call
from schemas.rollout import Verdict
from tests.interop.importers.awm_rows import (
    BOOKS,
    ENDPOINTS,
    NAME,
    PEEKS,
    make_plots,
    make_release,
    write_release,
)


async def bring(folder: Path, sandbox: Sandbox, **changed: Any) -> Harvest:
    return await IMPORTERS["awm"](
        write_release(folder / "release", make_release() | changed), sandbox
    )


def list_refused(harvest: Harvest) -> dict[str, str]:
    return {
        remark.part or remark.subject: remark.code
        for remark in harvest.remarks
        if remark.weight == "refused"
    }


async def play(
    folder: Folder, sandbox: Sandbox, place: int, *calls: Call
) -> tuple[list[Observation], Verdict]:
    scenario = folder.scenarios[place]
    seen = await sandbox.play(
        Program.of(folder.environment), [start(scenario), *map(Invoke, calls), Look()]
    )
    return seen, await decide(
        sandbox, scenario.verifier, Ending(scenario.initial_state, seen[-1].state), scenario.clock
    )


LEND = Call(name="lend_book", arguments={"book_id": 1, "days": 7})


async def test_endpoints_that_are_one_statement_are_tools_and_the_others_say_why(
    tmp_path: Path, jail: Sandbox
) -> None:
    harvest = await bring(tmp_path, jail)
    room = harvest.folders[NAME]
    assert {tool.name: (tool.effect, tool.writes) for tool in room.environment.tools} == {
        "list_books": ("query", []),
        "get_book": ("query", []),
        "move_book": ("change", ["books"]),
        "lend_book": ("change", ["loans"]),
        "end_loan": ("change", ["loans"]),
    }
    assert list_refused(harvest) == {
        "search_books": "no_column",
        "list_due": "many_tables",
        "add_fine": "row_incomplete",
        "clear_loans": "no_row_named",
        "tag_book": "bad_type",
        "verifier": "check_is_evidence",
        f"{NAME}/2": "no_check",
        f"{NAME}/3": "no_check",
    }
    assert harvest.counted == {"environments": 1, "scenarios": 4, "checks": 3}
    assert {"code_rewritten", "done_already"} == {
        one.code for one in harvest.remarks if one.weight == "changed"
    }


async def test_rows_are_those_the_inserts_make_and_code_judges_the_states(
    tmp_path: Path, jail: Sandbox
) -> None:
    room = (await bring(tmp_path, jail)).folders[NAME]
    state: Any = room.states["released"]
    assert (list(state["books"]), state["books"]["3"]["pages"], state["fines"]) == (
        ["1", "2", "3"],
        100,
        {},
    )
    seen, verdict = await play(room, jail, 0, LEND)
    assert (verdict.outcome, verdict.reward) == ("pass", 1.0)
    assert seen[1].parts[0]["value"]["user_id"] == 1
    _, verdict = await play(
        room, jail, 0, LEND.model_copy(update={"arguments": {"book_id": 1, "days": 8}})
    )
    assert (verdict.outcome, verdict.reward) == ("fail", 0.0)
    assert [one.do_nothing_reward for one in room.scenarios] == [0.0, 1.0], (
        "a verifier that always agrees pays for nothing, and it is said"
    )


ASKED: list[tuple[str, dict[str, Any], str, Any]] = [
    ("list_books", {"min_pages": 100}, "ok", [1, 3]),
    ("list_books", {"shelf": "B"}, "ok", [2]),
    ("list_books", {"limit": 1}, "ok", [1]),
    ("list_books", {"shelf": "B' or 1 --"}, "ok", []),
    ("get_book", {"book_id": 2}, "ok", 2),
    ("get_book", {"book_id": 9}, "rejection", "not_found"),
    ("move_book", {"book_id": 2, "shelf": "C"}, "ok", 2),
    ("end_loan", {"loan_id": 9}, "rejection", "not_found"),
]


async def test_tools_do_what_their_endpoint_says(tmp_path: Path, jail: Sandbox) -> None:
    room = (await bring(tmp_path, jail)).folders[NAME]
    seen, _ = await play(
        room, jail, 0, *(Call(name=name, arguments=arguments) for name, arguments, _, _ in ASKED)
    )
    for one, (name, _, outcome, told) in zip(seen[1:-1], ASKED, strict=True):
        value = one.parts[0]["value"] if one.parts else one.code
        found = (
            [row["id"] for row in value]
            if isinstance(value, list)
            else value["id"]
            if isinstance(value, dict)
            else value
        )
        assert (one.outcome, found) == (outcome, told), name


OWN = [
    ("my_plots", {}, [1]),
    ("all_plots", {}, [1, 2]),
    ("plot_by_name", {"plot_name": "North"}, [1]),
    ("get_plot", {"plot_id": 1}, 1),
    ("get_plot", {"plot_id": 2}, "not_found"),
    ("me", {}, 1),
    ("watchers", {"plot_id": 2}, [1, 2]),
    ("unwatch", {"plot_id": 2}, 1),
    ("watchers", {"plot_id": 2}, [2]),
    ("take_plot", {"name": "South"}, 1),
    ("take_plot", {"name": "South"}, "constraint"),
    ("add_seed", {"seed_id": "oat", "label": "Oat"}, "oat"),
    ("created_seeds", {}, ["oat"]),
]
"""Tool → what it is given → the rows it tells: `holder_id` or `user_id` where there is one, or else
`id`."""


async def test_rows_of_whoever_is_logged_in_are_told_from_those_of_others(
    tmp_path: Path, jail: Sandbox
) -> None:
    harvest = await bring(tmp_path, jail, **make_plots())
    program = Program.of(harvest.folders[NAME].environment)
    calls = [Invoke(Call(name=name, arguments=arguments)) for name, arguments, _ in OWN]
    seen = await jail.play(
        program, [Reset(harvest.folders[NAME].states["released"], CLOCK, 0), *calls]
    )
    for one, (name, _, told) in zip(seen[1:], OWN, strict=True):
        value: Any = one.parts[0]["value"] if one.parts else one.code
        rows = value if isinstance(value, list) else [value]
        found = [
            row if isinstance(row, str) else row.get("user_id", row.get("holder_id", row.get("id")))
            for row in rows
        ]
        assert (found if isinstance(value, list) else found[0]) == told, name


async def test_endpoints_that_do_more_than_their_rows_tell_are_refused(
    tmp_path: Path, jail: Sandbox
) -> None:
    refused = list_refused(await bring(tmp_path, jail, **make_plots()))
    assert {
        name: code for name, code in refused.items() if "/" not in name and name != "verifier"
    } == {
        "dry_seed": "row_is_there",
        "rename_seed": "no_column",
        "newest_seed": "order_promised",
        "any_seed": "read_creates",
    }


def alter(file: str, **changed: Any) -> dict[str, Any]:
    (row, *rest) = make_release()[file]
    return {file: [row | changed, *rest]}


TABLE = {"name": "books", "ddl": BOOKS, "indexes": []}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        pytest.param({"gen_db.jsonl": []}, "incomplete", id="no-tables"),
        pytest.param({"gen_spec.jsonl": []}, "incomplete", id="no-interface"),
        pytest.param(
            alter(
                "gen_db.jsonl",
                db_schema={"tables": [TABLE | {"ddl": "CREATE TABLE books (title TEXT)"}]},
            ),
            "does_not_load",
            id="no-key",
        ),
        pytest.param(
            alter(
                "gen_db.jsonl",
                db_schema={"tables": [TABLE, {"name": "x", "ddl": "ATTACH '/etc/passwd' AS p"}]},
            ),
            "does_not_load",
            id="attach",
        ),
        pytest.param(
            alter(
                "gen_db.jsonl",
                db_schema={
                    "tables": [TABLE | {"indexes": ["CREATE VIEW v AS SELECT * FROM nowhere"]}]
                },
            ),
            "does_not_open",
            id="view-over-nothing",
        ),
        pytest.param(
            alter("gen_spec.jsonl", api_spec={"api_groups": [{"endpoints": ENDPOINTS[5:]}]}),
            "no_tools",
            id="no-tool",
        ),
    ],
)
async def test_an_environment_that_cannot_be_mapped_takes_its_tasks_along(
    tmp_path: Path, jail: Sandbox, changed: dict[str, Any], code: str
) -> None:
    harvest = await bring(tmp_path, jail, **changed)
    refused = list_refused(harvest)
    assert (harvest.folders, refused[NAME]) == ({}, code), refused
    assert [refused[f"{NAME}/{number}"] for number in range(4)] == ["no_environment"] * 4


async def test_hostile_rows_stay_inside_and_are_said(tmp_path: Path, jail: Sandbox) -> None:
    inserts = [
        "ATTACH '/tmp/x' AS x",
        "INSERT INTO books (id, title) VALUES (1, zeroblob(1000000000))",
        "INSERT INTO books (id, title) VALUES (2, 'B')",
    ]
    told = {"tables": [{"table_name": "books", "insert_statements": inserts}]}
    verifiers = make_release()["gen_verifier.pure_code.jsonl"][:1]
    verifiers = [verifiers[0] | {"verification": {"code": PEEKS}}]
    harvest = await bring(
        tmp_path,
        jail,
        **alter("gen_sample.jsonl", sample_data=told),
        **{"gen_verifier.pure_code.jsonl": verifiers},
    )
    room = harvest.folders[NAME]
    state: Any = room.states["released"]
    assert list(state["books"]) == ["2"]
    assert [one.part for one in harvest.remarks if one.code == "row_refused"] == ["books", "books"]
    assert [one.code for one in harvest.remarks if one.subject == f"{NAME}/0"] == ["check_raises"]
    assert not Path("/tmp/left-behind").exists()


async def test_lines_that_nobody_can_read_are_said_and_the_others_are_read(
    tmp_path: Path, jail: Sandbox
) -> None:
    root = write_release(tmp_path / "release", make_release())
    with (root / "gen_tasks.jsonl").open("a") as file:
        file.write(
            '{"scenario": \n[1]\n{"scenario": "other"}\n{"scenario": "other", "db_schema": '
            '{"tables": 7}}\n' + "[" * 5000 + "\n"
        )
        file.write(
            f'{{"scenario": "{NAME}", "tasks": ["\\ud800"]}}\n' + "[" * 900 + "]" * 900 + "\n"
        )
    harvest = await IMPORTERS["awm"](root, jail)
    said = {one.subject: one.code for one in harvest.remarks if one.code == "unreadable"}
    assert list(said) == [f"gen_tasks.jsonl, line {number}" for number in range(2, 9)]
    assert set(harvest.folders) == {NAME}
    with pytest.raises(SettingsError, match="jsonl"):
        await IMPORTERS["awm"](tmp_path, jail)


async def test_what_is_mapped_is_written_and_read_back(tmp_path: Path, jail: Sandbox) -> None:
    room = (await bring(tmp_path, jail)).folders[NAME]
    write_folder(tmp_path / NAME, room)
    assert read_folder(tmp_path / NAME) == room
