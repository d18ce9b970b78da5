"""The scan of what leaves: what is planted into rows is found wherever it stands, and invented
worlds are left alone."""

import json
import random
import re
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT
from envmill.interop.exporters import ExportSet
from envmill.interop.exporters.scanning import scan
from envmill.lake.lake import Lake
from envmill.stages.context import ExportInput
from envmill.stages.export import choose_export_set
from envmill.stages.holding import hold_flagged
from schemas.base import Json, Record
from schemas.environment import Environment, Test
from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.scenario import Scenario
from tests.archives import unpack
from tests.interop.exporters.drawn import draw
from tests.interop.exporters.planted import HONEST, NOTICES, PEOPLE, SECRETS
from tests.interop.exporters.specimens import make_export_set
from tests.soak import count

KINDS = {
    **dict.fromkeys(PEOPLE, "person"),
    **dict.fromkeys(SECRETS, "secret"),
    **dict.fromkeys(NOTICES, "licence"),
}
NAMED = {"private_key": "secret", "secret": "secret", "licence": "licence"}


def plant(text: str, dice: random.Random) -> tuple[str, ExportSet]:
    """Into a request, a row of the world, a program or what an agent said. Returns the id that is
    to stay."""
    export_set = make_export_set()
    place = dice.randrange(4)
    if place == 0:
        spoilt = export_set.scenarios[0].model_copy(update={"request": f"I need a drill. {text}"})
        return spoilt.id, replace(export_set, scenarios=(spoilt, *export_set.scenarios[1:]))
    if place == 1:
        state = json.loads(json.dumps(export_set.scenarios[1].initial_state)) | {
            "notes": {"n1": {"id": "n1", "text": text}}
        }
        spoilt = export_set.scenarios[1].model_copy(update={"initial_state": state})
        return spoilt.id, replace(
            export_set, scenarios=(export_set.scenarios[0], spoilt, *export_set.scenarios[2:])
        )
    if place == 2:
        shed = export_set.environments[0].model_copy(
            update={"files": export_set.environments[0].files | {"notes.py": f'"""{text}"""\n'}}
        )
        return shed.id, replace(export_set, environments=(shed, *export_set.environments[1:]))
    said = [*export_set.trajectories[0].messages, {"role": "assistant", "content": f"Done. {text}"}]
    row = export_set.trajectories[0].model_copy(update={"messages": said})
    return row.id, replace(export_set, trajectories=(row, *export_set.trajectories[1:]))


def count_missed(texts: list[tuple[str, str]], dice: random.Random) -> list[str]:
    """Planted texts that did not keep their row at home under their kind."""
    missed = list[str]()
    for kind, text in texts:
        name, export_set = plant(text, dice)
        kept, findings = choose_export_set(ExportInput(export_set), provisional=False)
        told: Any = next((one.evidence for one in findings if one.gate == "scan"), {"flagged": {}})
        seen = told["flagged"].get(name, [])
        if kind not in {NAMED.get(one["kind"], "person") for one in seen}:
            missed.append(text)
            continue
        assert all(
            re.sub(r"\s", "", one["shown"]) != re.sub(r"\s", "", text) or kind == "licence"
            for one in seen
        )
        assert name not in {
            one.id for one in (*kept.environments, *kept.scenarios, *kept.trajectories)
        }
    return missed


@pytest.mark.long
def test_what_is_planted_is_found_wherever_it_stands() -> None:
    """At least 58 of 60 of a draw. What is found is named by its kind and place, and not shown
    whole."""
    dice = random.Random(29)
    texts = [*dice.sample(PEOPLE, 20), *dice.sample(SECRETS, 20), *dice.sample(NOTICES, 20)]
    missed = count_missed([(KINDS[text], text) for text in texts], dice)
    assert len(missed) <= 2, missed


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_what_is_drawn_anew_is_found_as_well(seed: int) -> None:
    missed = count_missed(draw(seed), random.Random(seed))
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("text", [*PEOPLE, *SECRETS, *NOTICES])
def test_each_is_found_by_itself(text: str) -> None:
    assert scan({"text": text}, "Apache-2.0")


@pytest.mark.parametrize("text", HONEST)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert scan({"text": text, "list": [text]}, "Apache-2.0") == []


