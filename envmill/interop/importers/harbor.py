"""Importer `harbor`: Harbor folders as environments of kind `terminal`, ours as they were, others
where the base image carries them.

folder ─► envmill.json? ─┬─► records, with the files of the folder: the same ids where nobody edited them
                         └─► recipe without a network, on our base ─► machine; test.sh ─► one probe; solve.sh ─► reference path
"""

import json
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from pydantic import ValidationError

from envmill.base.errors import BuildError, SettingsError
from envmill.interop.bundles import Folder
from envmill.interop.harbor.grading import find_unfit
from envmill.interop.harbor.layout import (
    ENVIRONMENT,
    INSTRUCTION,
    RECIPE,
    RECORDS,
    SOLUTION,
    SOLVE,
    STEPS,
    TESTS,
)
from envmill.interop.harbor.recipe import CopyFiles, ImageRecipe, RunCommand, read_recipe
from envmill.interop.harbor.tree import Tree, read_text, read_tree
from envmill.interop.harbor.validating import find_faults, read_config
from envmill.interop.harbor.writing import (
    TAIL,
    is_judging,
    list_breaks,
    write_instruction,
    write_solution,
)
from envmill.interop.importers.base import Harvest, Remark
from envmill.interop.importers.machines import LONGEST, Described, make_folder, read_texts
from envmill.kinds.terminal import derive_tables
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import MACHINE
from schemas.base import Json
from schemas.environment import Environment
from schemas.harbor import TaskFile
from schemas.scenario import Scenario

SYSTEM = "harbor"
ASK = """/tests/test.sh >/tests/.said 2>&1
cd /logs/verifier 2>/dev/null || exit 3
reward=$(cat reward.txt 2>/dev/null || python3 -c 'import json; print(json.load(open("reward.json"))["reward"])')
tail -c 300 /tests/.said
case "$reward" in 1 | 1.0) exit 0 ;; 0 | 0.*) exit 1 ;; *) exit 3 ;; esac"""
_IDLE = (
    "",
    "[]",
    "bash",
    "/bin/bash",
    "sh",
    '["/bin/bash"]',
    '["bash"]',
    '["/bin/sh"]',
    '["sleep", "infinity"]',
    "sleep infinity",
)


async def import_folders(root: Path, sandbox: Sandbox) -> Harvest:  # noqa: ARG001  nothing is run: `envmill audit` does that
    """A folder, a tarball, or a folder of either; all that is not mapped is a remark."""
    harvest = Harvest()
    homes = list_homes(root)
    harvest.counted = {"environments": len(homes)}
    for name, home in homes.items():
        try:
            _import(name, read_tree(home), harvest)
        except SettingsError as error:
            harvest.remarks.append(Remark(name, "", "refused", "unreadable", error.message))
    return harvest


def list_homes(root: Path, mark: str = "task.toml") -> dict[str, Path]:
    """Name → folder or tarball: what was named, or what lies in it."""
    if root.is_file() or (root / mark).exists() or not root.is_dir():
        return {root.name.partition(".")[0]: root}
    found = sorted(
        path
        for path in root.iterdir()
        if (path / mark).exists() or path.name.endswith((".tar", ".tar.gz", ".tgz"))
    )
    if not found:
        raise SettingsError(
            f"{root} holds no {mark}, and no folder in it does. Name a folder that does, or one "
            "of such folders."
        )
    return {path.name: path for path in found}


def _import(name: str, tree: Tree, harvest: Harvest) -> None:
    mapped = _read_own(name, tree, harvest) if RECORDS in tree else _map(name, tree, harvest)
    if isinstance(mapped, Folder):
        harvest.folders[name] = mapped
    else:
        code, detail = mapped
        harvest.remarks.append(Remark(name, "", "refused", code, detail))


def _read_own(name: str, tree: Tree, harvest: Harvest) -> Folder | tuple[str, str]:
    """The folder's files are the truth; where they no longer make the recorded ids, that is
    told."""
    try:
        told = json.loads(tree.text(RECORDS))
        files = {**_gather(tree), MACHINE: told[MACHINE]}
        environment = Environment.model_validate({**told["environment"], "files": files})
        scenario = Scenario.model_validate({**told["scenario"], "environment": environment.id})
        derive_tables(files, {})
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        return "unreadable", f"{RECORDS} holds no records: {str(error)[:200]}"
    except BuildError as error:
        return "no_machine", error.message
    for path, wanted in {
        INSTRUCTION: write_instruction(environment, scenario),
        SOLVE: write_solution(scenario),
        **list_breaks(scenario),
    }.items():
        if path not in tree or tree.text(path) != wanted:
            harvest.remarks.append(
                Remark(
                    name, path, "noted", "edited", f"it is not what {RECORDS} says, which counts"
                )
            )
    if environment.id != tree_metadata(tree).get("environment"):
        harvest.remarks.append(
            Remark(
                name,
                "",
                "changed",
                "edited",
                f"its files make {environment.id}: a machine of its own",
            )
        )
    return Folder(environment, (), (scenario,))


def tree_metadata(tree: Tree) -> dict[str, Json]:
    return read_config(tree).metadata


def _gather(tree: Tree) -> dict[str, str]:
    """The environment's own files, from where they were spread to."""
    shown = {
        path: leaf
        for path, leaf in tree.below(ENVIRONMENT).items()
        if not path.startswith("begin/")
    }
    hidden = {path: leaf for path, leaf in tree.below(TESTS).items() if not is_judging(path)}
    texts = {path: read_text(path, leaf.content) for path, leaf in {**shown, **hidden}.items()}
    return texts | {"Dockerfile": tree.text(RECIPE).removesuffix(TAIL)}


