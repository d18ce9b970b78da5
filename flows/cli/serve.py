"""`serve`: the OpenEnv server of an exported folder, or of a bundle folder."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from envmill.base.errors import SettingsError
from flows.local.home import Home

_ROWS = "public/rows.jsonl"
_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('openenv') is None)"


def serve(
    context: typer.Context,
    bundle: Annotated[
        Path,
        typer.Argument(
            help="Folder that `envmill export --for openenv` wrote, or a bundle folder."
        ),
    ],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this machine's needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        Path | None,
        typer.Option(help="File with a token that clients must show; made if there is none."),
    ] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions open at once.")] = 1024,
    python: Annotated[
        Path | None,
        typer.Option(help="Python interpreter that has OpenEnv installed; this one when left out."),
    ] = None,
) -> None:
    """Serve scenarios to a trainer over OpenEnv's protocol, until it is interrupted
    (docs/serving.md).

    It is the server of the exported folder, run by an interpreter that has OpenEnv.
    """
    interpreter = (python or Path(sys.executable)).absolute()
    _require_openenv(interpreter)
    folder = _find_folder(context.obj, bundle)
    settings = {**os.environ, "ENVMILL_OPENENV_SESSIONS": str(sessions)}
    if token:
        settings["ENVMILL_OPENENV_TOKEN"] = _read_token(token)
    os.chdir(folder)
    command = [
        str(interpreter),
        "-B",
        "-m",
        "envmill_openenv.app",
        "--host",
        host,
        "--port",
        str(port),
    ]
    os.execve(command[0], command, settings)


def _find_folder(home: Home, bundle: Path) -> Path:
    """The exported folder. A bundle folder is written as one, below the home."""
    from envmill.interop.consumers import CONSUMERS, export_for
    from envmill.interop.exporters import ExportSet, write_output
    from flows.cli.folders import open_folder

    consumer = CONSUMERS["openenv"]
    if (bundle / consumer.package / _ROWS).exists():
        return bundle.resolve()
    if not (bundle / "bundle.json").exists():
        raise SettingsError(
            f"{bundle} is neither an exported folder nor a bundle folder. Write one: envmill export RUN "
            "--for openenv."
        )
    read = open_folder(bundle)
    export_set = ExportSet(environments=(read.environment,), scenarios=read.scenarios)
    for output in export_for(consumer, export_set):
        out = home.folder / "served" / output.content_hash
        write_output(output, out, output.content_hash)
        return out / output.name
    raise SettingsError(
        f"{bundle} has no scenario that can be served. OpenEnv plays scenarios of tools "
        "(docs/consumers/openenv.md)."
    )


def _require_openenv(interpreter: Path) -> None:
    try:
        lacking = subprocess.run([interpreter, "-c", _LOOK], check=False, timeout=60).returncode
    except OSError as error:
        raise SettingsError(f"--python {interpreter} cannot be run ({error}).") from None
    if lacking:
        from envmill.interop.consumers.openenv import VERSIONS

        wanted = f"openenv=={VERSIONS['openenv']}"
        mend = (
            "Install it into an environment of its own: python -m venv served && served/bin/pip "
            f"install {wanted}"
        )
        raise SettingsError(
            f"{interpreter} has no OpenEnv. {mend}. Then add --python served/bin/python."
        )


def _read_token(path: Path) -> str:
    from envmill.runtime.mcp import CannotStart
    from envmill.runtime.mcp.serving import read_token

    try:
        return read_token(path)
    except CannotStart as error:
        raise SettingsError(str(error)) from None
