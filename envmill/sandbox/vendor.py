"""The vendored jail: an environment as a folder that opens under the same layers where EnvMill is not installed.

folder/environment.json   program and interface
folder/jail.py            what a consumer imports: `Environment`
folder/runtime/           the runtime, whole: standard library only
"""

import shutil
from pathlib import Path

import orjson

import envmill.runtime
from envmill.sandbox.plan import Program

RUNTIME = Path(envmill.runtime.__file__).parent
_CLIENT = "jail/client.py"


def write_jail(folder: Path, program: Program) -> None:
    """Write the folder, which must not hold another one."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(RUNTIME, folder / "runtime", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    shutil.copyfile(RUNTIME / _CLIENT, folder / "jail.py")
    (folder / "environment.json").write_bytes(orjson.dumps(program.message, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2))
