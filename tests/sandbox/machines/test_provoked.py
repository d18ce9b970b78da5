"""What an agent does to the files on purpose: no error comes of it, no word of the check, and no
pay."""

import pytest

from envmill.base.errors import SandboxError
from envmill.kinds.terminal.breaking.judging import decide
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import (
    Baseline,
    Examination,
    examine,
    take_ground,
    take_reference,
)
from envmill.sandbox.machines.frame import list_frame
from envmill.sandbox.machines.machine import Containers, check_health, set_up
from envmill.sandbox.machines.starting import render_state
from schemas.system import MachineState
from tests.kinds.terminal.breaking.conftest import containers
from tests.soak import count

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHARE = load_system("share")
DEEP = (
    "python3 - <<'END'\nimport os\nos.chdir('/home')\nfor n in range(%d):\n    os.mkdir('d'); "
    "os.chdir('d')\nEND"
)
OVERWHELM = {
    "a file of any length": "truncate -s 100G /srv/survey/README",
    "a folder below a name that is too long": DEEP % 3000,
    "folders that nobody copies": DEEP % 1100,
}


async def _begin(container: Container) -> Baseline:
    ground = await take_ground(container, SHARE)
    await set_up(container, SHARE)
    return await take_reference(container, SHARE, ground)


async def _leave(containers: Containers, script: str) -> tuple[Examination, str]:
    """What is found after a script, and what lies in /root/loot then."""
    async with containers() as container:
        reference = await _begin(container)
        ran = await container.run(["/bin/bash", "-c", script])
        assert ran.code == 0, ran.text
        found = await examine(container, SHARE, [], reference)
        return found, ((await container.get("/root/loot")).content or b"").decode(
            "utf-8", "replace"
        )


@pytest.mark.long
@pytest.mark.parametrize("name", OVERWHELM)
async def test_files_that_cannot_be_read_are_a_change_and_no_error(
    containers: Containers, name: str
) -> None:
    found, _ = await _leave(containers, OVERWHELM[name])
    assert found.outside
    assert not found.lasting


LEFT = {
    "large and deep": "truncate -s 100G hole; mkdir -p $(printf 'd/%.0s' $(seq 150)); seq 3000 | xargs touch",
    "odd": "mkfifo p; ln -s / l; ln -s l m; python3 -c 'import socket; "
    'socket.socket(socket.AF_UNIX).bind("s")\'; '
    "touch $'a\\nb' $'\\xff' -- '-rf' 'a b' '*'; mkdir $'\\t'",
    "many": "seq 30000 | xargs touch",
    "much": "head -c 400M /dev/zero >full",
}


@pytest.mark.long
@pytest.mark.soak(area="terminal")
@pytest.mark.parametrize("name", [*LEFT][: count(2, len(LEFT))])
async def test_where_work_leaves_files_they_are_no_change(
    containers: Containers, name: str
) -> None:
    found, _ = await _leave(containers, f"cd /home; {LEFT[name]}")
    assert not found.outside
    assert set(found.left.values()) == set(found.lasting.values()) == {""}


STEAL = """
import posix
command = posix.open("/proc/self/cmdline", 0)
if b"given.json" in posix.read(command, 65536):
    posix.write(posix.open("/root/loot", posix.O_CREAT | posix.O_WRONLY), posix.pread(0, 1 << 22, 0))
"""
COMPILE = f"""
place=%s; mkdir -p $(dirname $place); export place; python3 - <<'END'
import importlib.util, marshal, os
source = {STEAL!r} + open("/usr/lib/python3.11/encodings/__init__.py").read()
flags = (1).to_bytes(4, "little") + bytes(8)  # nobody compares it with its source
open(os.environ["place"], "wb").write(importlib.util.MAGIC_NUMBER + flags + marshal.dumps(compile(source, "e", "exec")))
END
"""
PLACES = (
    "/nonexistent/usr/lib/python3.11/encodings/__init__.cpython-311.pyc",
    "/usr/lib/python3.11/encodings/__pycache__/__init__.cpython-311.pyc",
)


