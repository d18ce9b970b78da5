"""A dialogue as the command line shows it, straight from its folder."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from flows.cli import make_app
from tests.samples.dialogue import HERE

UNPAID = str(HERE / "reader" / "scenarios" / "unpaid")


def invoke(home: Path, *arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(make_app(), arguments, env={"ENVMILL_HOME": str(home)}, input=lines)


def test_a_rollout_of_a_scenarios_folder(tmp_path: Path) -> None:
    shown = invoke(tmp_path, "rollout", UNPAID, "--form", "conversation")
    assert shown.exit_code == 0, shown.output
    assert "    user > see_display()\n" in shown.output
    assert '    > resume_sim(merchant_id="M12", sim_id="SIM-7204")\n' in shown.output
    assert "agent: It is paid. Shall I resume the SIM SIM-7204 now?\nuser: Yes, please.\n" in shown.output
    alone = invoke(tmp_path, "rollout", UNPAID)
    assert alone.exit_code != 0
    assert "play it as a conversation" in f"{alone.output}{alone.exception}"


def test_play_tells_what_a_coupling_changed(tmp_path: Path) -> None:
    lines = 'as user see_display\nsee_display\nresume_sim merchant_id="M12" sim_id="SIM-7204"\nscore\n'
    played = invoke(tmp_path, "play", UNPAID, "--json", lines=lines)
    opened, display, refused, resumed, scored = [json.loads(line) for line in played.stdout.splitlines() if line.startswith("{")]
    assert opened["request"].startswith("Corner Bakery")
    assert display["parts"][0]["value"] == {"display": "NO SERVICE E10"}
    assert refused["code"] == "not_allowed"
    assert {".".join(one["path"]) for one in resumed["changes"]} == {
        "sims.SIM-7204.status",
        "reader.reader.sim_active",
        "terminals.TR-5081.online",
    }
    assert (scored["verdict"]["reward"], scored["verdict"]["components"]["procedure"]) == (0.0, 0.0)
