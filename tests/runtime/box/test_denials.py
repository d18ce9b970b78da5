"""A box's filter, over every number of each architecture, and the table of names beside the one
this machine's kernel has."""

import platform
import re
from pathlib import Path

import pytest

from envmill.runtime.box.denials import DENIED, emit
from envmill.runtime.jail.calls import name_calls
from envmill.runtime.jail.seccomp import SESSION
from envmill.runtime.jail.seccomp import emit as emit_session
from tests.runtime.jail.test_seccomp import ALLOW, AUDIT, ENOSYS, EPERM, KILL, decide

RULED = {"clone", "clone3", "socket", "socketpair"}
HIGHEST = 2048
"""Numbers that are tried. Linux 7.0 has none above 480."""
HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm/unistd_64.h"),
)


@pytest.mark.parametrize("machine", AUDIT)
def test_a_number_without_a_name_does_not_exist(machine: str) -> None:
    names, code = name_calls(machine), emit(machine)
    told = {number: decide(code, AUDIT[machine], number) for number in range(HIGHEST)}
    assert {
        number for number, said in told.items() if said == ALLOW and number not in names
    } == set()
    assert {told[number] for number in range(HIGHEST) if number not in names} == {ENOSYS}
    assert {name for number, name in names.items() if told[number] == EPERM} == (
        DENIED & set(names.values())
    ) | {"socket", "socketpair"}
    assert {name for number, name in names.items() if told[number] == ENOSYS} == {"clone3"}


@pytest.mark.parametrize("machine", AUDIT)
def test_a_number_without_a_name_is_denied_in_the_jail(machine: str) -> None:
    names, code = name_calls(machine), emit_session(SESSION, machine)
    allowed = {number for number in range(HIGHEST) if decide(code, AUDIT[machine], number) == ALLOW}
    assert {names.get(number) for number in allowed} <= set(SESSION)
    assert decide(code, AUDIT[machine], HIGHEST) == EPERM


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize("name", ["socket", "socketpair"])
def test_families_of_sockets_are_four(machine: str, name: str) -> None:
    numbers = {called: number for number, called in name_calls(machine).items()}
    code = emit(machine)
    said = {
        family: decide(code, AUDIT[machine], numbers[name], (family, 1)) for family in range(64)
    }
    assert {family for family, told in said.items() if told == ALLOW} == {1, 2, 10, 16}
    assert set(said.values()) == {ALLOW, EPERM}


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (0x01200011, ALLOW),
        (0x003D0F00, ALLOW),
        (0x10000000, EPERM),
        (0x80, EPERM),
        (0x02000000, EPERM),
    ],
)
def test_processes_and_threads_are_made_and_no_namespaces(
    machine: str, flags: int, said: int
) -> None:
    numbers = {called: number for number, called in name_calls(machine).items()}
    assert decide(emit(machine), AUDIT[machine], numbers["clone"], (flags,)) == said


def test_the_second_numbering_of_x86_64_is_shut() -> None:
    assert decide(emit("x86_64"), AUDIT["x86_64"], 0x40000000) == KILL
    assert decide(emit("x86_64"), 0x40000003, 0) == KILL


def test_the_filter_fits_the_kernels_limit() -> None:
    assert all(len(emit(machine)) // 8 < 4096 for machine in AUDIT)


def test_names_have_the_numbers_of_this_machines_header() -> None:
    header = next((path for path in HEADERS if path.exists()), None)
    if platform.machine() != "x86_64" or header is None:
        pytest.skip("no header of x86_64's system calls here")
    theirs = {
        int(number): name
        for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header.read_text())
    }
    ours = name_calls("x86_64")
    assert len(theirs) > 300
    assert {
        number: name for number, name in theirs.items() if number < 463 and ours.get(number) != name
    } == {}
