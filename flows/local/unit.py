"""The unit file with which systemd keeps a home up over logouts and reboots.

systemd follows the watchdog, which keeps server and worker; when it dies, `envmill up` starts it
again and leaves the others alone.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from envmill.base.settings import ROOT
from flows.local.home import Home
from flows.local.private import is_secret

NAME = "envmill.service"
_TEMPLATE = """\
[Unit]
Description=EnvMill at {home}
After=network-online.target
Wants=network-online.target

[Service]
Type=forking
PIDFile={home}/watchdog.pid
WorkingDirectory={root}
{surroundings}
EnvironmentFile=-{home}/environment
ExecStart={envmill} up
ExecStop={envmill} down
Restart=always
RestartSec=5
KillMode=process
TimeoutStartSec=300
TimeoutStopSec=120

[Install]
WantedBy={target}
"""


def write_unit(home: Home, folder: Path | None = None) -> tuple[Path, list[str]]:
    """The file, for this user or, for root, for the machine; and the commands that make it
    count."""
    machine = os.geteuid() == 0
    usual = (
        Path("/etc/systemd/system")
        if machine
        else Path(home.environ.get("HOME", "~")).expanduser() / ".config/systemd/user"
    )
    path = (folder or usual) / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_unit(home, machine))
    systemctl = "systemctl" if machine else "systemctl --user"
    linger = (
        []
        if machine
        else ["loginctl enable-linger   # so that it also runs while you are logged out"]
    )
    return path, [f"{systemctl} daemon-reload", f"{systemctl} enable --now envmill", *linger]


def make_unit(home: Home, machine: bool) -> str:
    """Its text. Keys and passwords stay out of it: they belong in the home's `environment`, which
    others cannot read."""
    envmill = Path(sys.executable).with_name("envmill")
    return _TEMPLATE.format(
        home=home.folder,
        root=ROOT,
        envmill=envmill,
        surroundings="\n".join(
            f"Environment={_quote(f'{name}={value}')}"
            for name, value in _surroundings(home).items()
        ),
        target="multi-user.target" if machine else "default.target",
    )


def _surroundings(home: Home) -> Mapping[str, str]:
    own = {
        name: value
        for name, value in sorted(home.environ.items())
        if name.startswith("ENVMILL_") and not is_secret(name)
    }
    places = {
        "ENVMILL_HOME": home.folder,
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_BUNDLES": home.settings.bundles,
    }
    return {
        **own,
        **{name: str(place) for name, place in places.items()},
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }


def _quote(text: str) -> str:
    """As systemd reads it: a percent sign begins a specifier."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
