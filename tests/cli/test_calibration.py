"""`calibrate` counts what a judge says of known cases, keeps it as data, and lists it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envmill.base.errors import SettingsError
from flows.cli import make_app
from flows.local.home import Home
from tests.gates.test_suspicions import make_case


def invoke(home: Home, *arguments: str, folder: Path | None = None) -> Result:
    environment = {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_PORT": "0",
    }
    told = {"ENVMILL_CALIBRATIONS": str(folder)} if folder else {}
    return CliRunner().invoke(make_app(arguments), list(arguments), env=environment | told)


def test_a_calibration_is_counted_stored_and_listed(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "calibrations"
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        "".join(
            f"{make_case(number, planted).model_dump_json()}\n"
            for number in range(3)
            for planted in (True, False)
        )
    )
    result = invoke(home, "calibrate", str(cases), folder=folder)
    assert result.exit_code == 0, result.exception
    assert (
        "S15\tambiguous_referent\toffline\t3\t0\t3\t3\t3 planted and 3 honest cases were read"
        in result.stdout
    )
    assert invoke(home, "calibrate", folder=folder).stdout == result.stdout
    assert invoke(home, "calibrate", str(cases), folder=folder).stdout == result.stdout
    assert len((folder / "offline.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("text", ["{}", "nothing"])
def test_what_is_no_case_is_refused(home: Home, tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.jsonl").write_text(text)
    error = invoke(home, "calibrate", str(tmp_path / "cases.jsonl")).exception
    assert isinstance(error, SettingsError)


def test_what_is_shipped_is_listed(home: Home) -> None:
    assert "*\t*\toffline\t30\t30\t30\t30\tyes" in invoke(home, "calibrate").stdout
