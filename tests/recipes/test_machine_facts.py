"""What authors of errands are told of the machine, and services that have to be started again: a
final test can tell that it happened."""

import json
import re
from dataclasses import replace
from typing import Any, cast

import pytest

from envmill.base.settings import ROOT
from envmill.kinds.terminal.breaking.systems import load_system, write_services
from envmill.kinds.terminal.errands.outfitting import outfit, read_errand
from envmill.kinds.terminal.errands.space import load_space
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import ERRAND
from offline.errands.base import load_deeds, load_words
from offline.errands.compose import compose_deeds
from schemas.environment import Blueprint
from tests.kinds.conftest import terminals
from tests.recipes.test_endless_terminals import RECIPE, SEED, Asked, of, plan, try_job, try_path
from tests.soak import count

__all__ = ["terminals"]


def test_the_space_is_as_large_as_the_published_one() -> None:
    space = load_space()
    assert (len(space.categories), len(space.complexities), len(space.personas)) == (15, 6, 54)
    assert sorted(space.complexities.values()) == [1, 2, 3, 4, 5, 6]
    folders = [folder for persona in space.personas for folder in load_words()["folders"][persona]]
    assert len(folders) == len(set(folders)) == 3 * 54


@pytest.mark.parametrize("part", ["errand", "initial_test", "image", "final_test", "solution"])
def test_every_author_is_told_what_the_machine_has(part: str) -> None:
    """As the data and the program `services` have it: a package that is added, or a word that it
    prints, must be told."""
    prompt = next(one for asked in RECIPE.prompts.values() for one in asked if one.name == part)
    told = re.search(r"these packages and no others: ([^.]+)\.", " ".join(prompt.text.split()))
    assert told
    packages = [
        line.partition("#")[0].strip()
        for line in (ROOT / "data/seeds/base/packages.txt").read_text().splitlines()
    ]
    assert told[1].split(", ") == [package for package in packages if package]
    program = write_services(load_system("share").system)
    for words in ("running", "not running", "did not come up"):
        assert f'$name: {words}"' in program or f'$1: {words}"' in program
        assert f"NAME: {words}" in prompt.text
    assert "/var/log/services.log" in program
    assert "/var/log/services.log" in prompt.text


def test_who_writes_test_and_solution_is_told_what_has_to_be_started_again() -> None:
    job = compose_deeds(
        of("services").brief, SEED, [deed for deed in load_deeds("services") if deed.name == "port"]
    )
    (name,) = job.errand.restarts
    assert name in job.image.services
    assert json.loads(job.errand.model_dump_json())["restarts"] == [name]
    other = compose_deeds(
        of("services").brief,
        SEED,
        [deed for deed in load_deeds("services") if deed.name == "token"],
    )
    assert "restarts" not in json.loads(other.errand.model_dump_json()), "ids of other errands stay"


async def test_a_machine_without_the_service_goes_back_to_its_author(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blueprint = await plan(of("services"))
    errand = read_errand(blueprint.files).model_copy(update={"restarts": ["clerk"]})
    asked = Blueprint.model_validate(
        blueprint.model_dump() | {"id": "", "files": {ERRAND: errand.model_dump_json()}}
    )
    made = await outfit(asked, RECIPE, cast(Any, None), cast(Any, Asked()))
    assert made.reason == "bad_image"
    assert "clerk" in made.detail


BLIND = """
import json
import re
from pathlib import Path


def test_settings():
    assert json.loads(Path("{settings}").read_text())["port"] == {port}, "the port is another"
"""


@pytest.mark.long
@pytest.mark.soak(area="mechanisms")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("seed", range(SEED, SEED + count(1, 30)))
async def test_a_test_that_cannot_tell_a_restart_goes_back(seed: int, terminals: Sandbox) -> None:
    """The honest test passes; one that reads the settings alone does not, nor a path that leaves
    the service as it runs. In a soak
    30 honest jobs and 60 that skip the restart, one way or the other."""
    job = compose_deeds(
        of("services").brief, seed, [deed for deed in load_deeds("services") if deed.name == "port"]
    )
    assert (await try_job(job, terminals)).reason == ""
    blind = BLIND.format(**dict(job.world.values) | {"port": job.world.values["new"]})
    trial = await try_path(replace(job, final_test=blind), terminals)
    assert (trial.reason, trial.blamed) == ("restart_unseen", "final_test")
    still = tuple(command.partition("; services")[0] for command in job.commands)
    trial = await try_path(replace(job, final_test=blind, commands=still), terminals)
    assert (trial.reason, trial.blamed) == ("restart_missing", "solution")


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_the_age_of_a_process_tells_a_restart_that_no_answer_tells(
    terminals: Sandbox,
) -> None:
    """As the prompt says: a deed whose settings change nothing that the service answers."""
    job = compose_deeds(
        of("services").brief, SEED, [deed for deed in load_deeds("services") if deed.name == "port"]
    )
    command = (
        f"sleep 1; sed -i 's/hello/hello there/' {job.world.values['settings']}; sleep 1; "
        f"services restart {job.errand.restarts[0]}"
    )
    aged = AGED.format(
        settings=job.world.values["settings"],
        pattern=next(iter(job.image.services.values())).pattern,
    )
    assert (
        await try_path(replace(job, final_test=aged, commands=(command,)), terminals)
    ).reason == ""
    trial = await try_path(
        replace(
            job, final_test=BLUNT.format(settings=job.world.values["settings"]), commands=(command,)
        ),
        terminals,
    )
    assert trial.reason == "restart_unseen"


BLUNT = """
from pathlib import Path


def test_greeting():
    assert "hello there" in Path("{settings}").read_text(), "it greets otherwise"
"""
AGED = (
    BLUNT
    + """

def test_it_reads_its_settings():
    import subprocess
    import time

    found = subprocess.run(["pgrep", "-of", "{pattern}"], capture_output=True, text=True, timeout=20).stdout.split()
    assert found, "the service does not run"
    age = subprocess.run(["ps", "-o", "etimes=", "-p", found[0]], capture_output=True, text=True, timeout=20).stdout
    assert int(age) <= time.time() - Path("{settings}").stat().st_mtime, "it was not started again"
"""
)
