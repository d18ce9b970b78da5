"""A Harbor folder, graded for real in a container of ours: build, begin, the solution or nothing, tests, reward.

recipe, step by step ─► healthcheck ─► [solution] ─► tests ─► reward.json, else reward.txt ─► a number, or why there is none
"""

import io
import math
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from envmill.errors import SandboxError, SettingsError
from envmill.harbor.layout import COMPOSE, CONFIG, ENVIRONMENT, LOGS, RECIPE, REWARD_JSON, REWARD_TEXT, SOLUTION, SOLVE, TESTS
from envmill.harbor.recipe import BASE, Copy, Recipe, Run, read_recipe
from envmill.harbor.tree import Leaf, Tree
from envmill.harbor.validating import read_config
from envmill.sandbox.containers import Container, Ran
from envmill.sandbox.machines.healthy import quote
from schemas.base import Json, is_object
from schemas.harbor import TaskFile

ENVIRONMENT_OF_ALL = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
SOLVING = 900.0
SHOWN = 400


@dataclass(frozen=True)
class Grade:
    """What a folder earned."""

    reward: float | None
    """None: nobody knows."""
    reason: str = ""
    """Why there is no reward."""
    rewards: Mapping[str, float] = field(default_factory=dict[str, float])
    """All of them, where there are several."""
    output: str = ""
    """What the tests printed, the end of it."""


def find_unfit(tree: Tree, config: TaskFile, bases: tuple[str, ...] = (BASE,)) -> tuple[str, str] | None:
    """Why its machine cannot be had here: a code, and words."""
    if config.steps:
        return "several_steps", "it asks for several things, one after the other"
    if config.environment.os != "linux" or config.environment.gpus or config.environment.tpu:
        return "machine", "it needs another system, or an accelerator"
    if any(each in tree for each in COMPOSE) or config.environment.mcp_servers:
        return "several_containers", "it needs more than one container"
    if config.verifier.environment_mode == "separate" or config.verifier.environment or config.verifier.collect:
        return "judged_elsewhere", "its tests run in a container of their own"
    if config.environment.docker_image or RECIPE not in tree:
        return "image_by_reference", f"its image {config.environment.docker_image!r} is in a registry, and none is asked here"
    recipe = read_recipe(tree.text(RECIPE), tree.below(ENVIRONMENT))
    if recipe.faults:
        return "recipe", recipe.faults[0]
    if recipe.base.partition(":")[0] not in bases and recipe.base not in bases:
        return (
            "image_by_reference",
            f"it stands on {recipe.base}, which is in a registry, and none is asked here; {BASE} is had without one",
        )
    return None


async def grade(container: Container, tree: Tree, *, solution: bool) -> Grade:
    """In a container that stands on the base image and holds nothing else. A container that breaks is no reward, and never a 0."""
    config = read_config(tree)
    if unfit := find_unfit(tree, config):
        raise SettingsError(f"{tree.name} cannot be graded here: {unfit[1]}.")
    if solution and SOLVE not in tree:
        raise SettingsError(f"{tree.name} has no {SOLVE}: grade it without --solution, or add one.")
    try:
        return await _grade(container, tree, config, solution)
    except SandboxError as error:
        return Grade(None, f"the container broke: {error.message}")


async def _grade(container: Container, tree: Tree, config: TaskFile, solution: bool) -> Grade:
    recipe = read_recipe(tree.text(RECIPE), tree.below(ENVIRONMENT))
    if reason := await build(container, recipe, config.environment.build_timeout_sec):
        return Grade(None, f"its image does not build: {reason}")
    variables = {**recipe.variables, **_read_variables(config.environment.env)}
    folder = config.environment.workdir or recipe.folder
    if reason := await _begin(container, config, variables):
        return Grade(None, f"it is never ready: {reason}")
    if solution:
        await put_tree(container, f"/{SOLUTION}", tree.below(SOLUTION))
        given = {**variables, **_read_variables(config.solution.env)}
        seconds = config.agent.timeout_sec or SOLVING
        solved = await _run(container, "chmod +x /solution/solve.sh && /solution/solve.sh", folder, given, seconds)
        if solved.code != 0:
            return Grade(None, f"its solution ends with {_tell(solved)}")
    return await _ask_tests(container, tree, config, folder, variables)


