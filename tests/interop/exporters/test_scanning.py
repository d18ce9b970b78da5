"""The scan of what leaves: what is planted into rows is found wherever it stands, and invented worlds are left alone."""

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from envmill.interop.exporters import ExportSet
from envmill.interop.exporters.scanning import scan
from envmill.settings import ROOT
from envmill.stages.context import ExportInput
from envmill.stages.export import choose_cargo
from tests.interop.exporters.planted import HONEST, NOTICES, PEOPLE, SECRETS
from tests.interop.exporters.specimens import make_cargo

KINDS = {**dict.fromkeys(PEOPLE, "person"), **dict.fromkeys(SECRETS, "secret"), **dict.fromkeys(NOTICES, "licence")}
NAMED = {"private_key": "secret", "secret": "secret", "licence": "licence"}


def plant(text: str, dice: random.Random) -> tuple[str, ExportSet]:
    """Into a request, a row of the world, a program or what an agent said. Returns the id that is to stay."""
    cargo = make_cargo()
    place = dice.randrange(4)
    if place == 0:
        spoilt = cargo.scenarios[0].model_copy(update={"request": f"I need a drill. {text}"})
        return spoilt.id, replace(cargo, scenarios=(spoilt, *cargo.scenarios[1:]))
    if place == 1:
        state = json.loads(json.dumps(cargo.scenarios[1].initial_state)) | {"notes": {"n1": {"id": "n1", "text": text}}}
        spoilt = cargo.scenarios[1].model_copy(update={"initial_state": state})
        return spoilt.id, replace(cargo, scenarios=(cargo.scenarios[0], spoilt, *cargo.scenarios[2:]))
    if place == 2:
        shed = cargo.environments[0].model_copy(update={"files": cargo.environments[0].files | {"notes.py": f'"""{text}"""\n'}})
        return shed.id, replace(cargo, environments=(shed, *cargo.environments[1:]))
    said = [*cargo.trajectories[0].messages, {"role": "assistant", "content": f"Done. {text}"}]
    row = cargo.trajectories[0].model_copy(update={"messages": said})
    return row.id, replace(cargo, trajectories=(row, *cargo.trajectories[1:]))


def test_what_is_planted_is_found_wherever_it_stands() -> None:
    """At least 58 of 60 of each commit's draw. What is found is named by its kind and place, and not shown whole."""
    dice = random.Random(29)
    texts = [*dice.sample(PEOPLE, 20), *dice.sample(SECRETS, 20), *dice.sample(NOTICES, 20)]
    missed = list[str]()
    for text in texts:
        name, cargo = plant(text, dice)
        kept, findings = choose_cargo(ExportInput(cargo), provisional=False)
        told: Any = next((one.evidence for one in findings if one.gate == "scan"), {"flagged": {}})
        seen = told["flagged"].get(name, [])
        if KINDS[text] not in {NAMED.get(one["kind"], "person") for one in seen}:
            missed.append(text)
            continue
        assert all(re.sub(r"\s", "", one["shown"]) != re.sub(r"\s", "", text) or KINDS[text] == "licence" for one in seen)
        assert name not in {one.id for one in (*kept.environments, *kept.scenarios, *kept.trajectories)}
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("text", [*PEOPLE, *SECRETS, *NOTICES])
def test_each_is_found_by_itself(text: str) -> None:
    assert scan({"text": text}, "Apache-2.0")


@pytest.mark.parametrize("text", HONEST)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert scan({"text": text, "list": [text]}, "Apache-2.0") == []


def test_a_number_without_quotes_and_a_name_beside_its_value_are_read_too() -> None:
    assert [one.kind for one in scan({"card": 5425233430109903})] == ["card"]
    assert [one.kind for one in scan({"api_key": "q8ZtR4mK2vXw7LbN9cJd3HfS"})] == ["secret"]
    assert scan({"total": 1234567890123, "since": 20260302090012345, "yes": True}) == []


def test_a_notice_is_covered_by_the_licence_that_it_names() -> None:
    text = {"text": "This text: CC-BY-SA-4.0"}
    assert scan(text, "CC-BY-SA-4.0") == []
    assert [one.kind for one in scan(text, "Apache-2.0")] == ["licence"]
    assert [one.kind for one in scan({"text": "All rights reserved."}, "CC-BY-SA-4.0")] == ["licence"]


def test_what_somebody_accepted_leaves() -> None:
    cargo = make_cargo()
    spoilt = cargo.scenarios[0].model_copy(update={"request": PEOPLE[0]})
    cargo = replace(cargo, scenarios=(spoilt, *cargo.scenarios[1:]))
    kept, _ = choose_cargo(ExportInput(cargo), provisional=False)
    assert [one.id for one in kept.scenarios] == [one.id for one in cargo.scenarios[1:]]
    assert spoilt.id not in {one.scenario for one in (*kept.trajectories, *kept.pairs)}
    kept, findings = choose_cargo(ExportInput(cargo, accepted=frozenset({spoilt.id})), provisional=False)
    assert kept.scenarios == cargo.scenarios
    assert [one.gate for one in findings] == ["licence"]
    every = replace(cargo, scenarios=(spoilt,))
    _, findings = choose_cargo(ExportInput(every), provisional=False)
    assert (findings[-1].gate, findings[-1].outcome) == ("scan", "dropped")
    assert "envmill review ID --accept" in findings[-1].detail


def test_no_seed_of_the_factory_and_no_world_of_a_real_author_is_flagged() -> None:
    """At most 2 %, of what is kept in the repository: recorded worlds, and texts that runs start from."""
    rows = [json.loads(line) for path in (ROOT / "tests/real_authors").rglob("*.jsonl") for line in path.read_text().splitlines() if line]
    rows += [{"text": line} for path in (ROOT / "data/seeds").rglob("*.toml") for line in path.read_text().splitlines()]
    assert len(rows) > 300
    flagged = [row for row in rows if scan(row, "Apache-2.0")]
    assert len(flagged) <= 0.02 * len(rows), [scan(row, "Apache-2.0") for row in flagged][:5]
