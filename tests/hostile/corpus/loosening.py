"""Programs that touch other processes, or take the jail apart: limits, filters, users, memory, and
rarely guarded corners of the kernel."""

from tests.hostile.corpus.base import KERNEL, Attack

_SPAWN = ("landlock", "namespaces", "seccomp", "rlimits")

LOOSENING: dict[str, Attack] = {
    "signal the parent": Attack("os.kill(os.getppid() or 1, 0)\nreturn True", ("crash",), "true", KERNEL),
    "kill everybody": Attack("os.kill(-1, 9)\nreturn True", ("crash",), "true"),
    "kill its group": Attack("os.kill(0, 9)\nreturn True", ("crash",), "dies"),
    "ptrace": Attack("return libc.ptrace(16, os.getppid() or 1, 0, 0) == 0", (), "true"),
    "the parent's memory": Attack(
        """
        class Piece(ctypes.Structure): _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        mine = ctypes.create_string_buffer(8)
        here, there = Piece(ctypes.addressof(mine), 8), Piece(id(None), 8)
        return libc.process_vm_readv(os.getppid() or 1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) == 8
        """,
        (), "true",
    ),
    "a hold on the parent": Attack('return libc.syscall(CALL["pidfd_open"], os.getppid() or 1, 0) >= 0', (), "true", KERNEL),
    "the parent's limits": Attack(
        "import resource\nresource.prlimit(os.getppid() or 1, resource.RLIMIT_CPU)\nreturn True",
        ("crash",), "true",
    ),
    "be more important": Attack("os.sched_setaffinity(0, {0})\nreturn True", ("crash",), "true", ("seccomp",)),
    "subprocess": Attack('os.posix_spawn("/bin/true", ["true"], {})\nreturn True', ("crash",), "true", _SPAWN),
    "another program": Attack('os.execv("/bin/true", ["true"])', ("crash",), "dies"),
    "shell": Attack('return os.system("true") == 0', (), "true", _SPAWN),
    "outlive the parent": Attack("return libc.prctl(1, 0, 0, 0, 0) == 0", (), "true", ("seccomp",)),
    "be dumped": Attack("return libc.prctl(4, 1, 0, 0, 0) == 0", (), "true", ("seccomp",)),
    "a filter of its own": Attack(
        'allow = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)\n'
        "class Code(ctypes.Structure): _fields_ = [('n', ctypes.c_ushort), ('at', "
"ctypes.c_char_p)]\n"
        "libc.prctl(38, 1, 0, 0, 0)\n"
        "return libc.prctl(22, 2, ctypes.byref(Code(1, allow)), 0, 0) == 0",
        (), "true", ("seccomp",),
    ),
    "executable memory": Attack(
        "libc.mmap.restype = ctypes.c_void_p\nreturn libc.mmap(None, 4096, 7, 0x22, -1, 0) != "
"ctypes.c_void_p(-1).value",
        (), "true", ("seccomp",),
    ),
    "memory made executable": Attack(
        "libc.mmap.restype = ctypes.c_void_p\nplace = libc.mmap(None, 4096, 3, 0x22, -1, 0)\n"
        "return libc.mprotect(ctypes.c_void_p(place), 4096, 5) == 0",
        (), "true", ("seccomp",),
    ),
    "user namespace": Attack("return libc.unshare(0x10000000) == 0", (), "true"),
    "join a namespace": Attack(
        'return libc.setns(libc.open(b"/proc/self/ns/uts", 0), 0) == 0 or '
'libc.open(b"/proc/self/ns/uts", 0) >= 0',
        (), "true",
    ),
    "mount": Attack('return libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, None) == 0 or ctypes.get_errno() '
'!= errno.EPERM', (), "true"),
    "raise a limit": Attack("import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (99, 99))\nreturn True", ("crash",), "true"),
    "become root": Attack("os.setuid(0)\nreturn True", ("crash",), "true"),
    "io_uring": Attack('return libc.syscall(CALL["io_uring_setup"], 1, ctypes.create_string_buffer(256)) >= 0', (), "true"),
    "keys of the kernel": Attack('return libc.syscall(CALL["add_key"], b"user", b"envmill", b"x", 1, -2) >= 0', (), "true"),
    "faults in user hands": Attack('return libc.syscall(CALL["userfaultfd"], 1) >= 0', (), "true"),
    "counters of the processor": Attack(
        'about = b"\\1\\0\\0\\0" + bytes(124)\n'
        'return libc.syscall(CALL["perf_event_open"], about, 0, -1, -1, 0) >= 0 or '
'ctypes.get_errno() != errno.EPERM',
        (), "true",
    ),
    "a program for the kernel": Attack(
        'return libc.syscall(CALL["bpf"], 0, bytes(128), 128) >= 0 or '
'ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)', (), "true"
    ),
    "another personality": Attack('return libc.personality(0x0040000) != -1', (), "true"),
    "a child that shares memory": Attack(
        """
        names = "flags pidfd child parent signal stack size tls".split()
        class Arguments(ctypes.Structure): _fields_ = [(name, ctypes.c_uint64) for name in names]
        born = libc.syscall(CALL["clone3"], ctypes.byref(Arguments(signal=17)), 64)
        if born == 0: os._exit(0)
        return born > 0
        """,
        (), "true",
    ),
    "a message queue": Attack("return libc.msgget(0, 0o1600) >= 0", (), "true", ("seccomp",)),
    "shared segments": Attack("return libc.shmget(0, 4096, 0o1600) >= 0", (), "true", ("seccomp",)),
}  # fmt: skip