async def _ask_tests(container: Container, tree: Tree, config: TaskFile, folder: str, variables: dict[str, str]) -> Grade:
    clear = f"rm -rf /{TESTS} {LOGS}/verifier && mkdir -p {LOGS}/verifier {LOGS}/agent {LOGS}/artifacts"
    await _run(container, clear, "/", {}, 60)
    await put_tree(container, f"/{TESTS}", tree.below(TESTS))
    given = {**variables, **_read_variables(config.verifier.env)}
    tested = await _run(container, f"chmod +x /{TESTS}/test.sh && /{TESTS}/test.sh", folder, given, config.verifier.timeout_sec)
    output = tested.text[-4 * SHOWN :]
    if tested.code is None:
        return Grade(None, f"its tests took more than {config.verifier.timeout_sec:.0f} s", output=output)
    rewards = await _read_rewards(container)
    if isinstance(rewards, str):
        return Grade(None, f"{rewards}; the tests end with {_tell(tested)}", output=output)
    return Grade(rewards.get("reward", sum(rewards.values()) / len(rewards)), rewards=rewards, output=output)


async def _read_rewards(container: Container) -> dict[str, float] | str:
    """As Harbor reads them: absent, empty, or no finite number is an error."""
    told, text = await container.get(REWARD_JSON), await container.get(REWARD_TEXT)
    if told.content is None and text.content is None:
        return "no reward was written"
    try:
        found = orjson.loads(told.content) if told.content is not None else float(text.content or b"")
    except ValueError:
        return "the reward is no number"
    rewards: dict[str, Json] = found if is_object(found) else {"reward": found}
    if not rewards or any(isinstance(each, bool) or not isinstance(each, int | float) for each in rewards.values()):
        return "the reward is no number"
    return {name: float(each) for name, each in rewards.items()} if all(map(math.isfinite, rewards.values())) else "the reward is no number"


async def build(container: Container, recipe: Recipe, seconds: float) -> str:
    """Follow a recipe; empty, or the step that failed."""
    for step in recipe.steps:
        if isinstance(step, Copy):
            await put_tree(container, "", step.files)
        else:
            ran = await _follow(container, step, seconds)
            if ran.code != 0:
                return f"{' '.join(step.words)[:80]!r} ends with {_tell(ran)}"
    return ""


async def _follow(container: Container, step: Run, seconds: float) -> Ran:
    inner = " ".join(quote(each) for each in step.words)
    words = ["/bin/sh", "-c", f"cd {quote(step.folder)} && exec {inner}"]
    return await container.run(words, seconds=seconds, user=step.user, environment={**ENVIRONMENT_OF_ALL, **step.variables})


async def _begin(container: Container, config: TaskFile, variables: dict[str, str]) -> str:
    check = config.environment.healthcheck
    ran = None
    for _ in range(check.retries if check else 0):
        assert check is not None
        ran = await _run(container, check.command, "/", variables, check.timeout_sec)
        if ran.code == 0:
            return ""
    return _tell(ran) if ran else ""


async def put_tree(container: Container, folder: str, files: Mapping[str, Leaf]) -> None:
    """All at once, with modes and as root's."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, leaf in files.items():
            entry = tarfile.TarInfo(f"{folder}/{path}".lstrip("/"))
            entry.size, entry.mode = len(leaf.content), 0o755 if leaf.executable else 0o644
            archive.addfile(entry, io.BytesIO(leaf.content))
    moved = await container.put("/tmp/.put.tar", packed.getvalue())
    if moved.content is None:
        raise SandboxError(f"Files could not be put into the container: {moved.reason}.")
    unpack = "umask 022; tar -C / --no-same-owner -xpf /tmp/.put.tar; code=$?; rm -f /tmp/.put.tar; exit $code"
    ran = await _run(container, unpack, "/", {}, 120)
    if ran.code != 0:
        raise SandboxError(f"Files could not be unpacked in the container: {_tell(ran)}.")


async def _run(container: Container, script: str, folder: str, variables: Mapping[str, str], seconds: float) -> Ran:
    words = ["/bin/bash", "-c", f"cd {quote(folder)} && {script}"]
    return await container.run(words, seconds=seconds, environment={**ENVIRONMENT_OF_ALL, **variables})


def _read_variables(given: Mapping[str, str]) -> dict[str, str]:
    if named := [name for name, value in given.items() if "${" in value]:
        raise SettingsError(
            f"{CONFIG}: {named[0]} takes its value from the host's variables, and none is given away here. Write the value."
        )
    return dict(given)


def _tell(ran: Ran) -> str:
    said = ran.text[-SHOWN:].strip()
    return f"{'no end in time' if ran.code is None else f'exit code {ran.code}'}{f': {said}' if said else ''}"
