"""W9: the program stays within the jail: neither its text nor its run asks for a file, network,
process or thread."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.base import EnvironmentCase, Finding, GateContext, drop, keep
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun
from envmill.gates.mutating.syntax import list_nodes
from schemas.base import Json
from schemas.ledger import ReasonClass

GATE = "W9"
CODES: Mapping[str, ReasonClass] = {"import": "proof", "reach": "proof", "denied": "proof"}

_MODULES = frozenset(
    """_thread aiohttp asyncio atexit builtins cffi code codeop concurrent ctypes dbm faulthandler fcntl fileinput ftplib gc glob http httpx
    imp importlib inspect marshal mmap multiprocessing pickle pty requests resource runpy sched select selectors shelve shutil
    signal smtplib socket socketserver ssl subprocess telnetlib tempfile threading urllib.request urllib3 webbrowser xmlrpc""".split()  # noqa: SIM905
)
"""Modules with which a program reaches outside itself, submodules included."""
_OS = frozenset(("path", "sep", "linesep"))
"""Names of `os` that only handle text."""
_CALLS = frozenset(
    ("open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "exit", "quit")
)
_DENIED = re.compile(
    r"PermissionError|Operation not permitted|can't start new thread|\[denied: ([^\]]*)\]|"
    r"BlockingIOError|Read-only file system"
)


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Checks the text first: it also contains what no test reaches and what hides its failure."""
    # A file that cannot be parsed here does not load in the jail, or fails when it runs.
    read = [
        one for path, nodes in list_nodes(built.environment) for one in _read(path, nodes or ())
    ]
    if read:
        return drop(GATE, read[0]["reason"], f"{read[0]['where']} {read[0]['what']}", read[:10])
    exploration = await explore(built, means)
    words = "{call[name]} was denied {denied}"
    for finding in exploration.admit(
        (
            drop(GATE, "denied", words.format(**denied), denied)
            for denied in _find_denied(exploration)
        ),
        means,
    ):
        return finding
    return keep(GATE)


def _read(path: str, nodes: Sequence[ast.AST]) -> list[dict[str, Json]]:
    return [
        {"reason": reason, "where": f"{path}, line {getattr(node, 'lineno', 0)}:", "what": what}
        for node in nodes
        for reason, what in _judge(node)
    ]


def _judge(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import(names=names):
            yield from (("import", f"imports {one.name}") for one in names if _is_outside(one.name))
        case ast.ImportFrom(module=str(module), names=names):
            outside = _is_outside(module) or any(
                _is_outside(f"{module}.{one.name}") for one in names
            )
            reaches = module == "os" and any(one.name not in _OS for one in names)
            if outside or reaches:
                yield "import", f"imports from {module}"
        case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr not in _OS:
            yield "import", f"uses os.{attr}"
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            yield "reach", f"calls {name}()"
        case ast.Attribute(attr=attr) if attr in (
            "__subclasses__",
            "__globals__",
            "__builtins__",
            "__code__",
        ):
            yield "reach", f"reads {attr}"
        case ast.Name(id="__builtins__"):
            yield "reach", "reads __builtins__"
        case _:
            return


def _is_outside(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:length]) in _MODULES for length in range(1, len(parts) + 1))


def _find_denied(exploration: ExplorationRun) -> Iterator[Mapping[str, Json]]:
    for observed in exploration.calls:
        found = (
            _DENIED.search(observed.seen.message) if observed.seen.outcome == "failure" else None
        )
        if observed.seen.denied or found:
            names = (
                observed.seen.denied or [found[1] or found[0]] if found else observed.seen.denied
            )
            yield {
                "call": observed.call.model_dump(),
                "denied": ", ".join(names) or "a system call",
                "message": observed.seen.message[-600:],
            }
