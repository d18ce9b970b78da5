"""Generic package names stay ours: nothing installed, and no flow file that Prefect loads under its
bare stem, stands before them."""

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import pytest
import yaml

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES

PRESENT = [name for name in (*PACKAGES, "tests") if (ROOT / name).is_dir()]


@pytest.mark.parametrize("name", PRESENT)
def test_package_comes_from_this_root(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert [Path(place) for place in spec.submodule_search_locations or ()] == [ROOT / name]


def find_clashes(stems: set[str]) -> set[str]:
    """Stems that are also a package of ours, a standard module or an installed top-level name."""
    installed = set(importlib.metadata.packages_distributions()) | set(PACKAGES)
    return stems & (installed | sys.stdlib_module_names)


def test_no_flow_file_bears_a_package_name() -> None:
    stems = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert stems
    assert find_clashes(stems) == set()


def test_every_entrypoint_of_prefect_yaml_is_a_flow_file() -> None:
    """The test above judges the files that Prefect loads only as long as they lie right under
    flows/."""
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    paths = {ROOT / deployment["entrypoint"].split(":")[0] for deployment in deployments}
    assert paths <= set((ROOT / "flows").glob("*.py"))


def test_a_clash_is_seen() -> None:
    assert find_clashes({"schemas", "json", "pydantic", "factory"}) == {
        "schemas",
        "json",
        "pydantic",
    }
