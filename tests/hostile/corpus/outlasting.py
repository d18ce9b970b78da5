"""Programs that do not end, by themselves or by being asked."""

from tests.hostile.corpus.base import Attack

OUTLASTING: dict[str, Attack] = {
    "endless loop": Attack("while True: pass", ("timeout",), "hangs"),
    "loop that swallows everything": Attack(
        """
        while True:
            try:
                while True: time.time()
            except BaseException:
                continue
        """,
        ("timeout",), "hangs",
    ),
    "loop deaf to signals": Attack("signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.time()", ("timeout",), "hangs"),
    "loop with the alarm turned off": Attack("signal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass", ("timeout",), "hangs"),
    "sleep in the C library": Attack("while True: libc.sleep(1 << 30)", ("timeout",), "hangs"),
    "backtracking expression": Attack('return bool(re.match(r"(a+)+$", "a" * 60 + "b"))', ("timeout",), "hangs"),
    "number too large": Attack("return (10 ** 10 ** 8) % 7 == 9", ("timeout",), "hangs"),
    "text of a number too large": Attack("sys.set_int_max_str_digits(0)\nreturn len(str(7 ** 10 ** 7)) == 1", ("timeout",), "hangs"),
    "state that hangs when it is read": Attack(
        """
        class Trap(dict):
            def items(self):
                while True: pass
            __iter__ = keys = values = __len__ = items
        self.trap = Trap(a=1)
        """,
        ("timeout", "bad_state", "crash", "killed"), "hangs",
    ),
    "destructor that never ends": Attack(
        """
        class Last:
            def __del__(self):
                while True: time.time()
        Last()
        """,
        (), "hangs",
    ),
    "a byte now and then": Attack(
        """
        while True:
            os.write(own_socket(), b"\\x09")
            libc.usleep(300_000)
        """,
        ("timeout", "killed"), "hangs",
    ),
    "a frame that never ends": Attack(
        'os.write(own_socket(), struct.pack("<I", 5000) + b"{")\nwhile True: libc.sleep(1)',
        ("timeout",), "hangs",
    ),
}  # fmt: skip
