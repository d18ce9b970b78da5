"""What commands may do to their shell, and what must come of it, in whatever engine."""

from dataclasses import dataclass

from envmill.sandbox.containers import Container
from envmill.sandbox.containers.base import Outcome


@dataclass(frozen=True)
class Attack:
    """A command, and its answer."""

    command: str
    outcome: Outcome = "done"
    code: int | None = 0
    alive: bool = True
    shown: str = ""
    """Text that the output holds."""
    seconds: float = 20.0
    """Deadline; short where it is the deadline that is tried."""


ATTACKS: dict[str, Attack] = {
    "binary": Attack("printf '\\xff\\x00\\xfe'", shown="\x00"),
    "open_quote": Attack("'", code=2),
    "open_if": Attack("if true; then", code=2),
    "heredoc_without_end": Attack("cat <<X\nhe're \"doc", shown="he're"),
    "break_and_return": Attack("break; continue; return 3", code=2),
    "exit": Attack("exit 7", "ended", 7, alive=False),
    "errexit": Attack("set -e; false", "ended", 1, alive=False),
    "noexec": Attack("set -n", "timeout", None, alive=False, seconds=0.3),
    "exec": Attack("exec true", "ended", 0, alive=False),
    "kill_itself": Attack("kill -9 $$", "ended", -9, alive=False),
    "stop_itself": Attack("kill -STOP $$", "timeout", None, alive=False, seconds=0.3),
    "close_all": Attack(
        'for i in {0..255}; do eval "exec $i<&-"; done 2>/dev/null; true', "ended", 2, alive=False
    ),
    "shadow_builtins": Attack(
        "printf() { echo 0 0; }; builtin() { echo 0 0; }", "timeout", None, alive=False, seconds=0.3
    ),
    "forge_through_proc": Attack("(echo deadbeef 0 > /proc/$$/fd/10) 2>/dev/null", code=1),
    "kill_the_keeper": Attack("kill -9 1; kill -TERM 1; kill -INT 1; true"),
    "look_into_the_keeper": Attack(
        "cat /proc/1/environ /proc/1/mem; echo forged > /proc/1/fd/1", code=1, shown="ermission"
    ),
    "see_the_keeper": Attack("tr '\\0' ' ' < /proc/1/cmdline", shown="init "),
    "never_end": Attack("while :; do :; done", "timeout", None, alive=False, seconds=0.3),
    "wait_for_ever": Attack("sleep 1000 | cat", "timeout", None, seconds=0.3),
    "wait_out_of_session": Attack("setsid -w sleep 1000", "timeout", None, seconds=0.3),
}


async def withstand(container: Container, name: str) -> None:
    """The attack has its outcome, and the next command is answered as if nothing had been."""
    attack = ATTACKS[name]
    ran = await container.shell(attack.command, seconds=attack.seconds)
    assert (ran.outcome, ran.code, ran.alive) == (attack.outcome, attack.code, attack.alive), (
        name,
        ran,
    )
    assert attack.shown in ran.text, (name, ran)
    after = await container.shell("unset -f printf builtin; echo calm")
    assert (after.outcome, after.code) == ("done", 0), (name, after)
    assert after.text == "calm\n", (name, after)


WRITES = (
    "for each in /etc/a /etc/own/a /usr/a /bin/a /lib/a /a /var/a /srv/a /root/a; do { echo 1 "
    ">$each; } 2>/dev/null && echo $each; done"
)
"""Tells where it can write."""
UNDONE = (
    "mount -o remount,rw / || umount -l / || mv /lib /other || mkdir /nonexistent || python3 -c "
    "'import os; os.mkdir(\"/x\")'"
)
"""Tries to write where a sealed container is shut."""
