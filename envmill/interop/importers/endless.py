"""Importer `endless`: folders of Endless Terminals as environments of kind `terminal`, where our
base image can stand for theirs.

task.json ─► request, truth (kept, given to no machine)      test_final_state.py   ─► one probe
container.def ─► commands without a network, on our base      test_initial_state.py ─► kept beside
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote, split

from envmill.base.errors import SettingsError
from envmill.interop.harbor.tree import Tree, read_tree
from envmill.interop.importers.base import Harvest, Remark
from envmill.interop.importers.harbor import list_homes
from envmill.interop.importers.machines import Described, make_folder
from envmill.sandbox import Sandbox
from envmill.sandbox.containers.image import list_packages
from schemas.base import Json, is_object

SYSTEM = "endless"
TASK, INITIAL, FINAL, DEFINITION = (
    "task.json",
    "test_initial_state.py",
    "test_final_state.py",
    "container.def",
)
KNOWN = (TASK, INITIAL, FINAL, DEFINITION)
ASK = f"""cd /
PYTHONDONTWRITEBYTECODE=1 python3 -B -m pytest -q -p no:cacheprovider -c /dev/null /tests/{FINAL} 2>&1
code=$?; [ $code -lt 2 ] || exit 3; exit $code"""
BROUGHT = frozenset(
    {
        "bash",
        "coreutils",
        "ca-certificates",
        "findutils",
        "gawk",
        "grep",
        "gzip",
        "mawk",
        "passwd",
        "python3-pip",
        "sed",
        "tar",
        "tzdata",
        "util-linux",
    }
)
"""Packages of a minimal Debian, or that only fetch others."""
_FETCHES = re.compile(r"^(sudo\s+)?(?:\w+=\S+\s+)*(apt-get|apt|pip3?|python3 -m pip)\s+(.*)$")
_NETWORK = re.compile(r"\b(apt-get|apt|pip3?|curl -\w*[LO]|wget|git clone|npm|conda|snap)\s")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")


@dataclass
class Definition:
    """A container's definition, by its sections."""

    base: str = ""
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


async def import_folders(root: Path, sandbox: Sandbox) -> Harvest:  # noqa: ARG001  nothing is run: `envmill audit` does that
    """A task's folder, a tarball of one, or a folder of either; all that is not mapped is a
    remark."""
    harvest = Harvest()
    homes = list_homes(root, TASK)
    harvest.counted = {"environments": len(homes)}
    for name, home in homes.items():
        try:
            _import(name, read_tree(home), harvest)
        except SettingsError as error:
            harvest.remarks.append(Remark(name, "", "refused", "unreadable", error.message))
    return harvest


def _import(name: str, tree: Tree, harvest: Harvest) -> None:
    described = _describe(name, tree, harvest)
    if isinstance(described, tuple):
        harvest.remarks.append(Remark(name, "", "refused", *described))
        return
    made = make_folder(described, SYSTEM)
    if isinstance(made, str):
        harvest.remarks.append(Remark(name, "", "refused", "no_machine", made))
    else:
        harvest.folders[name] = made


def _describe(name: str, tree: Tree, harvest: Harvest) -> Described | tuple[str, str]:
    task = _read_task(tree)
    definition = read_definition(tree.text(DEFINITION))
    commands = list[str]()
    for line in fold_heredocs(definition.sections.get("post", [])):
        found = settle(line)
        if found is None:
            return "needs_a_network", f"{line.strip()[:120]!r} fetches what the base image has not"
        commands += [found] if found.strip() else []
    if "files" in definition.sections:
        return "copies_files", f"{DEFINITION} copies files of its maker's machine"
    if "startscript" in definition.sections:
        return (
            "starts_something",
            f"{DEFINITION} starts something, and nothing says how that is started anew",
        )
    harvest.remarks += list(_list_changes(name, tree, definition))
    exports = [line.strip() for line in definition.sections.get("environment", []) if line.strip()]
    return Described(
        name=name,
        summary=f"{name}: a machine of Endless Terminals",
        request=task["description"],
        commands=[f"bash -ec {quote(_join([*exports, *commands]))}"] if commands else [],
        tests={FINAL: tree.files[FINAL].content},
        ask=_join([*exports, ASK]),
        kept={"endless/truth.md": task["truth"], f"endless/{INITIAL}": tree.text(INITIAL)},
        features=_read_solved(tree),
    )


