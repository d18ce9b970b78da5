"""Programs that take more than their share: memory, processes, descriptors, and room in replies,
states, logs and journals."""

from tests.hostile.corpus.base import Attack

EXHAUSTING: dict[str, Attack] = {
    "memory": Attack("heap = []\nwhile True: heap.append(bytearray(1 << 24))", ("crash", "killed", "timeout"), "dies"),
    "two gigabytes at once": Attack("self.heap = len(bytearray(b'x') * (2 << 30))", ("crash", "killed"), "dies"),
    "recursion": Attack("sys.setrecursionlimit(10**9)\ndeep = lambda: deep()\ndeep()", ("crash", "killed", "timeout"), "dies"),
    "forks": Attack("while True: os.fork()", ("crash",), "multiplies"),
    "a daemon": Attack(
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True: libc.sleep(60)
        return True
        """,
        ("crash",), "multiplies",
    ),
    "threads": Attack(
        "import _thread\n_thread.start_new_thread(lambda: None, ())\nreturn True",
        ("crash",), "true", ("seccomp", "rlimits"),
    ),
    "a thread that works on after the reply": Attack(
        """
        import _thread
        gate = _thread.allocate_lock()
        gate.acquire()
        def later():
            gate.acquire(timeout=2)  # by then the reply has gone
            while True:
                self.count += 1
                os.write(own_socket(), b"x")
        _thread.start_new_thread(later, ())
        return True
        """,
        ("crash",), "true",
    ),
    "descriptors": Attack("held = [os.dup(0) for _ in range(100)]\nreturn True", ("crash",), "true"),
    "locked memory": Attack("return libc.mlockall(3) == 0", (), "true"),
    "a reply too large": Attack('return "x" * (80 << 20)', ("bad_reply",), "floods"),
    "a reply of very many pieces": Attack("return [{}] * 6_000_000", ("bad_reply", "timeout", "crash"), "floods"),
    "a state too large": Attack('self.blob = "x" * (40 << 20)', ("bad_state",), "floods"),
    "a state that doubles": Attack(
        'self.blob = ["x"]\nwhile True: self.blob += self.blob',
        ("crash", "timeout", "bad_state", "killed"), "dies",
    ),
    "an error as long as a book": Attack('raise ValueError("x" * (40 << 20))', ("crash",), "floods"),
    "a rejection as long as a book": Attack(
        'from envmill.runtime import Rejection\nraise Rejection("no", "x" * (40 << '
'20))', ("no", "crash", "bad_reply"), "floods"
    ),
    "standard output without end": Attack("while True: os.write(1, b'x' * 65536)", ("timeout",), "hangs"),
    "errors printed without end": Attack("while True: print('x' * 65536, file=sys.__stderr__, flush=True)", ("timeout", "crash"), "hangs"),
    "a reply that holds itself": Attack("loop = []\nloop.append(loop)\nreturn loop", ("bad_reply",), "dies"),
    "a reply nested deeply": Attack(
        "deep = []\nfor _ in range(200_000): deep = [deep]\nreturn deep",
        ("bad_reply", "crash", "killed"), "dies",
    ),
    "a state nested deeply": Attack(
        "self.deep = []\nfor _ in range(200_000): self.deep = [self.deep]", ("bad_state", "crash", "killed"), "dies"
    ),
    "not a number in a reply": Attack("return float('nan')", ("bad_reply",), "unfit"),
    "infinity in the state": Attack("self.most = float('inf')", ("bad_state",), "unfit"),
    "a huge integer in a reply": Attack(
        "sys.set_int_max_str_digits(0)\nreturn 1 << 60_000_000",
        ("bad_reply", "timeout", "crash"), "hangs",
    ),
    "a broken character": Attack('return "\\ud800"', ("bad_reply",), "unfit"),
    "a broken character as a key of the state": Attack('self.names = {"\\ud800": 1}', ("bad_state",), "unfit"),
    "an object in the state": Attack("self.odd = object()", ("bad_state",), "dies"),
    "an error that cannot be shown": Attack(
        """
        class Mute(Exception):
            def __str__(self): raise SystemExit
        raise Mute
        """,
        ("crash",), "dies",
    ),
}  # fmt: skip
