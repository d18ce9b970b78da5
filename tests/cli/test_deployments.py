"""prefect.yaml and the line name the same steps. What the server makes of the file is tests/e2e's."""

import re

from envmill.line import STEP
from envmill.settings import ROOT

ENTRY = re.compile(r"  - name: (\S+)\n    entrypoint: (\S+)\n")


def test_factory_nightly_upkeep_and_every_step_are_deployed() -> None:
    found = dict(ENTRY.findall((ROOT / "prefect.yaml").read_text()))
    wanted = {step.name: f"flows/stages.py:{step.name.replace('-', '_')}" for step in STEP.values()}
    upkeep = {"reverify-weekly": "flows/upkeep.py:reverify", "compact": "flows/upkeep.py:compact"}
    assert found == wanted | upkeep | {name: "flows/factory.py:factory" for name in ("factory", "factory-nightly")}
