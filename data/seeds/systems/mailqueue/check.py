"""Sends messages through the queue, looks where they are, and takes them away again."""

from collections.abc import Callable
from pathlib import Path

from probing import Values, must_run, probe, report, want

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


@probe
def delivers(v: Values) -> None:
    want(send(v, "all", "x", lambda boxes: (boxes / f"all-{WORD}").is_file()), "a message to all is not in its box")


@probe
def right(v: Values) -> None:
    want(
        send(v, v["name"], "x", lambda boxes: (boxes / f"{v['box']}-{WORD}").is_file()),
        f"a message to {v['name']} is not where it should be",
    )


@probe
def large(v: Values) -> None:
    want(send(v, "all", "x" * 2000, lambda boxes: (boxes / f"all-{WORD}").is_file()), "a message of 2,000 letters is not delivered")


@probe
def refuses(v: Values) -> None:
    want(send(v, "nobody", "x", lambda boxes: (boxes / f"returned-{WORD}").is_file()), "a message to nobody does not come back")


report()