@pytest.mark.parametrize("place", PLACES)
async def test_the_judge_loads_nothing_that_was_compiled_for_it(
    containers: Containers, place: str
) -> None:
    found, loot = await _leave(containers, COMPILE % place)
    assert loot == ""
    assert bool(found.outside) == place.startswith("/nonexistent")


COMPILED = {"/opt/__pycache__/x.cpython-311.pyc": False, "/opt/__pycache__/x.cpython-311.opt-1.pyc": False, "/opt/__pycache__": False,
            "/opt/__pycache__/books.db": True, "/opt/__pycache__/x.pyc": True, "/opt/x.cpython-311.pyc": True,
            "/opt/__pycache__/a/x.cpython-311.pyc": True}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("path", COMPILED)
async def test_only_what_python_compiles_may_lie_in_its_folders(
    containers: Containers, path: str
) -> None:
    made = (
        f"mkdir -p {path}" if path.endswith("__") else f"mkdir -p $(dirname {path}); echo 1 >{path}"
    )
    found, _ = await _leave(containers, made)
    assert bool(found.outside) == COMPILED[path]


async def test_a_list_by_a_program_and_one_by_the_engine_end_at_the_same_depth(
    containers: Containers,
) -> None:
    async with containers() as container:
        reference = await _begin(container)
        for depth in (190, 210):
            await container.run(["/bin/bash", "-c", f"rm -rf /home/d; {DEEP % depth}"])
            for ground in (None, reference.ground):
                assert ("more" in (await list_frame(container, SHARE, ground)).own) == (depth > 200)


async def test_a_copy_takes_what_was_written_and_no_holes(containers: Containers) -> None:
    """Copies lie in the host's memory: a hole of any length costs its maker nothing."""
    write = (
        "cd /home; printf begin >x; truncate -s 2M x; printf middle >>x; truncate -s 1G x; : "
        ">none; head -c 100k /dev/urandom >full"
    )
    tell = "cd /home; stat -c '%n %s' *; head -c 3M x | sha256sum; sha256sum full none"
    async with containers() as container:
        assert (await container.run(["/bin/bash", "-c", write])).code == 0
        copy = await container.copy()
        there, here = [
            (await each.run(["/bin/bash", "-c", tell])).text for each in (copy, container)
        ]
        blocks = (await copy.run(["/usr/bin/stat", "-c", "%b", "/home/x"])).text
        await copy.down()
    assert there == here
    assert "x 1073741824" in there
    assert int(blocks) * 512 < 1 << 20


ENDS = """
import os, signal
from probing import probe, report


@probe
def told(v):
    if not os.access("/etc", os.W_OK):
        os.kill(os.getpid(), signal.SIGKILL)


report()
"""


async def test_no_report_after_a_restart_is_the_machines_fault(containers: Containers) -> None:
    """A service that kills the judge there would make an outage of what lost; its report of the
    machine as left was whole."""
    healthy = SHARE._replace(check=ENDS)
    async with containers() as container:
        found = await examine(container, healthy, [], await _begin(container))
    assert found.left == {"told": ""}
    assert list(found.lasting) == ["check"]
    assert decide(found).reason == "not_lasting"
    begun = MachineState(breaks=[], places=[])
    assert set(render_state(healthy, begun, found)["lasting"].values()) == {"unasked"}


