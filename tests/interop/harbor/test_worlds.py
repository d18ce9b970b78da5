"""Environments of tools as Harbor folders, graded for real: five policies earn what they earn
natively, and an agent finds no secret."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT, Settings
from envmill.interop.consumers.harbor import export_worlds, find_unposed
from envmill.interop.exporters import ExportSet, write_output
from envmill.interop.harbor.grading import Grade, build, grade
from envmill.interop.harbor.recipe import read_recipe
from envmill.interop.harbor.toml import render_toml
from envmill.interop.harbor.tree import Tree
from envmill.interop.harbor.validating import find_faults, read_config
from envmill.interop.harbor.worlds import COLLECT
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import CachedImage, Container, Engine, lend, open_engine
from schemas.environment import Call
from schemas.scenario import Scenario, UserContract
from tests.hostile.engine import Engine as Daemon
from tests.hostile.engine import NoEngine
from tests.interop.bundles.policies import Play, play_natively
from tests.interop.consumers.folders import find_scenarios, make_export_set
from tests.interop.consumers.nights import make_night
from tests.interop.exporters.consumers import open_house
from tests.interop.exporters.test_harbor import HARBOR, MODELS
from tests.interop.harbor.machines import BROKEN, SHARE
from tests.interop.harbor.worlds import make_world, write_steps
from tests.soak import count
from tests.specimens import make_environment, make_scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")
SHED = make_environment()
SCENARIO = make_scenario(SHED, say="Done.")
TREE = make_world(SCENARIO, SHED)
LEAST = 10
"""Environments of each kind."""


async def grade_in(
    engine: Engine, base: CachedImage, tree: Tree, *, solution: bool = True
) -> Grade:
    return await grade(lambda: lend(engine, base), tree, solution=solution)


async def play(engine: Engine, base: CachedImage, found: Play) -> tuple[float | None, str]:
    """Reward and hash of the end state of a policy that plays over MCP."""
    given = await grade_in(
        engine,
        base,
        make_world(found.scenario, found.environment, **write_steps(found.calls, found.said)),
    )
    assert given.report, given
    return given.reward, json.loads(given.report)["state_hash"]


@pytest.mark.long
async def test_five_policies_earn_what_they_earn_natively(
    boxes: Engine, base: CachedImage, tmp_path: Path
) -> None:
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(tmp_path)})) as jail:
        scenario, home = (await find_scenarios(jail))[1]
        plays = await play_natively(scenario, home, jail)
    assert [await play(boxes, base, one) for one in plays] == [
        (one.verdict.reward, one.state_hash) for one in plays
    ]


@pytest.mark.long
async def test_nothing_done_earns_nothing_and_the_solution_everything(
    boxes: Engine, base: CachedImage
) -> None:
    assert (await grade_in(boxes, base, TREE, solution=False)).reward == 0.0
    assert (await grade_in(boxes, base, TREE)).reward == 1.0


FORGE = (
    "mkdir -p /logs/artifacts; echo '{}' >/logs/artifacts/moves.jsonl; echo 1 "
    ">/logs/artifacts/collected; true"
)
STRAY = (
    "ln -sf /srv/world/program/program.py /srv/answer.txt; echo x "
    ">>/var/lib/world/recordings/a.jsonl; kill -9 1; pkill -9 python3; true"
)


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [FORGE, STRAY], ids=["forged artifacts", "links, recordings and signals"]
)
async def test_what_an_agent_tries_besides_pays_nothing(
    boxes: Engine, base: CachedImage, more: str
) -> None:
    found = await grade_in(
        boxes, base, make_world(SCENARIO, SHED, solution__solve_DOT_sh=f"#!/bin/bash\n{more}\n")
    )
    assert found.reward == 0.0, found


async def test_the_last_session_that_called_a_tool_counts(boxes: Engine, base: CachedImage) -> None:
    """A client that connects again begins anew; one that only looks changes nothing."""
    again = """
exec(open("/solution/play.py").read().partition("if __name__")[0].replace("__file__", "'/solution/play.py'"))
asked = json.loads(open("/solution/calls.json").read())
first, second = connect(), connect()
first.ask("tools/call", {"name": "list_tools", "arguments": {}})
for call in asked["calls"]:
    second.ask("tools/call", {"name": call["name"], "arguments": call["arguments"]})
