"""What a program may import: the standard-library modules a zygote loads ahead, since a jailed process opens no file."""

import importlib

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


def load_ahead() -> None:
    """Import everything a program or its libraries may want later."""
    for name in (*ALLOWED, *_LAZY):
        importlib.import_module(name)
