"""Known layouts of benchmarks. Any other folder is read text by text."""

from collections.abc import Callable, Mapping
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.gates.protecting.bfcl import PREFIX, read_bfcl
from envmill.gates.protecting.reading import Benchmark, read_any
from envmill.gates.protecting.tau2 import read_tau2

LAYOUTS: Mapping[str, Callable[[Path], Benchmark]] = {
    "any": read_any,
    "bfcl": read_bfcl,
    "tau2": read_tau2,
}


def read_benchmark(folder: Path, layout: str = "") -> Benchmark:
    """Reads by the named layout, or by the one that the files have."""
    if not folder.is_dir():
        raise SettingsError(
            f"{folder} is not a folder: name the one that holds the benchmark's files."
        )
    if layout and layout not in LAYOUTS:
        raise SettingsError(f"There is no layout {layout}. Known: {', '.join(LAYOUTS)}.")
    found = LAYOUTS[layout or find_layout(folder)](folder)
    if not found.texts:
        raise SettingsError(f"{folder} holds no text that could be protected.")
    return found


def find_layout(folder: Path) -> str:
    if any(folder.glob(f"{PREFIX}*.json")):
        return "bfcl"
    if any(folder.glob("*/tasks.json")) and any(folder.glob("*/tools.json")):
        return "tau2"
    return "any"
