"""A Harbor folder, graded for real in a container of ours: build, begin, the solution or nothing,
tests, reward.

recipe, step by step ─► healthcheck ─► [solution] ─► tests ─► reward.json, else reward.txt ─► a number, or why there is none
                                           └─► what is collected ─► another container, by a recipe of the tests' own ─► tests
"""

import io
import math
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from envmill.base.errors import SandboxError, SettingsError
from envmill.interop.harbor.layout import (
    ARTIFACTS,
    COMPOSE,
    CONFIG,
    ENVIRONMENT,
    JUDGE,
    LOGS,
    RECIPE,
    REPORT,
    REWARD_JSON,
    REWARD_TEXT,
    SOLUTION,
    SOLVE,
    TESTS,
)
from envmill.interop.harbor.recipe import BASE, CopyFiles, ImageRecipe, RunCommand, read_recipe
from envmill.interop.harbor.tree import FolderFile, Tree
from envmill.interop.harbor.validating import read_config
from envmill.sandbox.containers import CommandResult, Container
from envmill.sandbox.machines.healthy import quote
from envmill.sandbox.machines.machine import Containers
from schemas.base import Json, is_object
from schemas.harbor import McpServer, TaskFile

ENVIRONMENT_OF_ALL = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
SOLVING = 900.0
SHOWN = 400
NAMES = 1 << 16
"""Bytes of names of files that are handed over."""
LARGEST = 64 << 20
"""Bytes of one of them."""


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
    report: str = ""
    """What they wrote beside the reward (`report.json`)."""


def find_unfit(
    tree: Tree, config: TaskFile, bases: tuple[str, ...] = (BASE,), *, served: bool = False
) -> tuple[str, str] | None:
    """Why its machine cannot be had here: a code, and words. `served`: a server of tools may be
    there, if it runs in the container."""
    if config.steps:
        return "several_steps", "it asks for several things, one after the other"
    if config.environment.os != "linux" or config.environment.gpus or config.environment.tpu:
        return "machine", "it needs another system, or an accelerator"
    if any(each in tree for each in COMPOSE) or any(
        not served or not _is_inside(each) for each in config.environment.mcp_servers
    ):
        return "several_containers", "it needs more than one container"
    if (reason := _find_unfit_tests(tree, config, bases)) or config.artifacts:
        return (
            "judged_elsewhere",
            reason
            or "it names artifacts, and here only what lies in /logs/artifacts is taken along",
        )
    if config.environment.docker_image or RECIPE not in tree:
        return (
            "image_by_reference",
            f"its image {config.environment.docker_image!r} is in a registry, and none is asked "
            "here",
        )
    recipe = read_recipe(tree.text(RECIPE), tree.below(ENVIRONMENT))
    if recipe.faults:
        return "recipe", recipe.faults[0]
    if recipe.base.partition(":")[0] not in bases and recipe.base not in bases:
        return (
            "image_by_reference",
            f"it stands on {recipe.base}, which is in a registry, and none is asked here; {BASE} "
            "is had without one",
        )
    return None


def _is_inside(server: McpServer) -> bool:
    return urlsplit(server.url or "").hostname in ("localhost", "127.0.0.1")


def _find_unfit_tests(tree: Tree, config: TaskFile, bases: tuple[str, ...]) -> str:
    """Why a container for the tests alone cannot be had here."""
    if not _is_apart(config):
        return ""
    if JUDGE not in tree or (
        config.verifier.environment and config.verifier.environment.docker_image
    ):
        return (
            f"its tests run in a container of their own, and {JUDGE} does not say how that is made"
        )
    if any(each.service != "main" for each in config.verifier.collect):
        return "it collects from other containers"
    recipe = read_recipe(tree.text(JUDGE), tree.below(TESTS))
    fits = recipe.base.partition(":")[0] in bases or recipe.base in bases
    return (
        f"{JUDGE}: {recipe.faults[0]}"
        if recipe.faults
        else ""
        if fits
        else f"{JUDGE} stands on {recipe.base}, which is in a registry"
    )


def _is_apart(config: TaskFile) -> bool:
    return config.verifier.environment_mode == "separate" or config.verifier.environment is not None


