"""The filters' bytes, run by a small interpreter of classic BPF: each architecture's numbers decide
as they must."""

import struct

import pytest

from envmill.runtime.jail.seccomp import SESSION, TEMPLATE, emit

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x50001, 0x50026, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decide(code: bytes, arch: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    at, register = 0, 0
    while True:
        operation, when_true, when_false, value = struct.unpack_from("<HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            register = struct.unpack_from("<I", data, value)[0]
        elif operation == 0x06:
            return value
        else:
            holds = {
                0x15: register == value,
                0x45: bool(register & value),
                0x35: register >= value,
            }[operation]
            at += when_true if holds else when_false


NUMBERS = {
    "x86_64": {
        "read": 0,
        "mmap": 9,
        "clone": 56,
        "clone3": 435,
        "denied": (257, 2, 41, 59, 62, 101, 272, 425, 321, 298, 4, 16),
    },
    "aarch64": {
        "read": 63,
        "mmap": 222,
        "clone": 220,
        "clone3": 435,
        "denied": (56, 198, 221, 129, 117, 97, 425, 280, 241, 79, 29),
    },
}


@pytest.mark.parametrize("machine", list(NUMBERS))
def test_decisions(machine: str) -> None:
    arch, numbers = AUDIT[machine], NUMBERS[machine]
    session, template = emit(SESSION, machine), emit(TEMPLATE, machine)
    for code in (session, template):
        assert decide(code, arch, numbers["read"]) == ALLOW
        assert decide(code, arch, numbers["clone3"]) == ENOSYS
        assert decide(code, arch, numbers["mmap"], (0, 4096, 3)) == ALLOW
        assert decide(code, arch, numbers["mmap"], (0, 4096, 7)) == EPERM
        assert {decide(code, arch, number) for number in numbers["denied"]} == {EPERM}
        assert decide(code, 0x40000003, numbers["read"]) == KILL
    assert decide(template, arch, numbers["clone"], (0x01200011,)) == ALLOW
    assert decide(template, arch, numbers["clone"], (0x003D0F00,)) == EPERM
    assert decide(session, arch, numbers["clone"], (0x01200011,)) == EPERM


def test_the_second_numbering_of_x86_64_is_shut() -> None:
    assert decide(emit(SESSION, "x86_64"), AUDIT["x86_64"], 0x40000000) == KILL


def test_the_filter_fits_the_kernels_limit() -> None:
    assert all(len(emit(TEMPLATE, machine)) // 8 < 4096 for machine in AUDIT)