connect().ask("tools/list", {})
open("/srv/answer.txt", "w").write("Done.")
"""
    told = {
        "solution__again_DOT_py": again,
        "solution__solve_DOT_sh": "#!/bin/bash\nexec python3 -I /solution/again.py\n",
    }
    found = await grade_in(boxes, base, make_world(SCENARIO, SHED, **told))
    assert found.reward == 1.0, found


async def test_an_agent_reads_neither_program_nor_state_nor_what_others_did(
    boxes: Engine, base: CachedImage
) -> None:
    async with lend(boxes, base) as container:
        assert not await build(
            container,
            read_recipe(TREE.text("environment/Dockerfile"), TREE.below("environment")),
            60,
        )
        assert (await ask(container, read_check(TREE), "root")).endswith("code 0")
        seek = (
            "cat /srv/world/program/program.py /srv/world/scenarios/*/scenario.json; ls "
            "/var/lib/world /srv/world /tests /solution"
        )
        told = await ask(
            container,
            f"{seek}; grep -rls 'class Shed' / --exclude-dir=proc --exclude-dir=sys | head",
            "agent",
        )
        assert SHED.files["program.py"][:40] not in told
        assert told.count("Permission denied") + told.count("No such file") >= 5
        assert not re.search(r"^/\S*program\.py$", told, re.MULTILINE)
        running = await ask(
            container,
            "for each in /proc/[0-9]*; do tr '\\0' '\\n' <$each/environ; cat $each/mem; done "
            "2>&1 | head -c 99999",
            "agent",
        )
        assert "Shed" not in running


async def test_the_image_holds_nothing_that_judges() -> None:
    secret = "MARK-GOAL"
    verifier = SCENARIO.verifier.model_copy(
        update={
            "goals": [one.model_copy(update={"name": secret}) for one in SCENARIO.verifier.goals]
        }
    )
    path = [Call(name="get_member", arguments={"member_id": "MARK-PATH"})]
    user = UserContract(opening="Lend it.", facts={"member": "MARK-FACT"})
    marked = SCENARIO.model_copy(
        update={
            "verifier": verifier,
            "oracle": path,
            "say": "MARK-LAST",
            "user": user,
            "features": {"a": "MARK-FEATURE"},
        }
    )
    tree = make_world(marked, SHED)
    where = {
        mark: {
            path.partition("/")[0]
            for path, leaf in tree.files.items()
            if mark.encode() in leaf.content
        }
        for mark in (secret, "MARK-PATH", "MARK-LAST", "MARK-FACT", "MARK-FEATURE")
    }
    assert where == {
        secret: {"tests"},
        "MARK-PATH": {"solution"},
        "MARK-LAST": {"solution"},
        "MARK-FACT": set(),
        "MARK-FEATURE": set(),
    }


def change_verifier(**changes: Any) -> Tree:
    """The folder with another `[verifier]`; None leaves a key out."""
    told = tomllib.loads(TREE.text("task.toml"))
    told["verifier"] = {
        name: value for name, value in {**told["verifier"], **changes}.items() if value is not None
    }
    return make_world(SCENARIO, SHED, task_DOT_toml=render_toml(told))


async def test_without_what_was_collected_there_is_no_reward(
    boxes: Engine, base: CachedImage
) -> None:
    shared = change_verifier(collect=None, environment=None, environment_mode="shared")
    for tree, words in (
        (change_verifier(collect=None), "verifier.collect"),
        (shared, "lie where the agent worked"),
    ):
        found = await grade_in(boxes, base, tree)
        assert found.reward is None
        assert words in found.output


async def test_a_recording_of_another_state_is_no_verdict(boxes: Engine, base: CachedImage) -> None:
    """Nobody but root can write it; whoever does earns nothing by it."""
    spoil = """sed -i '2,$s/"state_hash": *"[0-9a-f]*"/"state_hash":"00"/' /logs/artifacts/moves.jsonl"""
    found = await grade_in(
        boxes, base, change_verifier(collect=[{"command": f"{COLLECT}; {spoil}"}])
    )
    assert found.reward is None, found
    assert "was recorded" in found.output


@pytest.mark.long
async def test_our_own_rules_and_harbors_models_hold_for_it(tmp_path: Path) -> None:
    assert find_faults(TREE) == []
    (output,) = export_worlds(make_export_set([(SCENARIO, SHED)]))
    write_output(output, tmp_path, "r")
    python = open_house(HARBOR, *MODELS)
    script = Path(__file__).parents[1] / "exporters" / "harbor_reader.py"
    task = tmp_path / "harbor-worlds/tasks" / SCENARIO.id
    done = subprocess.run(
        [python, "-B", script, task], capture_output=True, text=True, timeout=300, check=False
    )
    (told,) = json.loads(done.stdout)
    assert (told["fault"], told["name"]) == ("", f"envmill/{SCENARIO.id}")
    assert SCENARIO.request in told["instruction"]
    assert "`/srv/answer.txt`" in told["instruction"]
    (server,) = read_config(TREE).environment.mcp_servers
    assert (server.transport, server.url) == ("streamable-http", "http://127.0.0.1:8765/mcp")


async def test_what_has_no_place_is_named() -> None:
    asked = SCENARIO.model_copy(
        update={"user": UserContract(opening="Lend it.", later=["And now the saw."])}
    )
    later = Scenario.model_validate(asked.model_dump() | {"id": "", "number": 1})
    export_set = ExportSet(environments=(SHED, SHARE), scenarios=(SCENARIO, later, BROKEN))
    left = find_unposed(export_set)
    assert left.keys() == {later.id, BROKEN.id}
    assert "no place for a user" in left[later.id]
    assert "--exporter harbor" in left[BROKEN.id]
    (output,) = export_worlds(export_set)
    assert json.loads(output.files["manifest.json"])["left_out"] == left
    assert output.scenarios == (SCENARIO.id,)
    assert {path for path in output.files if "/" not in path} == {
        "LICENSE",
        "NOTICE",
        "SHA256SUMS",
        "manifest.json",
    }
    assert list(export_worlds(ExportSet(environments=(SHARE,), scenarios=(BROKEN,)))) == []


def read_check(tree: Tree) -> str:
    check = read_config(tree).environment.healthcheck
    assert check is not None
    return check.command


async def ask(container: Container, script: str, user: str) -> str:
    done = await container.run(["/bin/bash", "-c", script], seconds=60, user=user)
    return f"{done.text}code {done.code}"


@pytest.mark.soak(area="consumers")
@pytest.mark.skipif(
    count(0, 1) == 0, reason="a night and 130 grades take several minutes: make soak AREA=consumers"
)
async def test_every_cell_is_equal(boxes: Engine, base: CachedImage) -> None:
    """Harbor × kind × policy, graded in boxes."""
    night = await asyncio.to_thread(make_night, ROOT / ".envmill/soak-consumers", 13)
    cells, earned = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in night.plays:
        cell = (one.environment.kind, one.name)
        assert await play(boxes, base, one) == (one.verdict.reward, one.state_hash), cell
        cells[cell] += 1
        earned[cell] += int(one.verdict.reward or 0)
    assert {kind for kind, _ in cells} == {"stateful", "sql"}
    assert min(cells.values()) >= LEAST
    sys.stderr.write(
        "harbor: "
        f"{ {' '.join(cell): f'{earned[cell]}/{count}' for cell, count in cells.items()} }\n"
    )


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    try:
        engine = Daemon(driver="overlay2")
    except NoEngine as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    yield engine
    engine.close()


@pytest.mark.soak(area="consumers")
@pytest.mark.skipif(
    count(0, 1) == 0,
    reason="a daemon and an image's import take half a minute: make soak AREA=consumers",
)
async def test_docker_grades_alike(daemon: Daemon, base: CachedImage) -> None:
    async with open_engine(
        Settings.read({**os.environ, "DOCKER_HOST": daemon.host}), "docker"
    ) as engine:
        assert (await grade_in(engine, base, TREE, solution=False)).reward == 0.0
        assert (await grade_in(engine, base, TREE)).reward == 1.0
