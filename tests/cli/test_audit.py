"""`envmill audit` and `envmill import`: what is printed, and the exit codes that programs go by."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from envmill.base.errors import SandboxError
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, Finding, Gate, GateContext
from envmill.interop.bundles import Folder, write_folder
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.pipeline.audit import AuditEntry
from flows.cli import audit as command
from flows.cli import make_app
from flows.cli import table as drawing
from flows.local.home import Home
from tests.cli.conftest import start_run
from tests.interop.importers.release import make_environments, make_scenario, write_release
from tests.specimens import STATE, VERIFIER, make_environment, make_tests
from tests.specimens import make_scenario as make_ours


def invoke(home: Home, *arguments: str) -> Result:
    settings = home.settings
    environment = {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": settings.lake,
        "ENVMILL_PORT": "0",
    }
    return CliRunner().invoke(make_app(arguments), list(arguments), env=environment)


def read(result: Result) -> list[dict[str, Any]]:
    return json.loads(result.stdout)


@pytest.fixture
def shed(tmp_path: Path) -> Path:
    ours = make_environment()
    paid = VERIFIER.model_copy(update={"goals": VERIFIER.goals[1:], "partial": True, "guards": []})
    write_folder(
        tmp_path / "shed",
        Folder(
            ours,
            tuple(make_tests(ours)),
            (make_ours(ours), make_ours(ours, number=1, verifier=paid)),
        ),
    )
    return tmp_path / "shed"


@pytest.fixture
def few_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    """All gates take 15 seconds for a folder: one test has them, the others have what they read."""
    for name, gates in (
        ("ENVIRONMENT_GATES", ENVIRONMENT_GATES),
        ("SCENARIO_GATES", SCENARIO_GATES),
    ):
        few = tuple(gate for gate in gates if gate.name[1:] in ("1", "2", "3"))
        monkeypatch.setattr(f"envmill.pipeline.audit.{name}", few)


@pytest.mark.long
def test_every_gate_answers_whatever_another_said(home: Home, shed: Path) -> None:
    result = invoke(home, "audit", str(shed), "--json")
    entries = read(result)
    asked = [(entry["subject"][:4], entry["gate"]) for entry in entries]
    environment, scenario = (
        [gate.name for gate in ENVIRONMENT_GATES],
        [gate.name for gate in SCENARIO_GATES],
    )
    expected = [("env_", name) for name in environment] + 2 * [("scn_", name) for name in scenario]
    assert asked == [*expected, ("env_", "W10"), ("scn_", "F4"), ("scn_", "F4")]
    assert not [entry for entry in entries if entry["outcome"] == "error"], entries
    assert result.exit_code == (1 if any(entry["outcome"] == "dropped" for entry in entries) else 0)
    assert all(
        entry["seconds"] >= 0 and (entry["reason"] or entry["outcome"] == "kept")
        for entry in entries
    )


@pytest.mark.long
@pytest.mark.usefixtures("few_gates")
def test_for_people_each_gate_is_a_line(home: Home, shed: Path) -> None:
    lines = [line.split("\t") for line in invoke(home, "audit", str(shed)).stdout.splitlines()]
    assert lines[0] == ["subject", "gate", "outcome", "reason", "seen", "seconds"]
    assert {line[1] for line in lines[1:]} >= {"W1", "W2", "W3", "S1", "S2", "W10", "F4"}


def test_a_dropped_environment_ends_with_one_and_says_where(home: Home, tmp_path: Path) -> None:
    tools = [tool.model_copy(update={"description": ""}) for tool in make_environment().tools]
    write_folder(
        tmp_path / "vague", Folder(make_environment(tools=tools), (), (), {"stocked": STATE})
    )
    result = invoke(home, "audit", str(tmp_path / "vague"), "--json")
    assert result.exit_code == 1
    (first, *_) = read(result)
    assert (first["gate"], first["outcome"], first["reason"]) == ("W1", "dropped", "interface")
    assert "list_tools" in first["detail"]


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        pytest.param(["kept", "not_measured", "not_applicable"], 0, id="nothing-dropped"),
        pytest.param(["kept", "dropped"], 1, id="dropped"),
        pytest.param(["dropped", "error"], 3, id="a-gate-failed"),
    ],
)
def test_exit_codes(
    home: Home, monkeypatch: pytest.MonkeyPatch, shed: Path, outcomes: list[Any], code: int
) -> None:
    entries = [
        AuditEntry("environments", "env_x", "x", "asks", Finding("W1", outcome))
        for outcome in outcomes
    ]

    async def give(*_: Any) -> list[AuditEntry]:
        return entries

    monkeypatch.setattr(command, "_audit", give)
    assert invoke(home, "audit", str(shed)).exit_code == code


async def _break(_subject: EnvironmentCase, _means: GateContext) -> Finding:
    raise SandboxError("The jail is gone. Start it again.")


async def _stumble(_subject: EnvironmentCase, _means: GateContext) -> Finding:
    raise KeyError("rows")


def test_a_gate_that_breaks_is_a_line_and_the_others_still_speak(
    home: Home, monkeypatch: pytest.MonkeyPatch, shed: Path
) -> None:
    gates = (
        Gate("W8", "environments", "", _break),
        Gate("W7", "environments", "", _stumble),
        ENVIRONMENT_GATES[0],
    )
    monkeypatch.setattr("envmill.pipeline.audit.ENVIRONMENT_GATES", gates)
    monkeypatch.setattr("envmill.pipeline.audit.SCENARIO_GATES", ())
    result = invoke(home, "audit", str(shed), "--json")
    told = [(entry["gate"], entry["outcome"], entry["reason"]) for entry in read(result)][:3]
    assert told == [
        ("W8", "error", "SandboxError"),
        ("W7", "error", "gate_breaks"),
        ("W1", "kept", ""),
    ]
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(
            lambda shed: (shed / "bundle.json").write_text("{"),
            "bundle.json, line 1",
            id="bad-json",
        ),
        pytest.param(
            lambda shed: (shed / "bundle.json").unlink(),
            "bundle.json: the file is missing",
            id="no-manifest",
        ),
        pytest.param(
            lambda shed: (shed / "stray.json").write_text("{}"), "stray.json", id="stray-file"
        ),
    ],
)
def test_bad_input_is_named(home: Home, shed: Path, damage: Any, words: str) -> None:
    damage(shed)
    result = invoke(home, "audit", str(shed))
    assert words in str(getattr(result.exception, "message", ""))


def test_a_folder_that_is_not_there_is_no_id(home: Home, tmp_path: Path) -> None:
    assert "no folder" in str(
        getattr(invoke(home, "audit", str(tmp_path / "gone")).exception, "message", "")
    )


@pytest.mark.long
@pytest.mark.usefixtures("few_gates")
def test_ids_of_the_lake_are_audited_with_their_tests_and_siblings(home: Home) -> None:
    ours = make_environment()
    posed = [make_ours(ours), make_ours(ours, number=1, request="Lend the saw to Bo.")]
    start_run(home, "r1")
    for table, rows in (
        (type(ours), [ours]),
        (type(posed[0]), posed),
        (type(make_tests(ours)[0]), make_tests(ours)),
    ):
        Lake(home.settings.lake).put(
            table,
            rows,
            f"{table.table}-0",
            Stamp("r1", "s", "", 0, 1, "", "2026-11-21T00:00:00+00:00"),
        )
    entries = read(invoke(home, "audit", ours.id[:12], "--json"))
    by_gate = {entry["gate"]: entry for entry in entries if entry["subject"] == ours.id}
    assert (by_gate["W3"]["outcome"], by_gate["W3"]["evidence"]["tests"]) == ("kept", 9)
    assert {entry["subject"] for entry in entries} == {ours.id, *(one.id for one in posed)}
    alone = read(invoke(home, "audit", posed[1].id, "--json"))
    assert {entry["subject"] for entry in alone} == {posed[1].id}


@pytest.mark.long
@pytest.mark.usefixtures("few_gates")
def test_import_writes_folders_that_audit_reads(home: Home, tmp_path: Path) -> None:
    environments = make_environments() | {"env_3_rl": {"env_class_name": "Gone"}}
    release = write_release(tmp_path / "release", environments, [make_scenario()])
    result = invoke(home, "import", "envscaler", str(release), str(tmp_path / "out"))
    assert result.exit_code == 0, result.exception
    assert "2 of 3 environments, 1 of 1 scenarios, 3 of 3 checks" in result.stderr
    report = json.loads((tmp_path / "out/import.json").read_text())
    assert ("env_3_rl", "unreadable") in [
        (one["subject"], one["code"]) for one in report["remarks"]
    ]
    entries = read(invoke(home, "audit", str(tmp_path / "out"), "--json"))
    paid = next(entry for entry in entries if entry["gate"] == "S2")
    assert (paid["outcome"], paid["reason"], paid["name"]) == (
        "dropped",
        "do_nothing_paid",
        "task_1",
    )
    assert paid["evidence"]["paid"] == ["Has thing 2 been done?"]
    assert {entry["outcome"] for entry in entries if entry["gate"] in ("S1", "S3")} == {
        "not_measured"
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["unheard-of", "RELEASE", "OUT"], "Known: envscaler, awm, envfactory, harbor, endless"),
        (["envscaler", "GONE", "OUT"], "no such folder"),
        (["envscaler", "RELEASE", "RELEASE"], "exists"),
    ],
)
def test_import_says_what_is_wrong(
    home: Home, tmp_path: Path, arguments: list[str], words: str
) -> None:
    write_release(tmp_path / "RELEASE", make_environments(), [])
    result = invoke(home, "import", arguments[0], *(str(tmp_path / name) for name in arguments[1:]))
    assert words in str(getattr(result.exception, "message", ""))
    assert not (tmp_path / "OUT").exists()


def test_a_release_of_which_nothing_is_mapped_ends_with_one(home: Home, tmp_path: Path) -> None:
    release = write_release(tmp_path / "release", {"env_3_rl": {"env_class_name": "Gone"}}, [])
    assert invoke(home, "import", "envscaler", str(release), str(tmp_path / "out")).exit_code == 1


@pytest.mark.long
@pytest.mark.usefixtures("few_gates")
def test_names_of_a_folder_do_not_steer_the_terminal(
    shed: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in the lines for programs, which people read too, nor in the table."""
    signs = "\x1b]52;c;eA==\x07 \x9b2J é"
    told = json.loads((shed / "bundle.json").read_text())
    (shed / "bundle.json").write_text(json.dumps(told | {"name": signs}))
    lines = invoke(home, "audit", str(shed)).stdout
    assert "\\x1b]52;c;eA==\\x07 \\x9b2J é" in lines
    assert lines.replace("\t", "").replace("\n", "").isprintable()
    drawing._draw(["name"], [[signs]])
    assert not {"\x1b", "\x07", "\x9b"} & set(capsys.readouterr().out)