def test_what_authors_are_asked_to_write_is_left_alone_and_its_neighbours_are_found() -> None:
    """The conventions that every author of an environment reads, and the scan, must mean the same
    addresses and numbers."""
    asked = (ROOT / "envmill/recipes/prompts/parts/conventions.md").read_text(encoding="utf-8")
    (address,), (number,) = re.findall(r"`(\S+@\S+)`", asked), re.findall(r"`(\+1 [0-9 ]+)`", asked)
    assert (
        scan(
            {
                "email": address,
                "phone": number,
                "text": f"Call me at {number} or write to {address}.",
            }
        )
        == []
    )
    other, dialled = (
        address.replace("example.org", "harbour-clinic.com"),
        number.replace("555", "418"),
    )
    assert {one.kind for one in scan({"text": f"Call me at {dialled} or write to {other}."})} == {
        "email",
        "phone",
    }


def test_a_number_without_quotes_and_a_name_beside_its_value_are_read_too() -> None:
    assert [one.kind for one in scan({"card": 5425233430109903})] == ["card"]
    assert [one.kind for one in scan({"api_key": "q8ZtR4mK2vXw7LbN9cJd3HfS"})] == ["secret"]
    assert scan({"total": 1234567890123, "since": 20260302090012345, "yes": True}) == []


def test_a_notice_is_covered_by_the_licence_that_it_names() -> None:
    text = {"text": "This text: CC-BY-SA-4.0"}
    assert scan(text, "CC-BY-SA-4.0") == []
    assert [one.kind for one in scan(text, "Apache-2.0")] == ["licence"]
    assert [one.kind for one in scan({"text": "All rights reserved."}, "CC-BY-SA-4.0")] == [
        "licence"
    ]


def test_what_somebody_accepted_leaves() -> None:
    export_set = make_export_set()
    spoilt = export_set.scenarios[0].model_copy(update={"request": PEOPLE[0]})
    export_set = replace(export_set, scenarios=(spoilt, *export_set.scenarios[1:]))
    kept, _ = choose_export_set(ExportInput(export_set), provisional=False)
    assert [one.id for one in kept.scenarios] == [one.id for one in export_set.scenarios[1:]]
    assert spoilt.id not in {one.scenario for one in (*kept.trajectories, *kept.pairs)}
    kept, findings = choose_export_set(
        ExportInput(export_set, accepted={spoilt.id: "email: invented"}), provisional=False
    )
    assert kept.scenarios == export_set.scenarios
    assert [one.gate for one in findings] == ["licence"]
    every = replace(export_set, scenarios=(spoilt,))
    _, findings = choose_export_set(ExportInput(every), provisional=False)
    assert (findings[-1].gate, findings[-1].outcome) == ("scan", "dropped")
    assert "envmill review ID --accept" in findings[-1].detail


def test_who_calls_a_row_right_accepts_nothing_else() -> None:
    """Only kinds that the words name, and these in all that was made of it; what is found there
    alone stays."""
    export_set = make_export_set()
    spoilt = export_set.scenarios[0].model_copy(update={"request": PEOPLE[0]})
    row = next(one for one in export_set.trajectories if one.scenario == spoilt.id)
    said = row.model_copy(
        update={
            "messages": [*row.messages, {"role": "assistant", "content": f"I wrote. {PEOPLE[0]}"}]
        }
    )
    export_set = replace(
        export_set, scenarios=(spoilt, *export_set.scenarios[1:]), trajectories=(said,)
    )
    for words, left in (("it is right", 0), ("phone: invented", 0), ("email: invented", 1)):
        kept, _ = choose_export_set(
            ExportInput(export_set, accepted={spoilt.id: words}), provisional=False
        )
        assert (
            len([one for one in kept.scenarios if one.id == spoilt.id]),
            len(kept.trajectories),
        ) == (left, left)
    more = said.model_copy(
        update={"messages": [*said.messages, {"role": "assistant", "content": PEOPLE[1]}]}
    )
    kept, _ = choose_export_set(
        ExportInput(
            replace(export_set, trajectories=(more,)), accepted={spoilt.id: "email: invented"}
        ),
        provisional=False,
    )
    assert spoilt.id in {one.id for one in kept.scenarios}
    assert not kept.trajectories


