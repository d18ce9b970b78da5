"""Sends messages through the queue, looks where they are, and takes them away again."""

from collections.abc import Callable
from pathlib import Path

from probing import Values, must_run, probe, report, run, want, want_closed

WORD = "probe-of-the-queue"


def send(v: Values, to: str, text: str, look: Callable[[Path], bool]) -> bool:
    """Whether the message is where it should be; whatever of it is left anywhere is removed."""
    spool = Path(f"/var/spool/{v['queue']}")
    letter = f"{WORD}\n{text}"
    must_run("/bin/sh", "-c", f"cat > {spool}/incoming/{WORD}", user=v["user"], stdin=f"To: {to}\n{letter}")
    try:
        must_run(f"/usr/local/bin/{v['queue']}", user=v["user"])
        return look(spool / "boxes")
    finally:
        for path in [*spool.rglob(f"*{WORD}*")]:
            path.unlink()


def want_limit(v: Values) -> None:
    """As many messages as may be taken at once, and nothing is taken any more."""
    stuck = [Path(f"/var/spool/{v['queue']}/active/{WORD}-{number}") for number in range(int(v["limit"]))]
    for each in stuck:
        each.touch()
    code, _ = run(f"/usr/local/bin/{v['queue']}", user=v["user"])
    for each in stuck:
        each.unlink()
    want(code != 0, f"more than {v['limit']} messages are taken at once")


@probe
def delivers(v: Values) -> None:
    want(send(v, "all", "x", lambda boxes: (boxes / f"all-{WORD}").is_file()), "a message to all is not in its box")
    want_limit(v)
    want_closed(f"/usr/local/bin/{v['queue']}", "root:root", "755")
    for name in ("incoming", "active"):
        want_closed(f"/var/spool/{v['queue']}/{name}", f"{v['user']}:{v['user']}", "750")


@probe
def right(v: Values) -> None:
    want(
        send(v, v["name"], "x", lambda boxes: (boxes / f"{v['box']}-{WORD}").is_file()),
        f"a message to {v['name']} is not where it should be",
    )
    want_closed(f"/etc/{v['queue']}/people", "root:root", "644")


@probe
def large(v: Values) -> None:
    most = int(v["size"]) - len(f"{WORD}\n")
    want(send(v, "all", "x" * most, lambda boxes: (boxes / f"all-{WORD}").is_file()), f"a message of {v['size']} letters is not delivered")
    want(
        not send(v, "all", "x" * (most + 1), lambda boxes: (boxes / f"all-{WORD}").is_file()), "a longer message is delivered all the same"
    )
    want_closed(f"/etc/{v['queue']}/settings", "root:root", "644")


@probe
def refuses(v: Values) -> None:
    want(send(v, "nobody", "x", lambda boxes: (boxes / f"returned-{WORD}").is_file()), "a message to nobody does not come back")


report()
