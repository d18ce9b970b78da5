"""A dialogue as the command line shows it, straight from its folder."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from flows.cli import make_app
from tests.samples.dialogue import HERE

UNPAID = str(HERE / "reader" / "scenarios" / "unpaid")


def invoke(home: Path, *arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(
        make_app(arguments), arguments, env={"ENVMILL_HOME": str(home)}, input=lines
    )


def test_a_rollout_of_a_scenarios_folder(tmp_path: Path) -> None:
    shown = invoke(tmp_path, "rollout", UNPAID, "--form", "conversation")
    assert shown.exit_code == 0, shown.output
    assert "    user > see_display()\n" in shown.output
    assert '    > resume_sim(merchant_id="M12", sim_id="SIM-7204")\n' in shown.output
    assert (
        "agent: It is paid. Shall I resume the SIM SIM-7204 now?\nuser: Yes, please.\n"
        in shown.output
    )
    alone = invoke(tmp_path, "rollout", UNPAID)
    assert alone.exit_code != 0
    assert "play it as a conversation" in f"{alone.output}{alone.exception}"


def test_play_tells_what_a_coupling_changed(tmp_path: Path) -> None:
    lines = (
        'as user see_display\nsee_display\nresume_sim merchant_id="M12" sim_id="SIM-7204"\nscore\n'
    )
    played = invoke(tmp_path, "play", UNPAID, "--json", lines=lines)
    opened, display, refused, resumed, scored = [
        json.loads(line) for line in played.stdout.splitlines() if line.startswith("{")
    ]
    assert opened["request"].startswith("Corner Bakery")
    assert display["parts"][0]["value"] == {"display": "NO SERVICE E10"}
    assert refused["code"] == "not_allowed"
    assert {".".join(one["path"]) for one in resumed["changes"]} == {
        "sims.SIM-7204.status",
        "reader.reader.sim_active",
        "terminals.TR-5081.online",
    }
    assert (scored["verdict"]["reward"], scored["verdict"]["components"]["procedure"]) == (0.0, 0.0)


def test_play_is_a_conversation_that_is_scored(tmp_path: Path) -> None:
    """A person does what the reference path does: asked before the yes it earns nothing, asked
    first it passes."""
    right = [
        'find_merchant name="Corner Bakery"',
        "say Please see label yourself.",
        "say What is your support code?",
        'verify_merchant merchant_id="M12" code="kestrel-41"',
        "say A balance of 42 euros is open. Shall I collect it?",
        'take_payment merchant_id="M12"',
        "say Shall I resume the SIM SIM-7204?",
        'resume_sim merchant_id="M12" sim_id="SIM-7204"',
        "score Your reader is ready again.",
    ]
    early = [*right[:4], right[5], *right[7:8], right[4], right[6], right[8]]
    for lines, reward in ((right, 1.0), (early, 0.0)):
        played = invoke(tmp_path, "play", UNPAID, "--json", lines="\n".join(lines) + "\n")
        results = [json.loads(line) for line in played.stdout.splitlines() if line.startswith("{")]
        assert (
            results[2]["user"]
            == "All right. I have done it: see label. It says: serial TR-5081, sim SIM-7204."
        )
        assert results[3]["user"] == "The support code is kestrel-41."
        assert results[-1]["verdict"]["reward"] == reward, results[-1]["verdict"]["reason"]
    assert (
        "choose one first"
        in invoke(tmp_path, "play", str(HERE / "reader"), lines="say hello\n").output
    )