def test_a_test_that_holds_something_stays_alone() -> None:
    export_set = make_export_set()
    spoilt = export_set.tests[0].model_copy(update={"name": PEOPLE[0]})
    kept, (*_, finding) = choose_export_set(
        ExportInput(replace(export_set, tests=(spoilt, *export_set.tests[1:]))), provisional=False
    )
    assert kept.tests == export_set.tests[1:]
    assert kept.scenarios == export_set.scenarios
    evidence: Any = finding.evidence
    assert [*evidence["flagged"]] == [spoilt.id]


def test_the_home_of_whoever_runs_it_is_found_and_common_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/k.osei")
    assert [one.kind for one in scan({"reply": "No such file: /home/k.osei/data/x"})] == ["home"]
    monkeypatch.setenv("HOME", "/root")
    assert scan({"reply": "No such file: /root/x, /home/k.osei/y"}) == []


@pytest.mark.long
def test_no_search_takes_long_on_what_is_made_to_delay_it() -> None:
    """Each pattern reads long runs of what it begins with in little more than linear time."""
    parts = (
        "a.",
        "1 ",
        "12",
        "A1",
        "a@a.",
        "+1 ",
        "token ",
        "password = ",
        "2a02:",
        "phone: 0 ",
        "ssn",
        "://a:",
        "//a:b@",
        "© ",
        "GNU ",
        "-----BEGIN A ",
    )
    begun = time.monotonic()
    for part in parts:
        scan({"text": part * (40_000 // len(part))})
    assert time.monotonic() - begun < 20


def count_flagged(rows: Iterable[Json]) -> int:
    return sum(bool(scan(row, "Apache-2.0")) for row in rows)


@pytest.mark.long
@pytest.mark.soak(area="real_authors")
def test_no_world_of_a_real_author_is_flagged(tmp_path: Path) -> None:
    """At most 2 %, of what is kept in the repository: worlds of real authors, and what came of
    them. Under `make test` every third row of a table."""
    unpack(ROOT / "tests/authors/kept/again/worlds.tar.xz", tmp_path)
    rows: dict[str, Json] = {}
    every = count(3, 1)
    for home in sorted(one for one in tmp_path.iterdir() if one.name.startswith("lake")):
        lake = Lake(home)
        for table, step in ((Environment, 1), (Scenario, 1), (Trajectory, 1), (Pair, 1), (Test, 5)):
            found: list[Record] = [
                one for run in lake.runs_with(table) for one in lake.read(table, run)
            ]
            rows |= {one.id: one.model_dump(mode="json") for one in found[:: step * every]}
    assert len(rows) > 400 / every
    assert count_flagged(rows.values()) <= 0.02 * len(rows)


@pytest.mark.long
def test_no_seed_of_the_factory_is_flagged() -> None:
    rows: list[Json] = [
        json.loads(line)
        for path in (ROOT / "tests/real_authors").rglob("*.jsonl")
        for line in path.read_text().splitlines()
        if line
    ]
    rows += [
        {"text": line}
        for path in (ROOT / "data/seeds").rglob("*.toml")
        for line in path.read_text().splitlines()
    ]
    assert len(rows) > 300
    assert count_flagged(rows) <= 0.02 * len(rows)


def test_texts_of_clean_rows_are_not_searched_again() -> None:
    """A text in which something was found is found in every row; a notice that one licence covers is found under another."""
    clean, mail = set[tuple[str, str]](), "write to anna.schmidt@gmail.com"
    notice = "under the GNU General Public License"
    for _ in range(2):
        assert [one.kind for one in scan(["clean", mail], "MIT", clean)] == ["email"]
        assert not scan([notice], "GPL-3.0", clean)
        assert [one.kind for one in scan([notice], "MIT", clean)] == ["licence"]
    assert {text for text, _ in clean} == {"clean", notice}
    assert (notice, "MIT") not in clean


def test_what_was_made_of_a_scenario_that_stays_is_scanned() -> None:
    """A trajectory leaves without its scenario where a group of attempts at it would teach nothing."""
    export_set = make_export_set()
    one = export_set.trajectories[0]
    spoilt = one.model_copy(
        update={"messages": [*one.messages, {"role": "user", "content": "anna.schmidt@gmail.com"}]}
    )
    scenarios = tuple(other for other in export_set.scenarios if other.id != one.scenario)
    alone = replace(
        export_set, scenarios=scenarios, trajectories=(spoilt, *export_set.trajectories[1:])
    )
    _, told = hold_flagged(alone, {})
    assert told is not None
    assert set(told.evidence["flagged"]) == {spoilt.id}