async def grade(containers: Containers, tree: Tree, *, solution: bool) -> Grade:
    """In containers that stand on the base image and hold nothing else. A container that breaks is
    no reward, and never a 0."""
    config = read_config(tree)
    if unfit := find_unfit(tree, config, served=True):
        raise SettingsError(f"{tree.name} cannot be graded here: {unfit[1]}.")
    if solution and SOLVE not in tree:
        raise SettingsError(f"{tree.name} has no {SOLVE}: grade it without --solution, or add one.")
    try:
        async with containers() as container:
            ready = await _work(container, tree, config, solution)
            if isinstance(ready, str):
                return Grade(None, ready)
            if not _is_apart(config):
                return await _ask_tests(container, tree, config, *ready)
            collected = await _collect(container, config, ready.variables)
        async with containers() as container:
            return await _ask_apart(container, tree, config, collected)
    except SandboxError as error:
        return Grade(None, f"the container broke: {error.message}")


class Ready(NamedTuple):
    """How commands are run in a container."""

    folder: str
    variables: dict[str, str]


async def _work(container: Container, tree: Tree, config: TaskFile, solution: bool) -> Ready | str:
    """Until the agent is done, or why nothing comes of it."""
    recipe = read_recipe(tree.text(RECIPE), tree.below(ENVIRONMENT))
    if reason := await build(container, recipe, config.environment.build_timeout_sec):
        return f"its image does not build: {reason}"
    variables = {**recipe.variables, **_read_variables(config.environment.env)}
    folder = config.environment.workdir or recipe.folder
    if reason := await _begin(container, config, variables):
        return f"it is never ready: {reason}"
    if solution:
        await put_tree(container, f"/{SOLUTION}", tree.below(SOLUTION))
        given = {**variables, **_read_variables(config.solution.env)}
        seconds = config.agent.timeout_sec or SOLVING
        await _run(container, "chmod +x /solution/solve.sh", "/", {}, 60)
        solved = await _run(
            container,
            "/solution/solve.sh",
            folder,
            given,
            seconds,
            str(config.agent.user or "root"),
        )
        if solved.code != 0:
            return f"its solution ends with {_describe(solved)}"
    return Ready(folder, variables)


async def _collect(
    container: Container, config: TaskFile, variables: dict[str, str]
) -> dict[str, FolderFile]:
    """What the agent's container hands over. It may hold anything, and nothing: that is the tests'
    to say."""
    await _run(container, f"mkdir -p {ARTIFACTS}", "/", {}, 60)
    for hook in config.verifier.collect:
        await _run(container, hook.command, "/", variables, hook.timeout_sec)
    told = await _run(
        container, f"find {ARTIFACTS} -type f -printf '%P\\0' | head -c {NAMES}", "/", {}, 60
    )
    found: dict[str, FolderFile] = {}
    for name in told.text.split("\0")[:-1]:
        if (
            ".." not in name.split("/")
            and (moved := await container.get(f"{ARTIFACTS}/{name}", cap=LARGEST)).content
            is not None
        ):
            found[name] = FolderFile(moved.content)
    return found


async def _ask_apart(
    container: Container, tree: Tree, config: TaskFile, collected: dict[str, FolderFile]
) -> Grade:
    """In a container that no agent was in."""
    recipe, apart = (
        read_recipe(tree.text(JUDGE), tree.below(TESTS)),
        config.verifier.environment or config.environment,
    )
    if reason := await build(container, recipe, apart.build_timeout_sec):
        return Grade(None, f"the image of its tests does not build: {reason}")
    for name, leaf in collected.items():
        await container.put(f"{ARTIFACTS}/{name}", leaf.content)
    await _run(container, f"mkdir -p {LOGS}/verifier", "/", {}, 60)
    return await _run_tests(
        container,
        config,
        apart.workdir or recipe.folder,
        {**recipe.variables, **_read_variables(apart.env)},
    )


async def _ask_tests(
    container: Container, tree: Tree, config: TaskFile, folder: str, variables: dict[str, str]
) -> Grade:
    clear = (
        f"rm -rf /{TESTS} {LOGS}/verifier && mkdir -p {LOGS}/verifier {LOGS}/agent {LOGS}/artifacts"
    )
    await _run(container, clear, "/", {}, 60)
    await put_tree(container, f"/{TESTS}", tree.below(TESTS))
    return await _run_tests(container, config, folder, variables)