def _map(name: str, tree: Tree, harvest: Harvest) -> Folder | tuple[str, str]:
    for fault in find_faults(tree):
        harvest.remarks.append(Remark(name, "", "noted", "against_the_format", fault))
    config = read_config(tree)
    if unfit := find_unfit(tree, config):
        return unfit
    recipe = read_recipe(tree.text(RECIPE), tree.below(ENVIRONMENT))
    if reason := _find_unmapped(config, recipe):
        return reason
    placed = {
        path: leaf
        for step in recipe.steps
        if isinstance(step, CopyFiles)
        for path, leaf in step.files.items()
    }
    texts = read_texts({path: leaf.content for path, leaf in placed.items()})
    if isinstance(texts, str):
        return "binary_file", f"{texts} is no text, and a record holds texts alone"
    harvest.remarks += list(_list_changes(name, tree, config, recipe))
    metadata = config.metadata
    described = Described(
        name=config.task.name if config.task else name,
        summary=config.task.description if config.task and config.task.description else name,
        request=tree.text(INSTRUCTION).strip(),
        commands=[_render(step) for step in recipe.steps if isinstance(step, RunCommand)],
        tests={path: leaf.content for path, leaf in tree.below(TESTS).items()},
        ask=f"mkdir -p /logs/verifier\n{_enter(recipe, config, config.verifier.env)}\n{ASK}",
        solution=_read_solution(tree, recipe, config),
        files=texts,
        modes={path: "755" for path, leaf in placed.items() if leaf.executable},
        licence=str(metadata.get("licence") or metadata.get("license") or "unknown"),
    )
    made = make_folder(described, SYSTEM)
    return ("no_machine", made) if isinstance(made, str) else made


def _find_unmapped(config: TaskFile, recipe: ImageRecipe) -> tuple[str, str] | None:
    """What the kind has no place for."""
    if (
        config.verifier.environment_mode == "separate"
        or config.verifier.environment
        or config.verifier.collect
    ):
        return "judged_elsewhere", "its tests run in a container of their own"
    if recipe.command not in _IDLE:
        return (
            "starts_something",
            f"its image runs {recipe.command!r}, and nothing says how that is started anew",
        )
    if config.environment.healthcheck:
        return (
            "starts_something",
            "it is begun by a health check, and nothing says how that is done anew",
        )
    if config.verifier.timeout_sec > LONGEST and config.verifier.timeout_sec != 600.0:
        return (
            "slow_tests",
            f"its tests may take {config.verifier.timeout_sec:.0f} s, and {LONGEST:.0f} s is the "
            "most a check may",
        )
    if (
        config.environment.network_mode != "no-network"
        and config.environment.network_mode is not None
    ):
        return "network", "it asks for a network, and there is none"
    if any(
        "${" in value
        for given in (config.environment.env, config.verifier.env, config.solution.env)
        for value in given.values()
    ):
        return "host_variables", "it takes values from the host's variables"
    return None


def _list_changes(name: str, tree: Tree, config: TaskFile, recipe: ImageRecipe) -> Iterator[Remark]:
    """What is not as it stood."""
    yield Remark(
        name,
        "",
        "noted",
        "frame_unknown",
        "nothing says what may be changed, so everything may; gate S5 says so",
    )
    yield Remark(
        name,
        "",
        "noted",
        "no_healthy_state",
        "its machine is not well before anything is broken; gate W2 says so",
    )
    if config.environment.network_mode is None:
        yield Remark(
            name,
            "environment",
            "changed",
            "network",
            "it names no network policy, which is a public network; here there is none",
        )
    if config.agent.user not in (None, "root", 0) or recipe.user != "root":
        yield Remark(name, "agent", "changed", "user", "agents here are root")
    if recipe.variables or config.environment.env:
        yield Remark(
            name,
            "environment",
            "changed",
            "variables",
            "tests and solution have its variables; an agent's shell has not",
        )
    if recipe.folder != "/" or config.environment.workdir:
        yield Remark(
            name,
            "environment",
            "changed",
            "folder",
            "tests and solution begin in its folder; an agent's shell begins in its own",
        )
    if SOLVE not in tree:
        yield Remark(
            name, SOLUTION, "noted", "no_oracle", "it has no solution: gate S1 measures nothing"
        )
    elif len(tree.below(SOLUTION)) > 1:
        yield Remark(
            name,
            SOLUTION,
            "refused",
            "solution_of_files",
            "a reference path holds commands, and this solution brings files",
        )
    for path in tree.files:
        if path.startswith(f"{STEPS}/") or path == "trajectory.json":
            yield Remark(name, path, "refused", "no_place", "the kind has no place for it")


def _read_solution(tree: Tree, recipe: ImageRecipe, config: TaskFile) -> str:
    if set(tree.below(SOLUTION)) != {"solve.sh"}:
        return ""
    return f"({_enter(recipe, config, config.solution.env)}\nbash -c {quote(tree.text(SOLVE))})"


def _enter(recipe: ImageRecipe, config: TaskFile, own: dict[str, str]) -> str:
    variables = {**recipe.variables, **config.environment.env, **own}
    exports = [f"export {name}={quote(value)}" for name, value in variables.items()]
    return "\n".join([*exports, f"cd {quote(config.environment.workdir or recipe.folder)}"])


def _render(step: RunCommand) -> str:
    """A builder's step as a line of shell."""
    exports = "".join(f"export {name}={quote(value)}; " for name, value in step.variables.items())
    words = " ".join(map(quote, step.words))
    who = (
        ""
        if step.user == "root"
        else f"setpriv --reuid={quote(step.user)} --regid={quote(step.user)} --init-groups "
    )
    return f"({exports}cd {quote(step.folder)} && {who}{words})"
