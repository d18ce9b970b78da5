"""prefect.yaml and the line name the same steps. What the server makes of the file is
tests/e2e's."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.pipeline.line import STEP
from flows import stages
from schemas.run import RunConfig
from schemas.upkeep import CompactConfig, ReverifyConfig

ENTRY = re.compile(r"  - name: (\S+)\n    entrypoint: (\S+)\n")
TAGGED = re.compile(r"  - name: (\S+)\n    entrypoint: \S+\n    tags: \[(.*)\]\n")


def test_factory_nightly_upkeep_and_every_step_are_deployed() -> None:
    found = dict(ENTRY.findall((ROOT / "prefect.yaml").read_text()))
    wanted = {step.name: f"flows/stages.py:{step.name.replace('-', '_')}" for step in STEP.values()}
    upkeep = {"reverify-weekly": "flows/upkeep.py:reverify", "compact": "flows/upkeep.py:compact"}
    assert found == wanted | upkeep | {
        name: "flows/factory.py:factory" for name in ("factory", "factory-nightly")
    }


def test_every_entry_point_is_the_flow_of_its_step() -> None:
    found = {
        name: getattr(stages, name).name
        for name in (step.name.replace("-", "_") for step in STEP.values())
    }
    assert found == {name: name.replace("_", "-") for name in stages.FLOWS}


@pytest.mark.parametrize("run", ["", "unheard-of"])
async def test_a_step_of_its_own_asks_for_a_run(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    monkeypatch.setenv("ENVMILL_LAKE", str(tmp_path / "lake"))
    with pytest.raises(SettingsError, match="set `run` to its id"):
        await stages.FLOWS["scenarios_generate"].fn(RunConfig(run=run))


def test_runs_can_be_told_apart_by_tag() -> None:
    found = {
        name: set(tags.split(", "))
        for name, tags in TAGGED.findall((ROOT / "prefect.yaml").read_text())
    }
    assert {name for name, tags in found.items() if "nightly" in tags} == {"factory-nightly"}
    assert {name: tags for name, tags in found.items() if "step" in tags} == {
        step.name: {"step", step.lap} for step in STEP.values()
    }


@pytest.mark.parametrize("form", [RunConfig, ReverifyConfig, CompactConfig])
def test_every_field_of_a_form_is_named_and_explained(form: type[BaseModel]) -> None:
    fields = form.model_json_schema()["properties"]
    assert [
        name
        for name, field in fields.items()
        if not (field.get("title") and field.get("description"))
    ] == []
