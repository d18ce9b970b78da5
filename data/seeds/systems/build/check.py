"""Whether a fresh copy of the directory builds, and the program is right."""

import shutil
import tempfile
from pathlib import Path

from probing import Bad, Values, must_run, probe, report, run, want, want_closed

BUILT: list[str] = []


def build(v: Values) -> str:
    """Once for all probes; what went wrong is said by each."""
    if not BUILT:
        folder = f"{tempfile.mkdtemp(dir='/tmp')}/{v['tool']}"
        built = shutil.ignore_patterns("*.o", "version.h", v["tool"])  # whoever mends it tries it where it stands
        shutil.copytree(f"/srv/{v['tool']}", folder, symlinks=True, ignore=built)
        code, said = run("make", "-s", folder=folder)
        BUILT.extend([folder, "" if code == 0 else said.strip()[-200:]])
    if BUILT[1]:
        raise Bad(f"make: {BUILT[1]}")
    return BUILT[0]


@probe
def builds(v: Values) -> None:
    want(Path(build(v), v["tool"]).is_file(), "make gives no program")
    for name in ("Makefile", "main.c"):
        want_closed(f"/srv/{v['tool']}/{name}", "root:root", "644")


@probe
def works(v: Values) -> None:
    said = must_run(f"{build(v)}/{v['tool']}", "3")
    want(said.strip() == str(3 * int(v["factor"])), f"3 becomes {said.strip()}")
    want_closed(f"/srv/{v['tool']}/scale.c", "root:root", "644")


@probe
def version(v: Values) -> None:
    said = must_run(f"{build(v)}/{v['tool']}", "--version")
    want(said.strip() == f"{v['tool']} {v['version']} (headers {v['new']})", f"the version is {said.strip()}")
    want_closed(f"/srv/{v['tool']}/VERSION", "root:root", "644")
    want_closed(f"/srv/{v['tool']}/stamp.sh", "root:root", "755")


@probe
def again(v: Values) -> None:
    folder = build(v)
    header = Path(folder, f"include/v{v['new']}/scale.h")
    header.write_text(header.read_text().replace(f"HEADERS {v['new']}", "HEADERS 99"))
    must_run("touch", "-d", "+2 seconds", str(header))
    must_run("make", "-s", folder=folder)
    said = must_run(f"{folder}/{v['tool']}", "--version")
    want("headers 99" in said, "a changed header is not built in")


report()
shutil.rmtree(str(Path(BUILT[0]).parent) if BUILT else "/tmp/nothing", ignore_errors=True)
