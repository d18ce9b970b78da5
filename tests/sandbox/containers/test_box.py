"""A box: its shell stays, its frames cannot be forged, its files branch, and what is taken is
bounded."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import CachedImage, Container, ContainerLimits, lend
from envmill.sandbox.containers.box import Boxes
from tests.sandbox.containers.attacks import ATTACKS, UNDONE, WRITES, withstand

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box(boxes: Boxes, small: CachedImage) -> AsyncGenerator[Container]:
    async with lend(
        boxes, small, limits=ContainerLimits(memory=128 << 20, processes=48, disk=16 << 20)
    ) as container:
        yield container


async def test_the_shell_stays(box: Container) -> None:
    await box.shell("cd /tmp; A=3; f() { echo f; }; sleep 100 &")
    assert (await box.shell("echo $A $PWD; f; jobs")).text.splitlines()[:2] == ["3 /tmp", "f"]
    assert (await box.shell("kill %1; (exit 5)")).code == 5


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_command_breaks_no_frame(box: Container, name: str) -> None:
    await withstand(box, name)


async def test_much_output_is_cut_in_the_middle_and_says_so(box: Container) -> None:
    ran = await box.shell("echo first; yes | head -c 30000000; echo last", cap=2000)
    assert (ran.outcome, len(ran.output), ran.left_out) == ("done", 2000, 30_000_011 - 2000)
    assert ran.text.startswith("first\n")
    assert ran.text.endswith("y\nlast\n")


async def test_a_shell_that_tells_what_it_does_tells_nothing_of_ours(box: Container) -> None:
    told = [(await box.shell("set -x; echo a")).text, (await box.shell("set +x; exit")).text]
    assert "echo a\na\n" in told[0]
    assert not any("builtin" in text for text in told)


async def test_background_jobs_are_shown_with_the_next_command(box: Container) -> None:
    assert (await box.shell("(sleep 0.1; echo late) & echo now")).text == "now\n"
    assert (await box.shell("wait; echo then")).text == "late\nthen\n"


async def test_a_program_beside_the_shell_has_nothing_of_it(box: Container) -> None:
    await box.shell("export PATH=/tmp LD_PRELOAD=/tmp/x; cat() { echo forged; }")
    assert (await box.run(["cat"], given=b"given")).output == b"given"
    assert (await box.run(["bash", "-c", "kill -9 $$"])).code == -9
    assert (
        await box.run(["bash", "-c", "sleep 100 & sleep 100"], seconds=0.2)
    ).outcome == "timeout"
    assert (await box.run(["nothing"])).code == 127
    assert (await box.run(["id"], user="eve")).code == 127
    await box.shell("exit")


async def test_files_go_in_and_out(box: Container) -> None:
    assert (await box.put("/new/place/a", b"\x00one", mode=0o750)).content is not None
    assert (await box.get("/new/place/a")).content == b"\x00one"
    assert (await box.shell("stat -c %a:%U /new/place/a; mkfifo /f /t")).text == "750:root\n"
    assert [(await box.get(path)).code for path in ("/none", "/etc", "/f", "/dev/zero")] == [
        "ENOENT",
        "EISDIR",
        "EISDIR",
        "EISDIR",
    ]
    assert (await box.get("/new/place/a", cap=2)).code == "EFBIG"
    assert (await box.put("/t", b"two")).content  # in place of the pipe that waits there
    assert [(await box.put(path, b"")).code for path in ("/etc", "/etc/motd/x")] == [
        "EISDIR",
        "EEXIST",
    ]


async def test_users_are_others_than_outside(
    boxes: Boxes, box: Container, small: CachedImage
) -> None:
    if boxes.condition.weak:
        pytest.skip(boxes.condition.weak[0])
    async with lend(boxes, small, user="ada") as container:
        assert (await container.shell("id -u; cd; echo $PWD; echo x > /etc/motd")).text.startswith(
            "1000\n/home/ada\n"
        )
        assert (await container.get("/etc/motd")).content == b"calm\n"
    async with lend(boxes, small, user="nobody-there") as container:
        with pytest.raises(SandboxError, match="nobody-there"):
            await container.shell(":")


async def test_what_is_taken_is_bounded(boxes: Boxes, box: Container, small: CachedImage) -> None:
    """And the neighbour is answered all the while."""
    async with lend(boxes, small) as neighbour:
        assert "No space left" in (await box.shell("dd if=/dev/zero of=/fill bs=1M count=64")).text
        assert (await box.put("/more", bytes(1 << 20))).code == "ENOSPC"
        assert (await neighbour.shell("echo calm")).text == "calm\n"
        await box.shell("rm /fill; bomb() { bomb | bomb & }; bomb")
        assert (await neighbour.shell("echo calm")).text == "calm\n"
        await box.quell()
        assert (await box.shell("echo calm")).text == "calm\n"
        if not any("memory" in one for one in boxes.condition.weak):
            assert (await box.shell("x=a; while :; do x=$x$x; done")).outcome == "ended"
        assert (await neighbour.shell("echo calm")).text == "calm\n"


async def test_files_branch(boxes: Boxes, small: CachedImage) -> None:
    async with lend(boxes, small) as first:
        await first.shell(
            "echo mine > /etc/motd; rm -r /home; mkdir /home; ln -s motd /etc/link; mkdir /d; "
            "touch /d/a; ln /d/a /d/b; rm /bin/yes"
        )
        layer = await first.snapshot()
        await first.shell("echo later > /etc/motd")
        changes = {change.path: change.kind for change in await first.changes()}
        assert (
            changes
            | {"/etc/link": "link", "/bin/yes": "removed", "/d/b": "file", "/home": "folder"}
            == changes
        )
        async with lend(boxes, small, layer=layer) as second:
            assert (
                await second.shell("cat /etc/link; ls /home; stat -c %h /d/a; ls /bin/yes")
            ).text.startswith("mine\n2\n")
            assert await second.changes() == []
            await second.shell("rm -r /d; echo second > /etc/motd")
            deeper = await second.snapshot()
        await first.reset(deeper)
        await boxes.forget(deeper)
        await boxes.forget(layer)
        assert (await first.shell("cat /etc/motd; ls -d /d")).text.startswith("second\nls: ")
    with pytest.raises(SandboxError, match="up"):
        await boxes.up(small, layer=layer)


async def test_a_broken_container_is_an_error_and_no_answer(
    boxes: Boxes, small: CachedImage
) -> None:
    container = await boxes.up(small)
    await boxes.ask({"op": "down", "name": container._name})  # pyright: ignore[reportPrivateUsage]
    for ask in (
        lambda: container.shell("true"),
        lambda: container.run(["true"]),
        lambda: container.get("/etc/motd"),
    ):
        with pytest.raises(SandboxError, match="retry"):
            await ask()
    await container.down()
    with pytest.raises(SandboxError, match="start another"):
        await container.shell("true")


async def test_a_copy_has_the_files_and_nothing_of_what_passes(
    boxes: Boxes, small: CachedImage
) -> None:
    async with lend(boxes, small) as first:
        await first.shell(
            "mkdir -p /tmp/a /var/x; echo 1 >/tmp/a/b; echo 1 >/var/x/kept; ln -s /var/x /root; "
            "echo 1 >/run/r; sleep 100 &"
        )
        copy = await first.copy(["/tmp", "/root"])
        told = (
            await copy.run(
                [
                    "/bin/bash",
                    "-c",
                    "cd /; echo /tmp/* /var/x/* /run/r*; [ -L /root ]; echo $?; ls -d /proc/[0-9]*",
                ]
            )
        ).text
        assert told.splitlines()[:2] == ["/tmp/* /var/x/kept /run/r*", "1"]
        assert "sleep" not in told
        await copy.down()
        assert (await first.shell("cat /tmp/a/b; kill %1 && echo runs")).text == "1\nruns\n"


async def test_a_sealed_box_is_written_to_where_it_works_alone(
    boxes: Boxes, small: CachedImage
) -> None:
    async with lend(boxes, small) as box:
        await box.shell("mkdir -p /etc/own /usr /lib /srv /var /root; ln -s /usr /etc/link")
        everywhere = (await box.shell(WRITES)).text.split()
        await box.seal(["/etc/own", "/etc/link", "/etc/none"])
        assert (await box.shell(WRITES)).text.split() == [
            "/etc/own/a",
            "/var/a",
            "/srv/a",
            "/root/a",
        ]
        assert (
            await box.shell(f"({UNDONE}) 2>/dev/null; ls -d /nonexistent /other /x 2>/dev/null")
        ).text == ""
    assert len(everywhere) == 9


async def test_a_full_box_says_where_it_is_full(boxes: Boxes, small: CachedImage) -> None:
    async with lend(boxes, small, limits=ContainerLimits(disk=8 << 20)) as box:
        assert await box.list_full(["/run", "/tmp"], 1 << 20) == []
        await box.shell("head -c 16m /dev/zero >/run/full; head -c 9m /dev/zero >/tmp/full")
        assert await box.list_full(["/run", "/tmp"], 1 << 20) == ["/run", "/tmp"]


HOLDS = 20
"""Times that somebody who wakes all others is held: what it sent last may arrive after that."""
WAKES = "(trap '' CONT; while :; do kill -CONT -1; done) &"


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("wakers", [0, 1, 24])
async def test_a_box_stands_still_while_it_is_held(
    boxes: Boxes, small: CachedImage, wakers: int
) -> None:
    async with lend(boxes, small) as box:
        await box.shell(f"(while :; do echo x >>/tmp/n; done) & {WAKES * wakers}")
        await box.run(["/bin/bash", "-c", "until [ -s /tmp/n ]; do sleep 0.05; done"])
        for _ in range(HOLDS):
            await box.hold()
            sizes = [
                (await box.run(["/bin/bash", "-c", "stat -c %s /tmp/n"])).text for _ in range(3)
            ]
            await box.release()
            assert len(set(sizes)) == 1
        later = (await box.run(["/bin/bash", "-c", "sleep 0.2; stat -c %s /tmp/n"])).text
        assert int(later) > int(sizes[0])
