"""Folders of Harbor and of Endless Terminals: ours come back as they were, others where the base
carries them, the rest with its reason."""

import json
import os
from pathlib import Path
from typing import cast

import pytest

from envmill.base.errors import SandboxError, SettingsError
from envmill.base.settings import Settings
from envmill.interop.bundles import read_folder, write_folder
from envmill.interop.harbor.tree import FolderFile, Tree
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import Harvest
from envmill.interop.importers.endless import fold_heredocs, settle
from envmill.kinds import open_sandbox
from envmill.kinds.trial import try_calls
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import find_base
from tests.interop.harbor.machines import BROKEN, SHARE, make_tree, write_tree

NOBODY = cast(Sandbox, None)
"""Importers of machines run nothing."""
CONFIG = """schema_version = "1.4"
[task]
name = "them/hello"
[verifier]
timeout_sec = 60
[environment]
network_mode = "no-network"
"""
FOREIGN = {
    "task.toml": CONFIG,
    "instruction.md": "Write hello into /app/hello.txt.\n",
    "environment/Dockerfile": "FROM envmill/base:1\nENV WHO=them\nWORKDIR /app\nCOPY seed.txt ./\nRUN echo made "
    ">made.txt\n",
    "environment/seed.txt": "seed\n",
    "tests/test.sh": """#!/bin/bash
if [ $WHO = them ] && [ -s made.txt ] && python3 /tests/look.py; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
""",
    "tests/look.py": "assert open('/app/hello.txt').read() == 'hello\\n'\n",
    "solution/solve.sh": "#!/bin/bash\necho hello >hello.txt\n",
}
DEFINITION = """Bootstrap: localimage
From: ./ubuntu_22.04.sif

%post
    apt-get update && apt-get install -y python3 python3-pip curl
    pip3 install pytest
    mkdir -p /home/user
    cat > /home/user/a.txt <<'EOF'
apt-get install -y a
b
EOF

%environment
    export LANG=C
"""
ENDLESS = {
    "task.json": json.dumps(
        {
            "name": "task_1",
            "description": "Count the lines of a.txt into /home/user/n.",
            "truth": "There are 2.",
        }
    ),
    "test_initial_state.py": "def test_a():\n    assert open('/home/user/a.txt').read()\n",
    "test_final_state.py": "def test_n():\n    assert open('/home/user/n').read().strip() == '2'\n",
    "container.def": DEFINITION,
    "solutions/summary.json": '{"num_runs": 16, "num_success": 9, "results": []}',
}


async def bring(system: str, root: Path, files: dict[str, str], **changes: str | None) -> Harvest:
    named = {
        name: text
        for name, text in (
            files | {key.replace("__", "/"): text for key, text in changes.items()}
        ).items()
        if text is not None
    }
    write_tree(root, Tree("", {path: FolderFile(text.encode()) for path, text in named.items()}))
    return await IMPORTERS[system](root, NOBODY)


async def test_what_was_exported_comes_back_as_it_was(tmp_path: Path) -> None:
    harvest = await IMPORTERS["harbor"](write_tree(tmp_path / "task", make_tree()), NOBODY)
    assert harvest.remarks == []
    (folder,) = harvest.folders.values()
    assert (folder.environment, folder.scenarios) == (SHARE, (BROKEN,))
    write_folder(tmp_path / "bundle", folder)
    again = read_folder(tmp_path / "bundle")
    assert (again.environment.id, [one.id for one in again.scenarios]) == (SHARE.id, [BROKEN.id])


async def test_an_own_folder_that_makes_no_machine_any_more_is_refused(tmp_path: Path) -> None:
    tree = make_tree(environment__Dockerfile="FROM envmill/base:1\nFROM envmill/base:1\n")
    harvest = await IMPORTERS["harbor"](write_tree(tmp_path / "task", tree), NOBODY)
    assert harvest.folders == {}
    assert ("", "no_machine") in [(one.part, one.code) for one in harvest.remarks]


async def test_what_was_edited_is_told(tmp_path: Path) -> None:
    tree = make_tree(
        instruction_DOT_md="Do something else.\n",
        environment__root__srv__survey__README="Another page.\n",
    )
    harvest = await IMPORTERS["harbor"](write_tree(tmp_path / "task", tree), NOBODY)
    assert [(one.part, one.code) for one in harvest.remarks] == [
        ("instruction.md", "edited"),
        ("", "edited"),
    ]
    (folder,) = harvest.folders.values()
    assert folder.environment.id != SHARE.id
    assert folder.scenarios[0].environment == folder.environment.id