async def test_a_machine_that_cannot_be_copied_is_an_error(
    containers: Containers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_(without: object) -> Container:
        raise SandboxError(f"The nursery is gone, and {without} with it.")

    async with containers() as container:
        reference = await _begin(container)
        monkeypatch.setattr(container, "copy", break_)
        with pytest.raises(SandboxError, match="nursery"):
            await examine(container, SHARE, [], reference)


LATER = """
import sys
from probing import fetch, probe, report, want


@probe
def loads(v):
    try:
        import judged
    except ImportError:
        want("encodings.idna" in sys.modules, "what a request imports would be looked for on the disk")
    else:
        want(False, "loaded")


report()
"""


@pytest.mark.parametrize("held", [True, False])
async def test_a_check_imports_nothing_from_the_disk_while_the_agents_processes_run(
    containers: Containers, held: bool
) -> None:
    """Where nothing was held, nothing of the agent's runs: the module is found."""
    async with containers() as container:
        await container.put("/usr/lib/python3.11/judged/__init__.py", b"")
        library = (await take_ground(container, SHARE)).library
        if held:
            await container.hold()
        assert await check_health(container, SHARE._replace(check=LATER), library, held=held) == {
            "loads": "" if held else "loaded"
        }


PLANT = """
import os, glob, time
place = "/usr/lib/python3.11/gzip"
while True:
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if b"given.json" in open(path, "rb").read() and not os.path.exists(place):
                os.mkdir(place)
                open(place + "/__init__.py", "w").write(%r)
        except OSError:
            pass
""" % (STEAL.replace("pread(0,", "pread(3,") + "\nraise ImportError")


async def test_a_module_that_is_there_while_the_judge_asks_is_not_loaded(
    containers: Containers,
) -> None:
    """The check of the backups opens an archive, for which the library imports `gzip` when it is
    needed."""
    healthy = load_system("backup")
    async with containers() as container:
        ground = await take_ground(container, healthy)
        await set_up(container, healthy)
        reference = await take_reference(container, healthy, ground)
        await container.put("/root/plant.py", PLANT.encode())
        await container.run(
            [
                "/usr/bin/setsid",
                "-f",
                "/bin/sh",
                "-c",
                "exec python3 /root/plant.py >/dev/null 2>&1 </dev/null",
            ]
        )
        found = await examine(container, healthy, [], reference)
        assert (await container.get("/root/loot")).content is None
    assert set(found.left.values()) == {""}


EXAM = """
import importlib
from pathlib import Path


def test_it_was_put_there():
    assert Path("/srv/survey/README").read_text(encoding="latin-1") == "no"


def test_the_library():
    import csv, tarfile
    from xml.etree import ElementTree
    assert ElementTree.fromstring("<a/>").tag == "a"
    assert csv.list_dialects() and tarfile.is_tarfile


def test_what_the_library_imports_late():
    import shutil, sqlite3, tarfile, zipfile
    from concurrent.futures import ThreadPoolExecutor
    from datetime import datetime
    from xml.dom import minidom
    place = Path("/tmp/exam")
    place.mkdir()
    (place / "a").write_text("x")
    with zipfile.ZipFile(place / "a.zip", "w") as archive:
        archive.write(place / "a", "a")
    assert zipfile.ZipFile(place / "a.zip").namelist() == ["a"]
    for mode in ("gz", "bz2", "xz"):
        with tarfile.open(place / f"a.{mode}", f"w:{mode}") as archive:
            archive.add(place / "a")
        assert tarfile.open(place / f"a.{mode}").getnames() == ["tmp/exam/a"]
    shutil.unpack_archive(shutil.make_archive(str(place / "b"), "zip", place, "a"), place / "c")
    assert list(sqlite3.connect(":memory:").iterdump()) == ["BEGIN TRANSACTION;", "COMMIT;"]
    assert minidom.parseString("<a/>").documentElement.tagName == "a"
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(str, 1).result() == "1"
    assert datetime.strptime("2026-03-02", "%Y-%m-%d").day == 2
    for codec in ("cp437", "cp850", "cp1251", "iso-8859-15", "utf-16", "utf-32", "utf-7"):
        assert "a".encode(codec).decode(codec) == "a"
    shutil.rmtree(place)


def test_the_disk():
    try:
        importlib.import_module("judged")
    except ImportError:
        return
    assert False, "loaded"
"""


@pytest.mark.long
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("packed", [True, False])
async def test_tests_are_asked_with_and_without_a_packed_library(
    containers: Containers, held: bool, packed: bool
) -> None:
    """Sessions that begin on a layer have one. While the agent's processes run, nothing is imported
    from the disk."""
    async with containers() as container:
        await container.put("/usr/lib/python3.11/judged/__init__.py", b"")
        library = (await take_ground(container, SHARE)).library
        await set_up(container, SHARE)
        if held:
            await container.hold()
        said = await check_health(
            container,
            SHARE._replace(exams={"test_final.py": EXAM}),
            library if packed else b"",
            "test_final.py",
            held=held,
        )
    assert [name for name, wrong in said.items() if not wrong] == [
        "test_the_library",
        "test_what_the_library_imports_late",
        *(["test_the_disk"] if held else []),
    ]
