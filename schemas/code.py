"""Program text as models send it: a fence and prose around the one program are taken off."""

import ast
import re
from typing import Annotated, TypeAlias

from pydantic import AfterValidator

_BLOCK = re.compile(r"^[ \t]*```[ \t]*\w*[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


def take_program(text: str) -> str:
    """Text that is Python stays as it is, and so does what holds no code block. Of several blocks
    nobody knows which is meant."""
    if "```" not in text or _is_python(text):
        return text
    blocks = [block for block in _BLOCK.findall(f"{text}\n") if block.strip()]
    if len(blocks) > 1:
        raise ValueError(
            f"it holds {len(blocks)} code blocks; send one whole program, without a fence"
        )
    return blocks[0] if blocks else text


def split_fenced(text: str) -> tuple[str, list[str]] | None:
    """What stands around the code blocks, and the blocks. A block that holds a JSON object is none
    of them. None without any block."""
    blocks = [
        found
        for found in _BLOCK.finditer(f"{text}\n")
        if found[1].strip() and not found[1].lstrip().startswith("{")
    ]
    if not blocks:
        return None
    rest, end = "", 0
    for found in blocks:
        rest, end = rest + text[end : found.start()], found.end()
    return rest + text[end:], [found[1] for found in blocks]


def _is_python(text: str) -> bool:
    """Parsed, never run."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


Code: TypeAlias = Annotated[str, AfterValidator(take_program)]
"""One program."""
