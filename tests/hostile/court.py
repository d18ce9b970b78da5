"""Attacks played as generated checks: a verifier's check that would read what it may not, or reach
a verdict that is not its own.

A check says true exactly when it got what it wanted. One marked `own` may say about itself what it
likes, which nothing prevents: what counts is that no later verdict and no other check of the same
one hears it.
"""

from dataclasses import dataclass
from textwrap import dedent, indent

MARK = ("keep", "sake-", "4711")
"""Parts of a word that the test's process, its environment and an earlier verdict's states hold; no
check is told it whole."""


@dataclass(frozen=True)
class Plea:
    """One check that means harm."""

    body: str
    codes: tuple[str, ...] = ()
    """Reason codes it may end in; empty when it may simply say no."""
    own: bool = False
    """It lies about itself."""

    @property
    def source(self) -> str:
        """The file around the body; `path` leads to a file the test watches."""
        return "\n".join((_HEAD, indent(dedent(self.body).strip(), "    "), ""))


_HEAD = f"""
import errno, gc, json, os, signal, struct, sys, threading

class Reached: pass

def reach(name):
    # The modules cannot be imported, but their functions are on the stack.
    frame = sys._getframe()
    while frame.f_globals["__name__"] != "envmill.runtime.jail." + name: frame = frame.f_back
    return as_module(frame.f_globals)

def as_module(names):
    module = Reached()
    module.__dict__ = names
    return module

judging = reach("judging")
wire = as_module(judging.Channel.receive.__globals__)
ctypes = reach("zygote").fork.__globals__["ctypes"]

MARK = "".join({list(MARK)!r})

def find(wanted):
    left, met, frame = [sys.modules], set(), sys._getframe(1)
    while frame:
        left += list(frame.f_locals.values())
        frame = frame.f_back
    while left:
        one = left.pop()
        if id(one) in met: continue
        met.add(id(one))
        if isinstance(one, str) and wanted in one and one is not MARK: return True
        if isinstance(one, bytes) and wanted.encode() in one: return True
        left += gc.get_referents(one)
    return False

def forge(number, said):
    part = {{"type": "json", "value": said}}
    payload = json.dumps({{"seq": number, "done": True, "observations": [{{"parts": [part]}}]}}).encode()
    os.write(end(), struct.pack("<I", len(payload)) + payload)

def end():
    return max(fd for fd in range(64) if is_open(fd))

def is_open(fd):
    try: os.lseek(fd, 0, os.SEEK_CUR)
    except OSError as error: return error.errno != errno.EBADF
    return True

def due():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if hasattr(value, "_sequence"): return value._sequence
        frame = frame.f_back

def check(initial, final):
    path = final["path"]
"""

COURT: dict[str, Plea] = {
    "searches memory for what others hold": Plea("return find(MARK)", ("killed", "timeout")),
    "reads the environment it was started with": Plea("return MARK in str(dict(os.environ))"),
    "reads its parents' environment": Plea(
        "return any(MARK.encode() in open(f'/proc/{pid}/environ', 'rb').read() for pid in "
        "range(1, os.getppid() + 1))",
        ("crash",),
    ),
    "writes a file": Plea("open(path, 'w').write('was here'); return True", ("crash",)),
    "makes a folder": Plea("os.mkdir(path + '.d'); return True", ("crash",)),
    "lays every later verdict in its own mouth": Plea(
        """
        said = judging.EMPTY | {"parts": [{"type": "json", "value": True}]}
        judging.JudgeLoop._run_check = judging.JudgeLoop._run = lambda *words: said
        return False
        """,
        own=True,
    ),
    "spells every answer as yes": Plea(
        "wire._codec = type('Yes', (), {'loads': json.loads, 'dumps': lambda self, it: "
        "b'true'})(); return False",
        ("killed",),
        own=True,
    ),
    "forges the answer that is due": Plea("forge(due(), True); os._exit(0)", ("killed",), own=True),
    "forges the answer after that": Plea(
        "forge(due() + 1, True); return False", ("killed",), own=True
    ),
    "answers for everybody": Plea(
        "for number in range(5000): forge(number, True)\nreturn False", ("killed",), own=True
    ),
    "leaves a thread behind": Plea(
        "threading.Thread(target=lambda: forge(0, True)).start(); return True", ("crash",)
    ),
    "forks": Plea("return os.fork() > 0", ("crash",)),
    "kills whoever it was forked from": Plea(
        "os.kill(os.getppid(), signal.SIGKILL); return True", ("crash",)
    ),
    "kills everybody": Plea("os.kill(-1, signal.SIGKILL); return True", ("crash",)),
    "stays in a call of C": Plea("return sum(range(1 << 45)) > 0", ("timeout", "killed")),
    "hangs and will not hear": Plea(
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass", ("timeout", "killed")
    ),
    "takes all memory": Plea(
        "rows = [bytes(1 << 24) for _ in range(1 << 12)]; return len(rows) > 0",
        ("crash", "killed", "timeout"),
    ),
    "jumps to nowhere": Plea("ctypes.string_at(1); return True", ("killed",)),
    "raises a book": Plea("raise ValueError('x' * (1 << 26))", ("crash", "killed")),
    "prints without end": Plea("for _ in range(64): print('x' * (1 << 20))\nreturn False"),
    "floods its wire": Plea(
        "while True: os.write(end(), b'x' * 65536)", ("killed", "timeout"), own=True
    ),
}
"""By what each does."""
