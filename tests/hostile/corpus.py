"""Hostile programs, as text. Each is one method body; it returns true exactly when it got what it wanted.

They run in the jail alone. `port`, `path` and `name` lead to things the test watches from outside.
"""

from dataclasses import dataclass
from textwrap import dedent, indent


@dataclass(frozen=True)
class Attack:
    """One attempt to break out, to break the sandbox, or to outlast it."""

    body: str
    codes: tuple[str, ...]
    """Reason codes it may end in; empty when it may simply get false back."""
    control: tuple[str, ...] = ()
    """Layers without which it gets what it wanted: shows that the test can see a breach."""

    @property
    def source(self) -> str:
        """The program around the body."""
        return "\n".join((_HEAD, indent(dedent(self.body).strip(), " " * 8), _TAIL))


_HEAD = """
import ctypes, errno, os, re, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def is_open(fd):
    try: os.lseek(fd, 0, os.SEEK_CUR)
    except OSError as error: return error.errno != errno.EBADF
    return True

def own_socket():
    return max(filter(is_open, range(64)))

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

KERNEL = ("landlock", "seccomp")

CORPUS: dict[str, Attack] = {
    # Outlasting the deadlines
    "endless loop": Attack("while True: pass", ("timeout",)),
    "loop that swallows everything": Attack(
        """
        while True:
            try:
                while True: time.time()
            except BaseException:
                continue
        """,
        ("timeout",),
    ),
    "loop deaf to signals": Attack("signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.time()", ("timeout",)),
    "backtracking expression": Attack('return bool(re.match(r"(a+)+$", "a" * 60 + "b"))', ("timeout",)),
    "number too large": Attack("return (10 ** 10 ** 8) % 7 == 9", ("timeout",)),
    "a byte now and then": Attack(
        """
        while True:
            os.write(own_socket(), b"\\x09")
            libc.usleep(300_000)
        """,
        ("timeout", "killed"),
    ),
    # Exhausting the machine
    "memory": Attack("heap = []\nwhile True: heap.append(bytearray(1 << 24))", ("crash", "killed", "timeout")),
    "recursion": Attack("sys.setrecursionlimit(10**9)\ndeep = lambda: deep()\ndeep()", ("crash", "killed", "timeout")),
    "forks": Attack("while True: os.fork()", ("crash",)),
    "threads": Attack("import _thread\n_thread.start_new_thread(lambda: None, ())\nreturn True", ("crash",), ("seccomp", "rlimits")),
    "descriptors": Attack("held = [os.dup(0) for _ in range(100)]\nreturn True", ("crash",)),
    "a reply too large": Attack('return "x" * (80 << 20)', ("bad_reply",)),
    "a state too large": Attack('self.blob = "x" * (20 << 20)', ("bad_state",)),
    "a reply that holds itself": Attack("loop = []\nloop.append(loop)\nreturn loop", ("bad_reply",)),
    # Reaching out
    "read a file": Attack('return "root" in open("/etc/passwd").read()', ("crash",), KERNEL),
    "list a folder": Attack('return bool(os.listdir("/"))', ("crash",), KERNEL),
    "write a file": Attack("open(path, 'w')\nreturn True", ("crash",), KERNEL),
    "TCP": Attack('return socket.create_connection(("127.0.0.1", port), 1) is not None', ("crash",), KERNEL),
    "UDP": Attack('return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", port)) == 3', ("crash",), KERNEL),
    "abstract Unix socket": Attack('socket.socket(socket.AF_UNIX).connect("\\0" + name)\nreturn True', ("crash",), KERNEL),
    "environment variables": Attack('return any("SECRET" in text for text in os.environ.values())', ()),
    "inherited descriptors": Attack("return sum(map(is_open, range(64))) > 4", ()),
    # Reaching other processes
    "signal the parent": Attack("os.kill(os.getppid(), 0)\nreturn True", ("crash",), KERNEL),
    "kill everybody": Attack("os.kill(-1, 9)\nreturn True", ("crash",)),
    "ptrace": Attack("return libc.ptrace(16, os.getppid(), 0, 0) == 0", ()),
    "subprocess": Attack('os.posix_spawn("/bin/true", ["true"], {})\nreturn True', ("crash",), ("landlock", "seccomp", "rlimits")),
    "another program": Attack('os.execv("/bin/true", ["true"])', ("crash",)),
    "shell": Attack('return os.system("true") == 0', (), ("landlock", "seccomp", "rlimits")),
    # Loosening the jail
    "outlive the parent": Attack("return libc.prctl(1, 0, 0, 0, 0) == 0", (), ("seccomp",)),
    "executable memory": Attack(
        "libc.mmap.restype = ctypes.c_void_p\nreturn libc.mmap(None, 4096, 7, 0x22, -1, 0) != ctypes.c_void_p(-1).value", (), ("seccomp",)
    ),
    "user namespace": Attack("return libc.unshare(0x10000000) == 0", ()),
    "raise a limit": Attack("import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (99, 99))\nreturn True", ("crash",)),
    "become root": Attack("os.setuid(0)\nreturn True", ("crash",)),
    "io_uring": Attack("return libc.syscall(425, 1, ctypes.create_string_buffer(256)) >= 0", ()),
    # Breaking the protocol
    "exit": Attack("sys.exit(3)", ("crash",)),
    "exit at once": Attack("os._exit(3)", ("killed",)),
    "segmentation fault": Attack("ctypes.string_at(0)", ("killed",)),
    "close the socket": Attack("os.closerange(3, 64)", ("killed",)),
    "a forged frame": Attack(
        """
        forged = b'{"seq":1,"done":true,"observations":[]}'
        os.write(own_socket(), struct.pack("<I", len(forged)) + forged)
        """,
        ("killed",),
    ),
    "a frame of four gigabytes": Attack('os.write(own_socket(), b"\\xff\\xff\\xff\\xff")', ("killed",)),
    "junk without end": Attack('while True: os.write(own_socket(), b"x" * 65536)', ("killed", "timeout")),
    "an error that cannot be shown": Attack(
        """
        class Mute(Exception):
            def __str__(self): raise SystemExit
        raise Mute
        """,
        ("crash",),
    ),
    "a broken character": Attack('return "\\ud800"', ("bad_reply",)),
    # Fooling itself, which no layer prevents and the next session must not see
    "rewrite its own tools": Attack("World.work = lambda self: 'forged'\nimport json; json.dumps = None; len.__self__.len = None", ()),
}
