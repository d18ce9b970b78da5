"""Every way in which a folder can be wrong has a complaint that names file and mend; what we write
has none."""

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.harbor.validating import find_faults, read_config
from tests.interop.harbor.machines import make_tree

CONFIG = make_tree().text("task.toml")


def spoil(old: str, new: str) -> str:
    assert old in CONFIG
    return CONFIG.replace(old, new)


def test_what_is_written_is_as_it_should_be() -> None:
    tree = make_tree()
    assert find_faults(tree) == []
    config = read_config(tree)
    assert (config.schema_version, config.environment.network_mode) == ("1.4", "no-network")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(spoil("memory_mb", "memory_mib"), "'memory_mib' is unknown", id="unknown"),
        pytest.param(
            spoil("memory_mb = 1024", "memory = '1G'"), "Write memory_mb in its place", id="old"
        ),
        pytest.param(spoil("[agent]", "[agents]"), "'agents' is unknown", id="unknown-table"),
        pytest.param(spoil('"1.4"', '"2.0"'), "version '2.0'", id="version"),
        pytest.param(
            spoil('schema_version = "1.4"', ""), "schema_version: it says version", id="no-version"
        ),
        pytest.param(
            spoil("timeout_sec = 900.0", "timeout_sec = -1"), "greater than 0", id="negative"
        ),
        pytest.param(spoil("timeout_sec = 900.0", "timeout_sec = nan"), "finite", id="nan"),
        pytest.param(
            spoil("timeout_sec = 900.0", "timeout_sec = 1e9"), "less than or equal", id="endless"
        ),
        pytest.param(
            spoil("timeout_sec = 900.0", 'timeout_sec = "soon"'), "valid number", id="word"
        ),
        pytest.param(spoil("envmill/scn", "scn"), "task.name", id="name"),
        pytest.param(spoil("no-network", "none"), "network_mode", id="network"),
        pytest.param(
            spoil('"no-network"', '"no-network"\nallowed_hosts = ["a.org"]'),
            "allowed_hosts",
            id="hosts",
        ),
        pytest.param(spoil('"separate"', '"shared"'), "shared", id="shared"),
        pytest.param("[task\n", "it is no TOML", id="no-toml"),
        pytest.param("a = " + "[" * 5000, "nested too deeply", id="deep"),
        pytest.param("# " + "x" * (300 << 10), "more than 256 KB", id="giant"),
    ],
)
def test_a_bad_config_is_told(text: str, says: str) -> None:
    (fault, *_) = find_faults(make_tree(task_DOT_toml=text))
    assert fault.startswith("task.toml")
    assert says in fault
    with pytest.raises(SettingsError):
        read_config(make_tree(task_DOT_toml=text))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param(
            {"instruction.md": None}, "instruction.md: it is missing or empty", id="no-instruction"
        ),
        pytest.param(
            {"instruction.md": " \n"},
            "instruction.md: it is missing or empty",
            id="empty-instruction",
        ),
        pytest.param({"tests__test.sh": None}, "tests/test.sh: the file is missing", id="no-test"),
        pytest.param(
            {"environment__Dockerfile": None},
            "environment/Dockerfile: the file is missing",
            id="no-recipe",
        ),
        pytest.param(
            {"solution__solve.sh": None, "solution__solution.sh": "#!/bin/bash"},
            "no solve.sh",
            id="no-solution",
        ),
        pytest.param({"task.tml": ""}, "no part of a Harbor folder", id="stranger"),
        pytest.param({"test__test.sh": ""}, "its folder is no part", id="strange-folder"),
        pytest.param({"tests__test.sh": "pytest"}, "names no interpreter", id="no-interpreter"),
        pytest.param(
            {"tests__test.sh": "#!/bin/bash\r\necho 1 >/logs/verifier/reward.txt\r\n"},
            "as on Windows",
            id="windows",
        ),
        pytest.param(
            {"tests__test.sh": "#!/bin/bash\napt-get install -y python3\n"},
            "it fetches",
            id="fetches",
        ),
        pytest.param(
            {"environment__tests__test.py": ""}, "built into the image", id="in-the-image"
        ),
    ],
)
def test_what_is_missing_or_strange_is_told(changes: dict[str, str | None], says: str) -> None:
    assert any(says in fault for fault in find_faults(make_tree(**changes))), find_faults(
        make_tree(**changes)
    )


def test_tests_that_write_no_reward_are_told() -> None:
    tree = make_tree(tests__test_DOT_sh="#!/bin/bash\ntrue\n")
    quiet = {
        path: leaf
        for path, leaf in tree.files.items()
        if not path.startswith("tests/") or path == "tests/test.sh"
    }
    assert any("writes /logs/verifier" in fault for fault in find_faults(type(tree)("x", quiet)))


def test_every_step_needs_an_instruction_and_tests() -> None:
    faults = find_faults(
        make_tree(task_DOT_toml=CONFIG + '\n[[steps]]\nname = "one"\n', tests__test_DOT_sh=None)
    )
    assert [fault.split(":")[0] for fault in faults[:2]] == [
        "steps/one/instruction.md",
        "steps/one/tests/test.sh",
    ]
