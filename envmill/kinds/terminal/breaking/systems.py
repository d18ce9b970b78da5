"""Healthy systems as data: reads `data/seeds/systems/<name>/`, and renders one variation of one.

system.toml   what there is and where it can be broken      check.py   what health means, in probes
files/        the tree, with @slots@ in names and text
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from shlex import quote

from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from schemas.base import Json, is_array, is_object
from schemas.system import System

FOLDER = ROOT / "data/seeds/systems"
SLOT = re.compile(r"@([a-z_]+)@")


def list_systems() -> list[str]:
    """Every system there is, by name."""
    return sorted(path.parent.name for path in FOLDER.glob("*/system.toml"))


@cache
def load_system(name: str, variation: int = 0) -> Healthy:
    """One variation of one system. Variations beyond the longest list of values begin again."""
    if name not in list_systems():
        raise SettingsError(
            f"There is no system {name!r}: use one of {', '.join(list_systems())}.", system=name
        )
    folder = FOLDER / name
    raw = tomllib.loads((folder / "system.toml").read_text(encoding="utf-8"))
    values = _sample_values(raw["variables"], variation)
    try:
        system = System.model_validate(
            {"name": name, **_fill(raw, values), "variables": raw["variables"]}
        )
        folders = folder / "files"
        files = {
            _name(path.relative_to(folders), values): _read(path, values)
            for path in _list_files(folders)
        }
    except (ValidationError, KeyError) as error:
        raise SettingsError(
            f"{folder}/system.toml is no system: {error}. Mend that file.", system=name
        ) from error
    files[SERVICES] = write_services(system).encode()
    return Healthy(
        system, variation, values, files, (folder / "check.py").read_text(encoding="utf-8")
    )


@cache
def load_sorts() -> dict[str, str]:
    """Sorts of systems that an author may write, each with a sentence on it."""
    return tomllib.loads((FOLDER / "sorts.toml").read_text(encoding="utf-8"))


def count_variations(name: str) -> int:
    """How many differ."""
    return max(len(each) for each in load_system(name).system.variables.values())


def write_services(system: System) -> str:
    """The program `services`. It waits until ports are open or processes gone, so that nobody has
    to guess how long."""
    starts = "\n".join(
        f"start_{name}() {{ {each.start}; }}\nport_{name}={each.port or 0}"
        for name, each in system.services.items()
    )
    patterns = "\n".join(
        f"pattern_{name}={quote(each.pattern)}\nprogram_{name}={each.program}"
        for name, each in system.services.items()
    )
    return _SERVICES.replace("%STARTS%", f"{starts}\n{patterns}").replace(
        "%NAMES%", " ".join(system.services)
    )


_SERVICES = """#!/bin/bash
# services start|stop|restart|status [NAME...]: there is no init here.
%STARTS%
all="%NAMES%"
# Turns in which something still works are not counted: a busy machine starts slowly.
await() {
    local idle=0
    for _ in $(seq 600); do
        eval "$1" && return 0
        [ "$(ps -eo stat= | grep -c '^[RD]')" -gt 1 ] || idle=$((idle + 1))
        [ $idle -lt "${2:-40}" ] || return 1
        sleep 0.05
    done
    return 1
}
listens() { [ "$1" = 0 ] || ss -Hltn "sport = :$1" | grep -q .; }
seek() {
    local pattern=pattern_$1 program=program_$1 each first
    for each in $(pgrep -f -- "${!pattern}"); do
        read -r -d '' first <"/proc/$each/cmdline" && [ "$first" ] || continue
        case $(<"/proc/$each/comm") in "${!program##*/}" | "${!pattern##*/}") echo "$each" ;; esac
    done 2>/dev/null | grep .
}
up() {
    seek "$1" >/dev/null && return 0
    "start_$1" </dev/null >/dev/null 2>>/var/log/services.log || { echo "$1: start failed, see /var/log/services.log" >&2; return 1; }
    local key=port_$1
    await "seek $1 >/dev/null && listens ${!key}" && return 0
    echo "$1: did not come up" >&2; return 1
}
descend() {
    local each
    for each in "$@"; do echo "$each"; descend $(pgrep -P "$each"); done
}
down() {
    local each
    for each in $(seek "$1"); do kill "$each" 2>/dev/null; done
    await "! seek $1 >/dev/null" 60 && return 0
    # What it had started would go on without it, and hold its ports.
    for each in $(descend $(seek "$1")); do kill -9 "$each" 2>/dev/null; done; return 0
}
verb=$1; shift; code=0
for name in ${*:-$all}; do
    case $verb in
        start) up "$name" || code=1 ;;
        stop) down "$name" ;;
        restart) down "$name"; up "$name" || code=1 ;;
        status) if seek "$name" >/dev/null; then echo "$name: running"; else echo "$name: not running"; fi ;;
        *) echo "usage: services start|stop|restart|status [NAME...]" >&2; exit 2 ;;
    esac
done
exit $code
"""


def _sample_values(variables: dict[str, list[str]], variation: int) -> dict[str, str]:
    """Values may name variables that stand above them."""
    values: dict[str, str] = {}
    for name, each in variables.items():
        values[name] = _fill_text(each[variation % len(each)], values)
    return values


def _fill(raw: Json, values: dict[str, str]) -> Json:
    if is_object(raw):
        return {_fill_text(key, values): _fill(each, values) for key, each in raw.items()}
    if is_array(raw):
        return [_fill(each, values) for each in raw]
    return _fill_text(raw, values) if isinstance(raw, str) else raw


def _fill_text(text: str, values: dict[str, str]) -> str:
    return SLOT.sub(lambda found: values[found[1]], text)


def _name(path: Path, values: dict[str, str]) -> str:
    """Where a file goes; a slot's value may be a whole path."""
    return "/" + _fill_text(str(path), values).lstrip("/")


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _read(path: Path, values: dict[str, str]) -> bytes:
    return _fill_text(path.read_text(encoding="utf-8"), values).encode()
