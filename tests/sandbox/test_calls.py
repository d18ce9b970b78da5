"""Every number of a system call, asked of the kernel that runs here by a program in the jail."""

import platform

import pytest

from envmill.runtime.jail.calls import name_calls
from envmill.runtime.jail.seccomp import SESSION
from envmill.sandbox import Reset, Sandbox
from tests.hostile.corpus.base import Attack
from tests.sandbox.programs import CLOCK, invoke, make_program

SWEEP = """
reached = []
for number in NUMBERS:
    ctypes.set_errno(0)
    said = libc.syscall(number, -1, -1, -1, -1, -1, -1)
    if (said, ctypes.get_errno()) not in ((-1, errno.EPERM), (-1, errno.ENOSYS)):
        reached.append([number, said, ctypes.get_errno()])
return reached
"""
QUIET = {"getpid", "getppid", "gettid"}
"""They answer 0, whatever the process."""
UNFILTERED = {335, 336}
"""x86_64: uretprobe and uprobe, which the kernel passes by every filter. They serve probes that
root has set; 335 ends its caller."""


async def test_no_call_outside_the_list_is_answered(jail: Sandbox) -> None:
    machine = platform.machine()
    names = name_calls(machine)
    numbers = [number for number in range(640) if names.get(number) not in SESSION]
    if machine == "x86_64":
        numbers = [number for number in numbers if number not in UNFILTERED]
    body = SWEEP.replace("NUMBERS", repr(numbers))
    source = Attack(body, (), "true").source.replace("self, port, path, name", "self")
    program = make_program(source, "World", "attack")
    _, swept = await jail.play(program, [Reset({"count": 0}, CLOCK, 7), invoke("attack")])
    assert swept.outcome == "ok", swept
    reached = swept.parts[0].get("value", [])
    assert {names.get(number) for number, said, _ in reached if said == 0} <= QUIET
    assert [each for each in reached if each[1] != 0] == []


async def test_the_sweep_sees_what_is_answered(jail: Sandbox) -> None:
    numbers = {name: number for number, name in name_calls(platform.machine()).items()}
    source = Attack(
        SWEEP.replace("NUMBERS", repr([numbers["close"], numbers["lseek"]])), (), "true"
    ).source
    program = make_program(source.replace("self, port, path, name", "self"), "World", "attack")
    _, swept = await jail.play(program, [Reset({"count": 0}, CLOCK, 7), invoke("attack")])
    assert len(swept.parts[0]["value"]) == 2


TELLING = ["getpid", "getppid", "gettid", "sysinfo", "getrandom"]
"""By their answers two sessions of one seed differ."""


@pytest.mark.parametrize(
    "name",
    [
        "socket",
        "ptrace",
        "execve",
        "openat",
        "bpf",
        "io_uring_setup",
        "userfaultfd",
        "keyctl",
        "vmsplice",
        "memfd_create",
        *TELLING,
    ],
)
def test_what_is_asked_for_in_attacks_is_not_in_the_list(name: str) -> None:
    assert name not in SESSION


TELLING_BODY = """
room = ctypes.create_string_buffer(512)
return [[libc.syscall(number, room, 8, 0), room.raw[:16].hex()] for number in NUMBERS]
"""


async def test_no_call_tells_sessions_apart(jail: Sandbox) -> None:
    numbers = {name: number for number, name in name_calls(platform.machine()).items()}
    source = Attack(
        TELLING_BODY.replace("NUMBERS", repr([numbers[name] for name in TELLING])), (), "true"
    ).source
    program = make_program(source.replace("self, port, path, name", "self"), "World", "attack")
    told = [
        (await jail.play(program, [Reset({"count": 0}, CLOCK, 7), invoke("attack")]))[1].parts
        for _ in range(3)
    ]
    assert told[0][0]["value"] == [[0, "00" * 16]] * 3 + [[-1, "00" * 16]] * 2
    assert told[1] == told[2] == told[0]


@pytest.mark.parametrize("module", ["ctypes", "_ctypes"])
async def test_a_program_does_not_import_the_c_library(jail: Sandbox, module: str) -> None:
    source = (
        "class World:\n    def __init__(self, state): pass\n    def look(self):\n        import "
        f"{module}\n        return 1\n"
    )
    _, looked = await jail.play(
        make_program(source, "World", "look"), [Reset({}, CLOCK, 7), invoke("look")]
    )
    assert "No module named" in looked.message, looked