def _read_task(tree: Tree) -> dict[str, str]:
    try:
        found = json.loads(tree.text(TASK))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{TASK} is no JSON: {str(error)[:100]}. Correct it there.") from None
    told = {key: found.get(key) if is_object(found) else None for key in ("description", "truth")}
    if lacking := [
        key for key, value in told.items() if not isinstance(value, str) or not value.strip()
    ]:
        raise SettingsError(
            f"{TASK} has no {lacking[0]!r}. A folder of Endless Terminals holds a description and "
            "a truth, both texts."
        )
    for path in (INITIAL, FINAL):
        tree.text(path)
    return {key: str(value) for key, value in told.items()}


def read_definition(text: str) -> Definition:
    """Header and sections."""
    definition, section = Definition(), ""
    for line in text.splitlines():
        if found := re.match(r"%(\w+)", line):
            section = found[1]
            definition.sections.setdefault(section, [])
        elif section:
            definition.sections[section].append(line)
        elif found := re.match(r"\s*From:\s*(\S+)", line, re.IGNORECASE):
            definition.base = found[1]
    return definition


def fold_heredocs(lines: list[str]) -> Iterator[str]:
    """Commands, each with the text that it is handed and the lines it goes on over."""
    waiting = list[str]()
    end = ""
    for line in lines:
        waiting.append(line)
        if end:
            end = "" if line.strip() == end else end
        elif found := _HEREDOC.search(line):
            end = found[1]
        if not end and not line.endswith("\\"):
            yield "\n".join(waiting)
            waiting = []
    if waiting:
        yield "\n".join(waiting)


def settle(command: str) -> str | None:
    """A command without what the base image makes needless; None where it fetches more than
    that."""
    if "\n" in command and not command.rstrip().split("\n")[0].endswith("\\"):
        return command
    line = re.sub(r"\\\n", " ", command)
    if not _NETWORK.search(line):
        return command
    left = list[str]()
    for part in re.split(r"\s*(?:&&|;)\s*", line.strip()):
        found = _FETCHES.match(part)
        if found is None and _NETWORK.search(part):
            return None
        if found is None:
            left.append(part)
        elif not _is_needless(found[2], found[3]):
            return None
    return " && ".join(part for part in left if part and not part.startswith("rm -rf /var/lib/apt"))


def _is_needless(program: str, rest: str) -> bool:
    try:
        words = [word for word in split(rest) if not word.startswith("-")]
    except ValueError:
        return False
    if words[:1] != ["install"]:
        return words[:1] in (["update"], ["clean"], ["upgrade"], ["autoremove"])
    here = {"pytest"} if program.startswith(("pip", "python3")) else BROUGHT | set(list_packages())
    return {re.split(r"[=<>]", word)[0] for word in words[1:]} <= here


def _list_changes(name: str, tree: Tree, definition: Definition) -> Iterator[Remark]:
    yield Remark(
        name,
        DEFINITION,
        "changed",
        "base_image",
        f"it stands on {definition.base or 'nothing it names'}; here our base stands for that",
    )
    yield Remark(name, "agent", "changed", "user", "agents there are no root, and here they are")
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
    yield Remark(
        name,
        "solution",
        "noted",
        "no_oracle",
        "the system writes no reference solution: gate S1 measures nothing",
    )
    for section in sorted(set(definition.sections) - {"post", "environment", "labels", "help"}):
        yield Remark(name, DEFINITION, "refused", "section", f"%{section} has no place here")
    for path in sorted(set(tree.files) - set(KNOWN)):
        weight = "noted" if path.startswith("solutions/") else "refused"
        yield Remark(name, path, weight, "no_place", "the kind has no place for it")


def _read_solved(tree: Tree) -> dict[str, Json]:
    """How often a model solved it there."""
    if "solutions/summary.json" not in tree:
        return {}
    try:
        found = json.loads(tree.text("solutions/summary.json"))
    except ValueError:
        return {}
    return {
        key: found[key]
        for key in ("num_runs", "num_success")
        if is_object(found) and isinstance(found.get(key), int)
    }


def _join(lines: list[str]) -> str:
    return "\n".join(lines)