async def _run_tests(
    container: Container, config: TaskFile, folder: str, variables: dict[str, str]
) -> Grade:
    given = {**variables, **_read_variables(config.verifier.env)}
    tested = await _run(
        container,
        f"chmod +x /{TESTS}/test.sh && /{TESTS}/test.sh",
        folder,
        given,
        config.verifier.timeout_sec,
    )
    output = tested.text[-4 * SHOWN :]
    if tested.code is None:
        return Grade(
            None, f"its tests took more than {config.verifier.timeout_sec:.0f} s", output=output
        )
    rewards = await _read_rewards(container)
    if isinstance(rewards, str):
        return Grade(None, f"{rewards}; the tests end with {_describe(tested)}", output=output)
    report = (await container.get(REPORT)).content or b""
    return Grade(
        rewards.get("reward", sum(rewards.values()) / len(rewards)),
        rewards=rewards,
        output=output,
        report=report.decode(),
    )


async def _read_rewards(container: Container) -> dict[str, float] | str:
    """As Harbor reads them: absent, empty, or no finite number is an error."""
    told, text = await container.get(REWARD_JSON), await container.get(REWARD_TEXT)
    if told.content is None and text.content is None:
        return "no reward was written"
    try:
        found = (
            orjson.loads(told.content) if told.content is not None else float(text.content or b"")
        )
    except ValueError:
        return "the reward is no number"
    rewards: dict[str, Json] = found if is_object(found) else {"reward": found}
    if not rewards or any(
        isinstance(each, bool) or not isinstance(each, int | float) for each in rewards.values()
    ):
        return "the reward is no number"
    return (
        {name: float(each) for name, each in rewards.items()}
        if all(map(math.isfinite, rewards.values()))
        else "the reward is no number"
    )


async def build(container: Container, recipe: ImageRecipe, seconds: float) -> str:
    """Follow a recipe; empty, or the step that failed."""
    for step in recipe.steps:
        if isinstance(step, CopyFiles):
            await put_tree(container, "", step.files)
        else:
            ran = await _follow(container, step, seconds)
            if ran.code != 0:
                return f"{' '.join(step.words)[:80]!r} ends with {_describe(ran)}"
    return ""


async def _follow(container: Container, step: RunCommand, seconds: float) -> CommandResult:
    inner = " ".join(quote(each) for each in step.words)
    words = ["/bin/sh", "-c", f"cd {quote(step.folder)} && exec {inner}"]
    return await container.run(
        words, seconds=seconds, user=step.user, environment={**ENVIRONMENT_OF_ALL, **step.variables}
    )


async def _begin(container: Container, config: TaskFile, variables: dict[str, str]) -> str:
    check = config.environment.healthcheck
    ran = None
    for _ in range(check.retries if check else 0):
        assert check is not None
        ran = await _run(container, check.command, "/", variables, check.timeout_sec)
        if ran.code == 0:
            return ""
    return _describe(ran) if ran else ""


async def put_tree(container: Container, folder: str, files: Mapping[str, FolderFile]) -> None:
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
    unpack = (
        "umask 022; tar -C / --no-same-owner -xpf /tmp/.put.tar; code=$?; rm -f /tmp/.put.tar; "
        "exit $code"
    )
    ran = await _run(container, unpack, "/", {}, 120)
    if ran.code != 0:
        raise SandboxError(f"Files could not be unpacked in the container: {_describe(ran)}.")


async def _run(
    container: Container,
    script: str,
    folder: str,
    variables: Mapping[str, str],
    seconds: float,
    user: str = "root",
) -> CommandResult:
    words = ["/bin/bash", "-c", f"cd {quote(folder)} && {script}"]
    return await container.run(
        words, seconds=seconds, user=user, environment={**ENVIRONMENT_OF_ALL, **variables}
    )


def _read_variables(given: Mapping[str, str]) -> dict[str, str]:
    if named := [name for name, value in given.items() if "${" in value]:
        raise SettingsError(
            f"{CONFIG}: {named[0]} takes its value from the host's variables, and none is given "
            "away here. Write the value."
        )
    return dict(given)


def _describe(ran: CommandResult) -> str:
    said = ran.text[-SHOWN:].strip()
    return f"{'no end in time' if ran.code is None else f'exit code {ran.code}'}{f': {said}' if said else ''}"
