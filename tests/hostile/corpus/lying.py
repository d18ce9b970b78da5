"""Programs that break the protocol, forge its frames, or spoil the interpreter for who comes
next."""

from tests.hostile.corpus.base import Attack

_OWN = "forged"

LYING: dict[str, Attack] = {
    "exit": Attack("sys.exit(3)", ("crash",), "dies"),
    "exit at once": Attack("os._exit(3)", ("killed",), "dies"),
    "abort": Attack("libc.abort()", ("killed",), "dies"),
    "segmentation fault": Attack("ctypes.string_at(0)", ("killed",), "dies"),
    "close the socket": Attack("os.closerange(3, 64)", ("killed",), "dies"),
    "the socket shut on one side": Attack("socket.socket(fileno=own_socket()).detach()\nlibc.shutdown(own_socket(), 2)", (), "dies"),
    "a forged frame": Attack('forged = b\'{"seq":1,"done":true,"observations":[]}\'\nsend(forged)', ("killed",), _OWN),
    "a frame of four gigabytes": Attack('os.write(own_socket(), b"\\xff\\xff\\xff\\xff")', ("killed",), "floods"),
    "an empty frame": Attack('os.write(own_socket(), bytes(4))', ("killed",), "unfit"),
    "a frame that is a list": Attack('send(b"[1, 2]")', ("killed",), _OWN),
    "a frame nested deeply": Attack('send(b"[" * 200_000)', ("killed",), "unfit"),
    "a frame that is no text": Attack('send(b"\\xff\\xfe\\x00")', ("killed",), "unfit"),
    "junk without end": Attack('while True: os.write(own_socket(), b"x" * 65536)', ("killed", "timeout"), "floods"),
    "a forged answer with the right number": Attack("forge(FORGED)", (), _OWN, own=True),
    "more answers than questions": Attack("forge(*[FORGED] * 9)", ("killed",), _OWN),
    "an answer that is a number": Attack("forge(7)", ("killed",), _OWN),
    "an answer without its fields": Attack('forge({"outcome": "ok", "parts": [{"type": "json"}]})', ("killed",), _OWN),
    "an answer of an unknown outcome": Attack('forge(FORGED | {"outcome": "superb"})', ("killed",), _OWN),
    "an answer whose state is no text": Attack('forge(FORGED | {"state": 7})', ("killed",), _OWN),
    "an answer whose state is no JSON": Attack('forge(FORGED | {"state": "{"})', ("killed",), _OWN),
    "an answer whose parts are no list": Attack('forge(FORGED | {"parts": 7})', ("killed",), _OWN),
    "an answer with no number": Attack('forge(FORGED | {"parts": [{"type": "json", "value": float("nan")}]})', ("killed",), "unfit"),
    "an answer with half a character": Attack('forge(FORGED | {"parts": [{"type": "text", "text": "\\ud800"}]})', ("killed",), "unfit"),
    "an answer with a part of no type": Attack('forge(FORGED | {"parts": [{"type": "picture"}, 7]})', ("killed",), _OWN),
    "an answer too large to pass on": Attack(
        'forge(FORGED | {"parts": [{"type": "text", "text": "\\x7f" * (16_777_000)}]})',
        ("killed",), "floods",
    ),
    "an answer whose notes are no table": Attack('forge(FORGED | {"uses": 7, "notifications": {}, "weather": 1})', ("killed",), _OWN),
    "numbers instead of words": Attack('forge(FORGED | {"code": 1, "message": [], "state_hash": {}})', ("killed",), _OWN),
    "an answer whose hash is markup": Attack('forge(FORGED | {"state_hash": "<script>alert(1)</script>"})', ("killed",), _OWN),
    "an answer whose code is a book": Attack('forge(FORGED | {"code": "x" * 100_000})', ("killed",), _OWN),
    "an answer that came after the end of time": Attack('forge(FORGED | {"delay": 1e300})', ("killed",), _OWN),
    "an answer with a field of its own": Attack('forge(FORGED | {"reward": 1})', ("killed",), _OWN),
    "an answer that used less than nothing": Attack('forge(FORGED | {"uses": {"ids": -(10 ** 30)}})', ("killed",), _OWN),
    "a blob by another file's name": Attack(
        'forge(FORGED | {"parts": [{"type": "blob", "hash": "../../../etc/passwd", '
'"media_type": "a/b", "size": 1}]})', ("killed",), _OWN
    ),
    "notes without fields": Attack('forge(FORGED | {"notifications": [{}]})', ("killed",), _OWN),
    "an answer nested nine hundred deep": Attack(
        "deep = 1\nfor _ in range(900): deep = [deep]\nforge(FORGED | {'parts': "
"[{'type': 'json', 'value': deep}]})", ("killed",), _OWN
    ),
    "every write fails": Attack("os.write = None; os.dup2(0, own_socket())", ("killed", "crash"), "dies"),
    "rewrite its own tools": Attack(
        "World.work = lambda self: 'forged'\njson.dumps = None; len.__self__.len = "
"None", (), "poisons", own=True
    ),
    "rewrite its own checks": Attack("World.check = lambda *_: True\nWorld.work = lambda self: 2", (), "poisons", own=True),
    "patched clock": Attack("time.time = time.monotonic = lambda: 0\nWorld.work = lambda self: time.time()", (), "poisons", own=True),
    "patched built-ins": Attack("builtins.__build_class__ = None", (), "poisons", own=True),
    "patched chance": Attack(
        "random.Random.random = lambda self: 4\nbuiltins.isinstance = lambda *_: True\n"
"World.__init__ = None",
        (), "poisons", own=True,
    ),
    "a finder among the importers": Attack(
        "sys.meta_path.insert(0, None); sys.modules.pop('re'); sys.modules['json'] = None",
        (), "poisons", own=True,
    ),
    "a trace on everything": Attack(
        """
        def trace(frame, event, argument):
            if frame.f_code.co_name == "work": frame.f_locals["self"].count = 41
            return trace
        sys.settrace(trace)
        """,
        (), "poisons", own=True,
    ),
    "a callback of the collector": Attack(
        "gc.callbacks.append(lambda *_: setattr(World, 'work', lambda self: 9)); gc.collect()",
        (), "poisons", own=True,
    ),
    "reach the loop through its modules": Attack(
        """
        import envmill.runtime.session as ours
        ours.Session.call = lambda *_: {"ok": True, "outcome": "ok", "parts": [{"type": "text", "text": "forged"}]}
        World.work = lambda self: "forged"
        """,
        (), "poisons", own=True,
    ),
}  # fmt: skip
