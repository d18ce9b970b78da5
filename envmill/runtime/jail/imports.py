"""What a program may import: the standard-library modules a zygote loads ahead, since a jailed process opens no file."""

import importlib

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
"""What model-written programs from elsewhere use besides. Not `sqlite3`: its clock and chance would be the machine's."""


def load_ahead() -> None:
    """Import everything a program or its libraries may want later."""
    for name in (*ALLOWED, *_LAZY, *_USUAL):
        importlib.import_module(name)
    zones.load()
