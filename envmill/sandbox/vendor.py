"""The vendored jail: an environment as a folder that opens under the same layers where EnvMill is
not installed.

folder/environment.json   program and interface
folder/jail.py            what a consumer imports: `Environment`
folder/runtime/           the runtime but for boxes: standard library only
"""

from pathlib import Path

import orjson

import envmill.runtime
from envmill.sandbox.plan import Program

RUNTIME = Path(envmill.runtime.__file__).parent
CLIENT = "jail/client.py"
"""The file of the runtime that a consumer imports."""


def list_runtime() -> dict[str, bytes]:
    """The runtime's files by their path in it, and nothing that was made of them."""
    files = (
        path
        for path in sorted(RUNTIME.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    )
    named = {str(path.relative_to(RUNTIME)): path for path in files}
    # Terminals are exported as folders for other engines of containers.
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith("box/")}


def write_jail(folder: Path, program: Program) -> None:
    """Write the folder, which must not hold another one."""
    runtime = list_runtime()
    files = {f"runtime/{name}": content for name, content in runtime.items()} | {
        "jail.py": runtime[CLIENT]
    }
    files["environment.json"] = orjson.dumps(
        program.message, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2
    )
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
