"""`users` on a bundle folder: every manner is played, and the page is written."""

import json
from pathlib import Path

from flows.local.home import Home
from tests.cli.test_audit import invoke
from tests.samples.dialogue import HERE


def test_a_folder_is_played_with_each_manner(home: Home, tmp_path: Path) -> None:
    task = {"user_scenario": {"instructions": "You are lost. Say so."}}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    page = tmp_path / "page.md"
    words = ("--against", str(tmp_path), "--out", str(page))
    done = invoke(home, "users", str(HERE / "reader"), *words)
    assert done.exit_code == 0, done.output
    told = page.read_text()
    for manner in ("plain", "terse", "forgetful", "fumbling", "chatty", "anxious"):
        assert f"| {manner} | 10 |" in told
    assert f"| τ² {tmp_path.name} | 1 | 1 | 5 |" in told
