"""`envmill --help` stays light: what is heavy is imported by the command that needs it."""

import subprocess
import sys

from envmill.base.settings import ROOT

HEAVY = {
    "prefect",
    "pandas",
    "numpy",
    "pyarrow",
    "duckdb",
    "anthropic",
    "openai",
    "docker",
    "great_expectations",
    "fastapi",
    "sqlalchemy",
}

PROBE = """
import sys
sys.argv = ["envmill", *sys.argv[1:]]
try:
    from flows.cli import main
    main()
finally:
    print("\\n" + " ".join(sorted(sys.modules)), file=sys.stderr)
"""


def _modules_after(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "Usage" in done.stdout
    return set(done.stderr.splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    assert _modules_after("--help") & HEAVY == set()


def test_help_of_a_command_imports_nothing_heavy() -> None:
    assert _modules_after("run", "--help") & HEAVY == set()


def test_the_probe_sees_an_import() -> None:
    code = PROBE.replace("from flows.cli import main", "import duckdb; from flows.cli import main")
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "duckdb" in done.stderr.splitlines()[-1].split()
