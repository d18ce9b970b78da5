"""Commands about the lake: what they tell, on a lake counted by hand."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envmill.base.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.lake.views import VIEWS
from flows.cli import EXIT_CODES, examination, make_app
from flows.cli.examination import CheckResult
from flows.cli.question import ask
from flows.local.home import Home
from schemas.ledger import Attrition
from schemas.tables import TABLES
from tests.lake.test_set_aside import set_aside
from tests.lake.views.example import CLINIC, EASY, FIRST, SHED, fill
from tests.quality.specimen import make_line


@pytest.fixture
def full(home: Home) -> Home:
    fill(Lake(home.settings.lake))
    return home


def invoke(home: Home, *arguments: str) -> Result:
    environ = {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_PORT": "0",
    }
    result = CliRunner().invoke(make_app(arguments), arguments, env=environ)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def lines(home: Home, *arguments: str) -> list[list[str]]:
    return [line.split("\t") for line in invoke(home, *arguments).stdout.splitlines()]


def test_tables_are_counted(full: Home) -> None:
    told = {row[0]: row[1:] for row in lines(full, "tables")}
    assert list(told) == ["table", *TABLES]
    assert told["rollouts"][:3] == ["19", "1", "2"]
    assert told["seeds"][:4] == ["0", "0", "0", "0"]
    assert int(told["attrition"][3]) == sum(
        path.stat().st_size for path in (Path(full.settings.lake) / "attrition").rglob("*.parquet")
    )


def test_a_table_tells_its_columns(full: Home) -> None:
    told = {row[0]: row[1:] for row in lines(full, "tables", "attrition")}
    assert told["cost"] == ["DOUBLE", "yes", str(Attrition.model_fields["cost"].description)]
    assert told["run"][:2] == ["VARCHAR", "no"]
    assert all(row[2] for row in told.values())
    with pytest.raises(SettingsError, match=r"no table nope\. Known: run_events"):
        invoke(full, "tables", "nope")


def test_tables_as_json_schema(full: Home) -> None:
    assert json.loads(invoke(full, "tables", "--json-schema").stdout).keys() == TABLES.keys()
    assert (
        json.loads(invoke(full, "tables", "attrition", "--json-schema").stdout)
        == Attrition.model_json_schema()
    )


def test_views_tell_what_they_say(full: Home) -> None:
    assert {row[0] for row in lines(full, "views")} >= {"runs", "funnel", "yield"}
    assert "# Does anything wait for a Retry?" in invoke(full, "views", "funnel").stdout
    assert f"glob('{full.settings.lake}'" in invoke(full, "views", "--sql").stdout


def test_funnel_and_failures_take_the_run_that_is_meant(full: Home) -> None:
    assert lines(full, "funnel", FIRST)[1][:6] == ["environments", "generate", "2", "2", "0", "0"]
    assert [row[4] for row in lines(full, "failures", FIRST)] == ["gate", "W3", "F1"]
    assert [row[3] for row in lines(full, "failures")] == ["reason", "sandboxerror"]


def test_cost_tells_steps_and_kept_items(full: Home) -> None:
    told = invoke(full, "cost", FIRST).stdout
    assert (
        "\nenvscaler\tenvironments-generate\t2\t0\t0\t0\t160\t0\t40\t0\t0.2\t0.04\t0\t0\t0\t0.0\n"
        in told
    )
    assert "\nauthor\toffline\tauthor\t\t2\t" in told
    assert "\nblueprint\t2\t" in told
    assert re.search(r"environment\tenvscaler\ttool_lending\t1\t400\t0.08\t0\t", told)
    second = invoke(full, "cost").stdout
    assert re.search(
        r"environment\tenvscaler\ttool_lending\t0\t340\t\t1\t\t\t$", second, re.MULTILINE
    )


def test_show_tells_a_record_from_its_origin_to_its_fate(full: Home) -> None:
    told = invoke(full, "show", CLINIC.id[:12]).stdout
    assert told.startswith(f"environments {CLINIC.id}\nrun {FIRST}\n")
    assert "files.program.py:\n    \n    from envmill.runtime import" in told
    assert f"environments\tverify\t{CLINIC.id}\tdropped\ttest_fails" in told
    assert "verify\tW3\t1\tdropped" in told
    played = invoke(full, "show", EASY.id).stdout
    assert "# Where it came from" not in played  # its draft was never written here
    assert "careless\tprobe\t4\t4\t0" in played
    assert "skilled@0.7\tprobe\t4" in played
    assert re.search(r"^rollouts \(10\): rol_", played, re.MULTILINE)


@pytest.mark.long
def test_show_knows_a_record_of_every_table(home: Home) -> None:
    make_line().write(Lake(home.settings.lake), "r1")
    found = dict(
        ask(
            home, " union all ".join(f"select '{table}', min(id) from {table}" for table in TABLES)
        )[1]
    )
    assert all(found.values()), found
    for table, id in found.items():
        assert invoke(home, "show", id).stdout.startswith(f"{table} {id}\nrun r1\n")
        assert json.loads(invoke(home, "show", id, "--json").stdout)["id"] == id


def test_show_tells_of_a_row_that_was_set_aside(full: Home) -> None:
    set_aside(Lake(full.settings.lake), FIRST, "environments", SHED.id)
    told = invoke(full, "show", SHED.id).stdout
    assert told.startswith("quarantine qua_")
    assert (
        f"table_name: environments\nrow: {SHED.id}\npromise: licence_said\ndetail: by hand" in told
    )


def test_show_as_json_is_the_record(full: Home) -> None:
    shown = json.loads(invoke(full, "show", SHED.id, "--json").stdout)
    assert (shown["id"], shown["run"], shown["files"]) == (SHED.id, FIRST, SHED.files)


def test_compact_tells_what_it_did(full: Home) -> None:
    first, second = lines(full, "compact", FIRST)[1], lines(full, "compact")[1:]
    assert (first[0], int(first[1]) > int(first[2]) > 0, int(first[4])) == (FIRST, True, 20)
    assert [row[0] for row in second] == [FIRST, "nightly-2"]
    assert second[0][1:] == ["0", "0", "0", "0"]


def test_compact_keeps_the_views_for_a_shell(full: Home) -> None:
    assert invoke(full, "compact", FIRST).exit_code == 0
    kept = Path(full.settings.lake) / "views.sql"
    assert kept.read_text(encoding="utf-8") == invoke(full, "views", "--sql").stdout.removesuffix(
        "\n"
    )
    assert list(kept.parent.glob(".views-*")) == []
    assert lines(full, "tables")


def test_doctor_names_rollups_that_no_longer_hold(
    full: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke(full, "compact", FIRST)
    assert re.search(
        r"^ok +rollups +of 0 runs no longer hold$", invoke(full, "doctor").stdout, re.MULTILINE
    )
    monkeypatch.setitem(VIEWS, "runs", replace(VIEWS["runs"], sql=f"{VIEWS['runs'].sql} "))
    told = invoke(full, "doctor").stdout
    assert re.search(
        rf"^ok +rollups +of 1 runs no longer hold \({FIRST}\)\n +→ .*`envmill compact`",
        told,
        re.MULTILINE,
    )


def test_doctor_examines_everything(home: Home) -> None:
    done = invoke(home, "doctor")
    told = re.findall(r"^(ok|short) +(\w+) ", done.stdout, re.MULTILINE)
    assert [what for _, what in told] == list(examination.CHECKS)
    assert ("ok", "jail") in told
    assert f"{home.settings.lake}, put-if-absent holds, 0 runs" in done.stdout
    assert done.exit_code == any(state == "short" for state, _ in told)


def test_doctor_tells_layers_latency_and_the_mend_for_what_lacks(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def try_jail(_: Home) -> tuple[dict[str, bool], float]:
        return {"cgroups": False, "seccomp": True, "landlock": False}, 12.3e-6

    assert re.search(
        r"^ok     jail +layers: .*; a call takes \d+ µs$",
        invoke(home, "doctor").stdout,
        re.MULTILINE,
    )
    monkeypatch.setattr(examination, "_try_jail", try_jail)
    told = invoke(home, "doctor").stdout
    assert "layers: seccomp; without cgroups, landlock; a call takes 12 µs" in told
    assert "→ cgroups: Let this user make control groups" in told
    assert "landlock: Use Linux 5.13" in told


def test_trust_and_diagnosis_may_be_said_on_the_command_line(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Home] = []
    monkeypatch.setattr(
        examination,
        "CHECKS",
        {"python": lambda home: seen.append(home) or CheckResult("python", True, "")},
    )
    for flags in ((), ("--trust-generated-code",), ("--diagnose-denials",)):
        invoke(home, *flags, "doctor")
    assert [(one.settings.trust_generated_code, one.settings.diagnose_denials) for one in seen] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    # What it starts is told, too.
    assert seen[1].child_environ("http://127.0.0.1:1")["ENVMILL_TRUST_GENERATED_CODE"] == "1"


def test_doctor_names_what_is_short_and_its_mend(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collapse(_: Home) -> CheckResult:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(examination, "_ROOM", 2**60)
    monkeypatch.setitem(examination.CHECKS, "jail", collapse)
    done = invoke(home, "doctor")
    assert done.exit_code == 1
    assert re.search(r"^short  space .*\n +→ Free space there", done.stdout, re.MULTILINE)
    assert "short  jail       ZeroDivisionError: oops" in done.stdout


def test_doctor_names_files_that_count_and_are_gone(full: Home) -> None:
    assert re.search(
        r"^ok +files .*all that counts is there", invoke(full, "doctor").stdout, re.MULTILINE
    )
    for file in (gone := Lake(full.settings.lake).files("rollouts", FIRST)):
        Path(file).unlink()
    said = invoke(full, "doctor").stdout
    assert re.search(
        rf"^short  files +{len(gone)} gone, .*rollouts/run={FIRST}/.*", said, re.MULTILINE
    )
    assert re.search(
        r"→ Restore them from a copy, or delete attrition/\S+ \(its batch is then made again\)",
        said,
    )


def test_doctor_sees_a_lake_that_cannot_be_written(home: Home) -> None:
    Path(home.settings.lake).write_text("a file where the lake should be")
    done = invoke(home, "doctor")
    assert re.search(r"^short  lake .*/lake", done.stdout, re.MULTILINE)


def test_exit_codes_are_told() -> None:
    help = " ".join(CliRunner().invoke(make_app(), ["--help"]).stdout.split())
    assert all(f"; {code} " in help for code in EXIT_CODES.values())