async def test_a_strangers_folder_is_mapped_and_every_change_told(tmp_path: Path) -> None:
    harvest = await bring("harbor", tmp_path / "hello", FOREIGN)
    (folder,) = harvest.folders.values()
    assert {one.code for one in harvest.remarks} == {
        "frame_unknown",
        "no_healthy_state",
        "variables",
        "folder",
    }
    assert folder.environment.files["root/app/seed.txt"] == "seed\n"
    assert folder.scenarios[0].request == "Write hello into /app/hello.txt."
    write_folder(tmp_path / "out", folder)
    assert read_folder(tmp_path / "out").scenarios[0].id == folder.scenarios[0].id


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param(
            {"environment__Dockerfile": "FROM ubuntu:22.04\n"}, "image_by_reference", id="registry"
        ),
        pytest.param(
            {"environment__Dockerfile": None, "task.toml": '[environment]\ndocker_image = "a/b"'},
            "unreadable",
            id="no-version",
        ),
        pytest.param(
            {
                "environment__Dockerfile": None,
                "task.toml": 'schema_version = "1.4"\n[environment]\ndocker_image = "a/b"',
            },
            "image_by_reference",
            id="image",
        ),
        pytest.param(
            {"environment__Dockerfile": "FROM envmill/base:1\nRUN apt-get install -y cowsay\n"},
            "recipe",
            id="network",
        ),
        pytest.param(
            {"environment__Dockerfile": 'FROM envmill/base:1\nCMD ["nginx"]\n'},
            "starts_something",
            id="starts",
        ),
        pytest.param(
            {"environment__docker-compose.yaml": "services: {}"}, "several_containers", id="compose"
        ),
        pytest.param(
            {"task.toml": FOREIGN["task.toml"].replace("no-network", "public")},
            "network",
            id="public",
        ),
        pytest.param(
            {"task.toml": FOREIGN["task.toml"].replace("= 60", "= 500")}, "slow_tests", id="slow"
        ),
        pytest.param(
            {"task.toml": FOREIGN["task.toml"] + '[solution.env]\nKEY = "${KEY}"\n'},
            "host_variables",
            id="host",
        ),
        pytest.param(
            {"task.toml": FOREIGN["task.toml"] + '[[verifier.collect]]\ncommand = "a"\n'},
            "judged_elsewhere",
            id="collects",
        ),
        pytest.param(
            {
                "task.toml": FOREIGN["task.toml"] + "[verifier.environment]\ncpus = 1\n",
                "tests/Dockerfile": "FROM envmill/base:1\n",
            },
            "judged_elsewhere",
            id="apart",
        ),
        pytest.param(
            {"task.toml": FOREIGN["task.toml"] + '[[steps]]\nname = "a"\n'},
            "several_steps",
            id="steps",
        ),
        pytest.param({"envmill.json": "[]"}, "unreadable", id="no-records"),
    ],
)
async def test_what_cannot_be_mapped_has_its_reason(
    tmp_path: Path, changes: dict[str, str | None], code: str
) -> None:
    harvest = await bring("harbor", tmp_path / "hello", FOREIGN, **changes)
    assert harvest.folders == {}
    assert [one.code for one in harvest.remarks if one.weight == "refused"] == [code], (
        harvest.remarks
    )


async def test_links_and_bytes_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "all"
    write_tree(
        root / "bytes",
        Tree(
            "",
            {path: FolderFile(text.encode()) for path, text in FOREIGN.items()}
            | {"environment/seed.txt": FolderFile(b"\xff\0")},
        ),
    )
    write_tree(
        root / "link", Tree("", {path: FolderFile(text.encode()) for path, text in FOREIGN.items()})
    )
    (root / "link/solution/key").symlink_to("/etc/shadow")
    harvest = await IMPORTERS["harbor"](root, NOBODY)
    assert {one.subject: one.code for one in harvest.remarks if one.weight == "refused"} == {
        "bytes": "binary_file",
        "link": "unreadable",
    }
    report = harvest.report("harbor")
    assert (report["found"], report["mapped"]) == (
        {"environments": 2},
        {"environments": 0, "scenarios": 0, "checks": 0},
    )
    with pytest.raises(SettingsError, match=r"holds no task\.toml"):
        await IMPORTERS["harbor"](tmp_path, NOBODY)


