"""Asks the name server over UDP."""

import socket
import struct

from probing import Bad, Values, probe, report, want, want_closed, want_loopback

A, CNAME, MX = 1, 5, 15


def ask(v: Values, name: str, kind: int = A) -> tuple[int, list[bytes]]:
    """Response code, and the data of each answer of that kind."""
    spelled = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(2)
        line.connect(("127.0.0.1", int(v["port"])))
        line.send(struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + spelled + struct.pack("!2H", kind, 1))
        answer = line.recv(4096)
    _, flags, _, count, _, _ = struct.unpack("!6H", answer[:12])
    place, found = 12 + len(spelled) + 4, []
    for _ in range(count):
        while answer[place] and answer[place] < 192:
            place += answer[place] + 1
        place += 2 if answer[place] else 1
        sort, _, _, length = struct.unpack("!2HIH", answer[place : place + 10])
        if sort == kind:
            found.append(answer[place + 10 : place + 10 + length])
        place += 10 + length
    return flags & 15, found


def find(v: Values, name: str) -> str:
    code, found = ask(v, name)
    if code or not found:
        raise Bad(f"{name} is not found (code {code})")
    return socket.inet_ntoa(found[0])


@probe
def address(v: Values) -> None:
    seen = find(v, f"{v['host']}.{v['zone']}")
    want(seen == v["address"], f"{v['host']} is at {seen}")
    want_loopback(v["port"], "udp")
    want_closed(f"/etc/{v['zone']}/dnsmasq.conf", "root:root", "644")


@probe
def alias(v: Values) -> None:
    seen = find(v, f"{v['alias']}.{v['zone']}")
    want(seen == v["address"], f"{v['alias']} is at {seen}")
    want(ask(v, f"{v['alias']}.{v['zone']}", CNAME)[1], f"{v['alias']} is no alias")


@probe
def unknown(v: Values) -> None:
    code, _ = ask(v, f"nobody.{v['zone']}")
    want(code == 3, f"a name that does not exist is answered with code {code}")


@probe
def mail(v: Values) -> None:
    _, found = ask(v, v["zone"], MX)
    want(found and found[0][2:7] == b"\x04post", "the zone's mail server is not post")


@probe
def whole(v: Values) -> None:
    seen = [find(v, f"{name}.{v['zone']}") for name in ("gate", "post", v["host"])]
    want(seen[:2] == ["10.0.0.1", "10.0.0.2"], f"gate and post are at {seen[:2]}")
    want_closed(f"/etc/{v['zone']}/hosts", "root:root", "644")


report()
