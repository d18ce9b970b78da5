"""A hostile program: one method body, what it may end in under the layers, and what it gets where
there are none.

Bodies run in the jail, or bare in a throwaway container, and nowhere else. `port`, `path` and
`name` lead to things the test watches from outside. A body returns true exactly when it got what it
wanted.
"""

from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Any, Literal

Harm = Literal["true", "hangs", "dies", "floods", "multiplies", "unfit", "forged", "poisons"]
"""What a bare runner suffers: the body returned true; no answer came; the process was gone; more
bytes came than a runner wants; there were more processes than one; what came is no JSON; an answer
came that the program never returned; the next session was not clean."""


@dataclass(frozen=True)
class Attack:
    """One attempt to break out, to break the sandbox, or to outlast it."""

    body: str
    codes: tuple[str, ...]
    """Reason codes it may end in; empty when it may simply get false back. A busy machine may make
    a time-out of any."""
    bare: Harm
    """What it does to a runner without layers and deadlines."""
    control: tuple[str, ...] = ()
    """Layers without which the sandbox itself lets it have what it wanted."""
    own: bool = False
    """It only lies about itself, which nothing prevents: what counts is that the next session does
    not see it."""
    tables: bool = False
    """Its state is a database, which the body finds as `db`."""

    @property
    def source(self) -> str:
        """The program around the body."""
        head, tail = (_TABLES_HEAD, _TABLES_TAIL) if self.tables else (_HEAD, _TAIL)
        return "\n".join((_TOOLS, head, indent(dedent(self.body).strip(), " " * 8), tail))

    @property
    def files(self) -> dict[str, str]:
        """The program."""
        return {"world.py": self.source, **({"schema.sql": SCHEMA} if self.tables else {})}

    @property
    def state(self) -> dict[str, Any]:
        """What it starts from."""
        return {"counts": [{"id": 1, "count": 0}]} if self.tables else {"count": 0}


SCHEMA = "create table counts (id integer primary key, count integer not null);"
_TOOLS = """
import builtins, errno, gc, json, os, random, re, signal, socket, struct, sys, time
from envmill.runtime.jail.calls import name_calls
from envmill.runtime.jail.kernel import ctypes

libc = ctypes.CDLL(None, use_errno=True)
CALL = {name: number for number, name in name_calls(os.uname().machine).items()}

def is_open(fd):
    try: os.lseek(fd, 0, os.SEEK_CUR)
    except OSError as error: return error.errno != errno.EBADF
    return True

def own_socket():
    return max(filter(is_open, range(64)))

def send(payload):
    os.write(own_socket(), struct.pack("<I", len(payload)) + payload)

def sequence():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if hasattr(value, "_sequence"): return value._sequence
        frame = frame.f_back
    return 1

def forge(*observations):
    send(json.dumps({"seq": sequence(), "done": True, "observations": list(observations)}).encode())

FORGED = {"outcome": "ok", "parts": [{"type": "text", "text": "forged"}], "code": "", "message": "", "state_hash": "", "state": None}
"""
_HEAD = """
class World:
    def __init__(self, state):
        self.count = state["count"]

    def attack(self, port, path, name):
"""
_TAIL = """
    def work(self):
        self.count += 1
        return self.count
"""

_TABLES_HEAD = """
def connection():
    found = [one for one in gc.get_objects() if type(one).__name__ == "Connection" and hasattr(one, "total_changes")]
    held = [one for thing in gc.get_objects() for one in gc.get_referents(thing) if type(one).__name__ == "Connection"]
    return (found + held)[0]

def unguarded():
    con = connection()
    if hasattr(con, "set_authorizer"): con.set_authorizer(None)
    else: con.authorizer = None
    return con

class World:
    def __init__(self, db):
        self._db = db

    def attack(self, port, path, name):
        db = self._db
"""
_TABLES_TAIL = """
    def work(self):
        self._db.execute("update counts set count = count + 1")
        return self._db.query("select count from counts")[0]["count"]
"""

KERNEL = ("landlock", "namespaces", "seccomp")