async def test_a_folder_of_endless_terminals_is_mapped(tmp_path: Path) -> None:
    harvest = await bring("endless", tmp_path / "task_1", ENDLESS)
    (folder,) = harvest.folders.values()
    codes = sorted({one.code for one in harvest.remarks})
    assert codes == [
        "base_image",
        "frame_unknown",
        "no_healthy_state",
        "no_oracle",
        "no_place",
        "user",
    ]
    assert folder.scenarios[0].features == {
        "released_as": "task_1",
        "num_runs": 16,
        "num_success": 9,
    }
    assert folder.environment.files["endless/truth.md"] == "There are 2."
    shown = {
        path: text
        for path, text in folder.environment.files.items()
        if path.startswith("root/") or path in ("set_up.sh", "Dockerfile")
    }
    assert not any("There are 2" in text or "test_n" in text for text in shown.values())


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"task.json": "{"}, "unreadable", id="no-json"),
        pytest.param({"task.json": '{"description": "a"}'}, "unreadable", id="no-truth"),
        pytest.param({"test_final_state.py": None}, "unreadable", id="no-test"),
        pytest.param({"container.def": None}, "unreadable", id="no-image"),
        pytest.param(
            {"container.def": "From: a\n%post\n apt-get install -y cowsay\n"},
            "needs_a_network",
            id="package",
        ),
        pytest.param(
            {"container.def": "From: a\n%post\n true\n%startscript\n nginx\n"},
            "starts_something",
            id="starts",
        ),
        pytest.param(
            {"container.def": "From: a\n%files\n /etc/passwd /a\n"}, "copies_files", id="files"
        ),
    ],
)
async def test_what_endless_terminals_needs_and_is_not_here_has_its_reason(
    tmp_path: Path, changes: dict[str, str | None], code: str
) -> None:
    harvest = await bring("endless", tmp_path / "task_1", ENDLESS, **changes)
    assert harvest.folders == {}
    assert [one.code for one in harvest.remarks if one.weight == "refused"] == [code]


@pytest.mark.parametrize(
    ("command", "left"),
    [
        pytest.param(
            "apt-get update && apt-get install -y --no-install-recommends python3 git && rm -rf "
            "/var/lib/apt/lists/*",
            "",
            id="had",
        ),
        pytest.param(
            "DEBIAN_FRONTEND=noninteractive apt-get install -y jq; mkdir /a", "mkdir /a", id="rest"
        ),
        pytest.param("apt-get install -y \\\n  curl \\\n  cowsay", None, id="folded"),
        pytest.param("wget https://a.org/x", None, id="fetches"),
        pytest.param("pip3 install pytest==8.0", "", id="pytest"),
        pytest.param("pip3 install requests", None, id="module"),
        pytest.param("cat >a <<EOF\nwget x\nEOF", "cat >a <<EOF\nwget x\nEOF", id="text"),
    ],
)
def test_what_the_base_has_needs_no_fetching(command: str, left: str | None) -> None:
    (whole,) = fold_heredocs(command.split("\n"))
    assert settle(whole) == left


@pytest.mark.long
async def test_both_are_played_for_real(tmp_path: Path) -> None:
    settings = Settings.read({**os.environ, "ENVMILL_HOME": str(tmp_path / "home")})
    try:
        find_base(settings.images)
    except SandboxError as error:
        pytest.skip(error.message)
    (hello,) = (await bring("harbor", tmp_path / "hello", FOREIGN)).folders.values()
    (lines,) = (await bring("endless", tmp_path / "task_1", ENDLESS)).folders.values()
    solved = hello.scenarios[0].oracle
    counted = [
        solved[0].model_copy(
            update={"arguments": {"command": "wc -l </home/user/a.txt >/home/user/n"}}
        )
    ]
    async with open_sandbox(settings, drivers=1) as terminals:
        for folder, calls in ((hello, solved), (lines, counted)):
            idle, done = [
                await try_calls(folder.scenarios[0], folder.environment, terminals, each)
                for each in ([], calls)
            ]
            assert (idle.verdict.outcome, done.verdict.outcome) == ("fail", "pass"), (
                idle.verdict,
                done.verdict,
            )
