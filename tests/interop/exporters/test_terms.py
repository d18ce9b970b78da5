"""What rows rest on, and terms that an export is held to: who forbids training is not trained on,
nor one of whom nobody said anything."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.exporters import EXPORTERS, ExportSet
from envmill.interop.exporters.licence_terms import TermsFile
from envmill.interop.exporters.sources import (
    Cast,
    RowSource,
    SourceRole,
    name_model,
    trace_sources,
    unite_sources,
)
from envmill.pipeline.casting import read_cast
from envmill.stages.context import ExportInput
from envmill.stages.export import choose_export_set, unite_loads
from schemas.origin import Origin
from schemas.run import RunConfig
from tests.interop.exporters.specimens import make_export_set

CAST: Cast = {
    "author": ["anthropic:sage"], "judge": ["openai:critic"], "teacher": ["openai:pupil-9@lab"], "user": ["openai:guest"],
}  # fmt: skip


def write_terms(folder: Path, *entries: str) -> TermsFile:
    path = folder / "terms.toml"
    path.write_text("\n".join(f"[[terms]]\n{one}" for one in entries))
    return TermsFile.read(path)


def entry(name: str, models: str, train: bool = True, **more: Any) -> str:
    lines = [
        f'id = "{name}"',
        f"models = {json.dumps(models.split())}",
        f"train = {str(train).lower()}",
    ]
    return "\n".join([*lines, *(f"{key} = {json.dumps(value)}" for key, value in more.items())])


def make_traced(cast: Cast = CAST, form: str = "conversation", policy: str = "model") -> ExportSet:
    """Written by a model, played by another one in conversations."""
    made = make_export_set()
    wrote = Origin(
        recipe="awm", seed="seed_1", provider="anthropic", model="sage", prompt="p", prompt_hash=""
    )
    homes = tuple(one.model_copy(update={"origin": wrote}) for one in made.environments)
    scenarios = tuple(one.model_copy(update={"origin": wrote}) for one in made.scenarios)
    trajectories = tuple(
        one.model_copy(update={"policy": policy, "form": form}) for one in made.trajectories
    )
    pairs = tuple(one.model_copy(update={"policy": policy, "form": form}) for one in made.pairs)
    sources = trace_sources(homes, scenarios, trajectories, pairs, cast)
    return replace(
        made,
        environments=homes,
        scenarios=scenarios,
        trajectories=trajectories,
        pairs=pairs,
        sources=sources,
    )


def hold(export_set: ExportSet, terms: TermsFile) -> tuple[ExportSet, Any]:
    kept, findings = choose_export_set(ExportInput(export_set), provisional=False, terms=terms)
    return kept, findings[-1]


def list_roles(export_set: ExportSet, name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in export_set.sources[name]:
        found.setdefault(one.role, set()).add(one.name)
    return found


def test_each_row_names_whose_work_it_rests_on() -> None:
    export_set = make_traced()
    wrote: dict[str, set[str]] = {
        "author": {"anthropic:sage"},
        "judge": {"openai:critic"},
        "seed": {"seed_1"},
    }
    assert list_roles(export_set, export_set.environments[0].id) == wrote
    assert list_roles(export_set, export_set.scenarios[0].id) == wrote
    acted = wrote | {"teacher": {"openai:pupil-9@lab"}, "user": {"openai:guest"}}
    for one in (*export_set.trajectories, *export_set.pairs):
        assert list_roles(export_set, one.id) == acted
    alone = make_traced(form="single", policy="careless")
    assert list_roles(alone, alone.pairs[0].id) == wrote | {"teacher": {"script:careless"}}


def test_rows_of_tables_and_manifests_say_it() -> None:
    export_set = make_traced()
    rl = next(iter(EXPORTERS["rl"](export_set)))
    row = json.loads(rl.files["train.jsonl"].splitlines()[0])
    assert {"role": "author", "name": "anthropic:sage"} in row["sources"]
    for exporter in ("sft", "preferences", "rl"):
        told = json.loads(next(iter(EXPORTERS[exporter](export_set))).files["manifest.json"])[
            "sources"
        ]
        assert told["terms"] is None
        assert {
            "role": "seed",
            "licence": "Apache-2.0",
            "rows": told["counted"][0]["rows"],
        } in told["counted"]
    (dataset,) = EXPORTERS["dataset"](export_set)
    card = dataset.beside["README.md"].decode()
    assert "| teacher | openai:pupil-9@lab | 5 | not known |" in card
    assert "Nobody said what the terms of these models allow" in card


@pytest.mark.parametrize(
    ("entries", "left", "counts"),
    [
        ((entry("all", "*"),), {}, (4, 4, 1)),
        (
            (entry("all", "*"), entry("author", "anthropic:*", train=False)),
            {"scenarios_forbidden": 3},
            (1, 1, 0),
        ),
        (
            (entry("all", "*"), entry("judge", "OpenAI:Critic", train=False)),
            {"scenarios_forbidden": 3},
            (1, 1, 0),
        ),
        (
            (entry("teacher", "openai:pupil-*", train=False), entry("all", "*")),
            {"trajectories_forbidden": 3, "pairs_forbidden": 1},
            (4, 1, 0),
        ),
        (
            (entry("user", "openai:guest", train=False), entry("all", "*")),
            {"trajectories_forbidden": 3, "pairs_forbidden": 1},
            (4, 1, 0),
        ),
        (
            (entry("a", "anthropic:* openai:critic openai:guest"),),
            {"trajectories_unknown": 3, "pairs_unknown": 1},
            (4, 1, 0),
        ),
        (
            (
                entry("only to judge", "openai:critic", train=False, roles=["author"]),
                entry("all", "*"),
            ),
            {},
            (4, 4, 1),
        ),
    ],
)
def test_rows_are_held_to_the_terms(
    entries: tuple[str, ...], left: dict[str, int], counts: tuple[int, ...], tmp_path: Path
) -> None:
    kept, finding = hold(make_traced(), write_terms(tmp_path, *entries))
    assert kept.held_back == left
    assert (len(kept.scenarios), len(kept.trajectories), len(kept.pairs)) == counts
    assert (finding.gate, finding.outcome) == ("terms", "kept")
    held = [one for one in kept.scenarios if one.split != "test"]
    assert not held or all(
        one.id in {row.scenario for row in kept.trajectories} or "trajectories" in str(left)
        for one in held
    )


def test_of_whom_nobody_said_anything_it_stays_at_home_and_the_model_is_named(
    tmp_path: Path,
) -> None:
    train = replace(export_set := make_traced(), scenarios=export_set.scenarios[:2])
    kept, finding = hold(train, write_terms(tmp_path, entry("another", "openai:*")))
    assert kept.scenarios == ()
    assert (finding.outcome, finding.reason) == ("dropped", "nothing_to_export")
    assert "No entry is about anthropic:sage" in finding.detail


def test_a_row_without_sources_stays_at_home(tmp_path: Path) -> None:
    export_set = make_traced()
    lost = export_set.trajectories[0].id
    sources = {name: found for name, found in export_set.sources.items() if name != lost}
    kept, _ = hold(replace(export_set, sources=sources), write_terms(tmp_path, entry("all", "*")))
    assert lost not in {one.id for one in kept.trajectories}
    assert kept.held_back == {"trajectories_unknown": 1}


def test_the_card_tells_what_terms_kept_at_home(tmp_path: Path) -> None:
    kept, _ = hold(
        make_traced(),
        write_terms(
            tmp_path, entry("fine", "*"), entry("acme-2026", "openai:pupil-9", train=False)
        ),
    )
    (dataset,) = EXPORTERS["dataset"](kept)
    card = dataset.beside["README.md"].decode()
    assert "| author | anthropic:sage | 5 | fine |" in card
    assert "What it kept at home: pairs forbidden 1, trajectories forbidden 3." in card


@pytest.mark.parametrize(
    ("pattern", "name", "about"),
    [
        ("openai:pupil", "openai:pupil@lab", True),
        ("openai:pupil@lab", "openai:pupil@lab", True),
        ("openai:pupil@lab", "openai:pupil@other", False),
        ("openai:pupil@lab", "openai:pupil", False),
        ("OPENAI:Pupil", "openai:pupil", True),
        ("openai:*", "batch-openai:pupil", True),
        ("vertex:pupil@20260101", "vertex:pupil@20260101", True),
        ("openai:pup", "openai:pupil", False),
        ("*@lab", "openai:pupil@lab", True),
    ],
)
def test_a_model_is_known_under_each_of_its_spellings(
    pattern: str, name: str, about: bool, tmp_path: Path
) -> None:
    terms = write_terms(tmp_path, entry("one", pattern, train=False))
    provider, _, model = name.partition(":")
    assert terms.judge(RowSource("author", name_model(provider, model))) == (
        "forbidden" if about else "unknown"
    )


def test_no_entry_hides_another_one(tmp_path: Path) -> None:
    """Whichever comes first."""
    strict, lax = entry("strict", "openai:pupil", train=False), entry("lax", "openai:*")
    for entries in ((strict, lax), (lax, strict)):
        assert (
            write_terms(tmp_path, *entries).judge(RowSource("teacher", "openai:pupil@lab"))
            == "forbidden"
        )


def test_licences_of_seeds_have_terms_too_and_what_is_the_factorys_own_needs_none(
    tmp_path: Path,
) -> None:
    terms = write_terms(tmp_path, 'id = "share"\nlicences = ["CC-BY-SA-*"]\ntrain = false')
    judged = {one: terms.judge(RowSource("seed", "seed_1", one)) for one in ("CC-BY-SA-4.0", "MIT")}
    assert judged == {"CC-BY-SA-4.0": "forbidden", "MIT": "allowed"}
    assert {
        terms.judge(RowSource("teacher", name))
        for name in ("script:skilled@0.9", "offline", "offline:m")
    } == {"allowed"}
    assert terms.judge(RowSource("author", "script-kid:x")) == "unknown"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("terms = 3", "terms"),
        ("[[terms]]\nmodels = ['*']", "id"),
        ("[[terms]]\nid = 'x'\nmodel = ['*']", "Extra inputs"),
        ("[[terms]]\nid = 'x'\nmodels = ['*']\nroles = ['poet']", "roles"),
        ("[[terms]]\nid = 'x'", "neither models nor licences"),
        ("[[terms", "cannot be read as TOML"),
    ],
)
def test_a_file_that_says_something_else_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "terms.toml").write_text(text)
    with pytest.raises(SettingsError, match=said):
        TermsFile.read(tmp_path / "terms.toml")
    with pytest.raises(SettingsError, match="There is no file"):
        TermsFile.read(tmp_path / "none.toml")


def test_several_runs_and_their_casts_are_united() -> None:
    first, second = (
        make_traced(),
        make_traced(
            cast={
                "author": ["openai:other"],
                "judge": ["openai:other"],
                "teacher": ["openai:other"],
            }
        ),
    )
    whole = unite_loads([ExportInput(first), ExportInput(second)]).export_set
    assert list_roles(whole, whole.scenarios[0].id)["author"] == {"anthropic:sage", "openai:other"}
    assert unite_sources([first.sources]) == first.sources


@pytest.mark.parametrize(
    ("config", "role", "names"),
    [
        ({}, "author", {"offline"}),
        ({"provider": "openai", "model": "m@lab"}, "teacher", {"openai:m@lab"}),
        (
            {"provider": "openai", "model": "m", "judge": "anthropic:j"},
            "judge",
            {"anthropic:j", "openai:m"},
        ),
        (
            {
                "provider": "openai",
                "model": "m",
                "policy": "openai:p@x",
                "user": "openai:u",
                "person": "model",
            },
            "user",
            {"openai:u"},
        ),
        ({"provider": "openai", "model": "m", "person": "scripted"}, "user", set[str]()),
    ],
)
def test_the_cast_of_a_run_is_read_from_its_settings(
    config: dict[str, Any], role: SourceRole, names: set[str]
) -> None:
    assert {*read_cast(RunConfig(**config)).get(role, ())} == names
