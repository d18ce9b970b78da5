"""What the pages of consumers tell a reader to type, for the tests that type it."""

import re
import shlex

from envmill.base.settings import ROOT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_code(name: str) -> str:
    """The first Python program of a page."""
    return next(body for language, body in _list_blocks(name) if language == "python")


def read_commands(name: str, *programs: str) -> list[list[str]]:
    """Lines of its shell blocks that call one of these programs, as words without comments."""
    lines = [
        shlex.split(line, comments=True)
        for language, body in _list_blocks(name)
        if not language
        for line in body.splitlines()
    ]
    return [words for words in lines if words and words[0] in programs]


def read_settings(name: str) -> list[str]:
    """Names in the first column of its table of settings. A later name of a row may be short for
    one beside the first: `a.b`, `.c` is `a.c`."""
    table = _read_page(name).split("| setting | value |\n|---|---|\n")[1].split("\n\n")[0]
    found: list[str] = []
    for row in table.splitlines():
        first, *others = re.findall(r"`([^`]+)`", row.split("|")[1])
        parent = first.rsplit(".", 1)[0]
        found += [first, *(parent + one if one.startswith(".") else one for one in others)]
    return found


def _list_blocks(name: str) -> list[tuple[str, str]]:
    return _BLOCK.findall(_read_page(name))


def _read_page(name: str) -> str:
    return (ROOT / f"docs/consumers/{name}.md").read_text(encoding="utf-8")
