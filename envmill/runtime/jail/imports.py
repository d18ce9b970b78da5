"""What a program may import: the standard-library modules a zygote loads ahead, since a jailed
process opens no file."""

import importlib
import sys
from collections.abc import Iterable, Iterator
from opcode import EXTENDED_ARG, opmap
from types import CodeType, ModuleType

from envmill.runtime.jail import zones

ALLOWED: tuple[str, ...] = (
    "__future__", "abc", "array", "base64", "binascii", "bisect", "calendar", "collections", "collections.abc", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib",
    "heapq", "hmac", "html", "io", "itertools", "json", "keyword", "math", "numbers", "operator", "pprint", "random", "re",
    "secrets", "statistics", "string", "struct", "textwrap", "time", "types", "typing", "unicodedata", "urllib.parse", "uuid",
    "warnings", "weakref", "zlib",
)  # fmt: skip
"""Modules generated programs may name."""

_LAZY: tuple[str, ...] = (
    "_strptime", "ast", "bz2", "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_16", "inspect",
    "linecache", "locale", "platform", "stringprep", "tokenize", "traceback",
)  # fmt: skip
"""Modules the allowed ones import while they run: strptime, traceback, uuid and others do."""

_USUAL: tuple[str, ...] = (
    "cmath", "codecs", "configparser", "contextvars", "fnmatch", "gzip", "html.parser", "http", "ipaddress", "logging",
    "pathlib", "pickle", "queue", "sched", "shlex", "threading", "xml.etree.ElementTree",
    "encodings.base64_codec", "encodings.cp1252", "encodings.hex_codec", "encodings.iso8859_15", "encodings.punycode",
    "encodings.raw_unicode_escape", "encodings.rot_13", "encodings.unicode_escape", "encodings.utf_16_be", "encodings.utf_16_le",
    "encodings.utf_32", "encodings.utf_8_sig",
)  # fmt: skip
"""What model-written programs from elsewhere use besides. Not `sqlite3`: its clock and chance would
be the machine's."""


SETTLED = frozenset((
    "__future__", "abc", "array", "base64", "binascii", "bisect", "cmath", "collections", "collections.abc", "contextlib", "copy",
    "dataclasses", "datetime", "decimal", "difflib", "enum", "envmill.runtime", "fnmatch", "fractions", "functools", "graphlib", "hashlib",
    "heapq", "hmac", "html", "ipaddress", "itertools", "json", "keyword", "math", "numbers", "operator", "pprint", "random", "re",
    "secrets", "shlex", "statistics", "string", "struct", "textwrap", "time", "types", "typing", "unicodedata", "urllib", "urllib.parse",
    "uuid", "zlib", "zoneinfo",
))  # fmt: skip
"""Modules that hold no setting or registry, or only such that a reset sets back or a look finds:
see docs/jail.md. Programs that import any other module (`calendar`, `csv`, `logging`, `locale`,
`codecs`, `sys` …) are given a process of their own for each session."""
_REACHING = frozenset(
    ("__builtins__", "__import__", "__loader__", "__spec__", "__subclasses__", "eval", "exec")
)
"""Names by which code comes to a module without an import statement, or to classes that another
session made."""
_IMPORT, _FROM = opmap["IMPORT_NAME"], opmap["IMPORT_FROM"]


def list_imports(codes: Iterable[CodeType]) -> set[str]:
    """Modules that compiled files name in import statements, and names by which they may come to
    others."""
    return {
        name
        for code in codes
        for part in _walk(code)
        for name in (*_list_imported(part), *_REACHING.intersection(part.co_names))
    }


def find_unsettled(names: Iterable[str], own: Iterable[str]) -> list[str]:
    """Of these imports, those that may carry something from one session into the next."""
    return sorted(set(names) - SETTLED - set(own))


def _walk(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk(constant)


def _list_imported(code: CodeType) -> Iterator[str]:
    """Modules in import statements, and those that are taken out of another one: `from json import
    codecs`."""
    imports = list(_find_names(code, _IMPORT))
    yield from (name for _, name in imports)
    for place, name in _find_names(code, _FROM) if imports else ():
        module = sys.modules.get([each for at, each in imports if at < place][-1])
        if module and isinstance(found := vars(module).get(name), ModuleType):
            yield found.__name__


def _find_names(code: CodeType, operation: int) -> Iterator[tuple[int, str]]:
    """Where an operation stands, and its name."""
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    place = operations.find(operation)
    while place >= 0:
        argument, before = arguments[place], place - 1
        while before >= 0 and operations[before] == EXTENDED_ARG:
            argument |= arguments[before] << 8 * (place - before)
            before -= 1
        yield place, code.co_names[argument]
        place = operations.find(operation, place + 1)


def load_ahead() -> None:
    """Import everything a program or its libraries may want later."""
    for name in (*ALLOWED, *_LAZY, *_USUAL):
        importlib.import_module(name)
    zones.load()
