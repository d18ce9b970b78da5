"""Programs that reach for files, the network, secrets and the oracle."""

from tests.hostile.corpus.base import KERNEL, Attack

_DATAGRAM = (
    'return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", port)) '
    "== 3"
)

REACHING: dict[str, Attack] = {
    "read a file": Attack('return "root" in open("/etc/passwd").read()', ("crash",), "true", KERNEL),
    "list a folder": Attack('return bool(os.listdir("/"))', ("crash",), "true", KERNEL),
    "write a file": Attack("open(path, 'w')\nreturn True", ("crash",), "true", KERNEL),
    "read its own source": Attack(
        "import envmill.runtime.session as ours\nreturn 'class' in "
"open(ours.__file__).read()", ("crash",), "true", KERNEL
    ),
    "look for what the interpreter opened": Attack('return bool(os.listdir("/proc/self/fd"))', ("crash",), "true", KERNEL),
    "command lines of other processes": Attack('return len(open("/proc/1/cmdline").read()) > 0', ("crash",), "true", KERNEL),
    "its own memory as a file": Attack('return open("/proc/self/mem", "r+b", 0).seekable()', ("crash",), "true"),
    "shared memory": Attack('open("/dev/shm/" + name, "w")\nreturn True', ("crash",), "true"),
    "a file without a name": Attack('return libc.memfd_create(b"x", 0) >= 0', (), "true", ("seccomp",)),
    "a device": Attack('return len(open("/dev/zero", "rb").read(1)) == 1', ("crash",), "true", KERNEL),
    "a link to elsewhere": Attack('os.symlink("/etc/passwd", path)\nreturn True', ("crash",), "true"),
    "another root": Attack('os.chroot("/tmp")\nreturn True', ("crash",), "true"),
    "a working folder": Attack('os.chdir("/etc")\nreturn True', ("crash",), "true", KERNEL),
    "TCP": Attack('return socket.create_connection(("127.0.0.1", port), 1) is not None', ("crash",), "true", KERNEL),
    "UDP": Attack(_DATAGRAM, ("crash",), "true", KERNEL),
    "TCP of its own to be called": Attack(
        'served = socket.socket()\nserved.bind(("127.0.0.1", 0))\nserved.listen()\n'
'return True', ("crash",), "true", ("landlock", "seccomp")
    ),
    "a name to be resolved": Attack('return bool(socket.getaddrinfo("localhost", 80))', ("crash",), "true", KERNEL),
    "the kernel's own sockets": Attack("return socket.socket(16, socket.SOCK_RAW, 0).fileno() >= 0", ("crash",), "true", ("seccomp",)),
    "abstract Unix socket": Attack('socket.socket(socket.AF_UNIX).connect("\\0" + name)\nreturn True', ("crash",), "true", KERNEL),
    "environment variables": Attack('return any("SECRET" in text for text in os.environ.values())', (), "true"),
    "environment variables as they were": Attack('return b"SECRET" in open("/proc/self/environ", "rb").read()', ("crash",), "true"),
    "the oracle among all objects": Attack(
        """
        lists = (thing for thing in gc.get_objects() if isinstance(thing, list))
        return any(isinstance(one, str) and one.startswith("ORACLE-") for held in lists for one in held)
        """,
        (), "true",
    ),
    "true randomness": Attack("return libc.getrandom(ctypes.create_string_buffer(8), 8, 0) == 8", (), "true", ("seccomp",)),
    "the load of the machine": Attack("return libc.sysinfo(ctypes.create_string_buffer(512)) == 0", (), "true", ("seccomp",)),
    "its own number among the processes": Attack("return libc.getpid() > 0", (), "true", ("seccomp",)),
    "inherited descriptors": Attack("return sum(map(is_open, range(64))) > 5", (), "true"),
}  # fmt: skip
