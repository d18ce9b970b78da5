"""What was written over a ground tells the same as a list of every file, whatever was done to files
and folders."""

import pytest

from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import TRUSTED, read_trusted
from envmill.sandbox.machines.frame import BaseListing, list_frame, list_ground
from envmill.sandbox.machines.machine import Containers, check_health, pack_library, set_up
from tests.kinds.terminal.breaking.conftest import containers

__all__ = ["containers"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHARE = load_system("share")
DEEDS = (
    "echo x >>/srv/survey/README; touch /srv/survey/plans/year.txt; chmod 600 "
    "/usr/local/bin/survey-post; chown bo /srv/survey/drop",
    "chmod 600 /etc/hosts; echo x >>/etc/passwd; touch /etc/debian_version",
    "rm /etc/issue; rm -rf /usr/share/perl5; ln -sf /etc/passwd /etc/os-release",
    "mv /usr/games /usr/played; mv /etc/skel /srv/skel; mv /srv/skel /etc/skel",
    "rm -rf /etc/cron.d; mkdir /etc/cron.d; echo new >/etc/cron.d/new; rm -rf /etc/opt; echo "
    "file >/etc/opt",
    "mkdir -p /opt/a/b/c; echo 1 >/opt/a/b/c/d; printf x >$'/opt/line\\nfeed\\tand \\xff'; "
    "mkfifo /opt/fifo; ln /etc/hosts /opt/hosts",
    "echo 1 >/tmp/unseen; echo 1 >/run/unseen; echo 1 >/var/tmp/unseen; rm -rf /srv; mkdir /srv",
)


async def _take_ground(container: Container) -> BaseListing:
    return await list_ground(container, SHARE, await read_trusted(container, {}), b"")


@pytest.mark.long
async def test_both_lists_say_the_same_after_each_deed(containers: Containers) -> None:
    async with containers() as container:
        ground = await _take_ground(container)
        await set_up(container, SHARE)
        before = await list_frame(container, SHARE)
        for deed in DEEDS:
            await container.run(["/bin/bash", "-c", deed])
            whole, over = (
                await list_frame(container, SHARE),
                await list_frame(container, SHARE, ground),
            )
            assert over.ground is ground.frame, deed
            assert len(over.own) < 2000
            assert over.find_changed(whole) == [], deed
            assert before.find_changed(whole) != [], deed


async def test_more_changes_than_are_told_are_listed_whole(containers: Containers) -> None:
    async with containers() as container:
        ground = await _take_ground(container)
        await container.run(
            ["/bin/bash", "-c", "mkdir /opt/many; cd /opt/many; seq 9000 | xargs -n 500 touch"]
        )
        assert (await list_frame(container, SHARE, ground)).ground == {}


async def test_a_program_is_read_again_once_it_was_touched(containers: Containers) -> None:
    async with containers() as container:
        known = await read_trusted(container, {})
        again = await container.digest(TRUSTED, {path: each.mark for path, each in known.items()})
        assert {each.content for each in again.values()} == {""}
        await container.run(
            [
                "/bin/bash",
                "-c",
                "cp -p --remove-destination /bin/cat /bin/bash.new; mv /bin/bash.new /bin/bash; "
                "rm /etc/ld.so.cache",
            ]
        )
        after = await read_trusted(container, known)
        assert [path for path in known if after.get(path) != known[path]] == [
            "/bin/bash",
            "/etc/ld.so.cache",
        ]


async def test_a_check_imports_from_the_packed_library_alone(containers: Containers) -> None:
    async with containers() as container:
        library = await pack_library(container)
        await set_up(container, SHARE)
        forge = (
            "for name in json subprocess typing; do echo 'raise SystemExit' >$name.py; done; rm "
            "-rf json"
        )
        await container.run(["/bin/bash", "-c", f"cd /usr/lib/python3.11; {forge}"])
        assert set((await check_health(container, SHARE, library)).values()) == {""}


IMPORTS = """
import http.server
import urllib.error
import urllib.request
from email.mime.text import MIMEText
from probing import probe, report, want


@probe
def answers(v):
    from xml.etree import ElementTree

    want(ElementTree.fromstring("<a b='c'/>").get("b") == "c", "no tree")
    want(MIMEText("x").get_content_type() == "text/plain", "no text")
    try:
        urllib.request.urlopen("http://127.0.0.1:9/", timeout=1)
    except urllib.error.URLError as error:
        want("refused" in str(error), str(error))


report()
"""


@pytest.mark.parametrize("held", [True, False])
async def test_a_check_may_import_any_module_of_the_library(
    containers: Containers, held: bool
) -> None:
    """A package of which the archive held a part hid the rest of it; what a probe imports late must
    be there when the disk is shut."""
    async with containers() as container:
        library = await pack_library(container)
        if held:
            await container.hold()
        assert await check_health(container, SHARE._replace(check=IMPORTS), library, held=held) == {
            "answers": ""
        }
