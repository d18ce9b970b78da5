"""Faults in one line of a file: a wrong value, or a line that is missing, doubled, overruled or no longer parsed."""

import random
from functools import partial

from envmill.drafting.breaking.base import Operator, edit, find_line, insert, read_lines, substitute
from envmill.drafting.breaking.systems import Healthy
from schemas.system import Fault, Handle, Line


def spoil_value(operator: str) -> Operator:
    """A value that looks right. What sort of value it is gives the operator its name: what is noticed and where one looks differ."""
    return partial(_spoil_value, operator)


def _spoil_value(operator: str, healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    if not isinstance(handle, Line) or not handle.wrong or not find_line(healthy, handle):
        return None
    wrong = dice.choice(handle.wrong)
    return _write(operator, handle, handle.text.replace(handle.value, wrong), wrong, [handle.value])


def swap_keys(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """Two values of a line in each other's place."""
    if not isinstance(handle, Line) or not handle.partner or not find_line(healthy, handle):
        return None
    swapped = handle.text.replace(handle.value, "\0").replace(handle.partner, handle.value).replace("\0", handle.partner)
    return _write("swapped_keys", handle, swapped, handle.partner, [handle.value, handle.partner])


def break_syntax(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """The last character is gone: a semicolon, a brace, a quote."""
    if not isinstance(handle, Line) or not find_line(healthy, handle):
        return None
    return _write("broken_syntax", handle, handle.text[:-1], handle.text[:-1], [])


def miss_line(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    number = find_line(healthy, handle) if isinstance(handle, Line) else None
    if not isinstance(handle, Line) or not number or number >= len(read_lines(healthy, handle.file)) - 1:
        return None
    whole = read_lines(healthy, handle.file)[number - 1]
    broken, mended = edit(handle.file, f"{number}d"), insert(handle.file, number, whole)
    return _state("missing_line", handle, broken, mended, "", [handle.value])


def comment_line(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    number = find_line(healthy, handle) if isinstance(handle, Line) else None
    if not isinstance(handle, Line) or not number:
        return None
    return _state("commented_line", handle, edit(handle.file, f"{number}s|^|#|"), edit(handle.file, f"{number}s|^#||"), "", [])


def double_line(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """The same line twice, where it may stand once."""
    number = find_line(healthy, handle) if isinstance(handle, Line) else None
    if not isinstance(handle, Line) or not number:
        return None
    return _state("doubled_line", handle, edit(handle.file, f"{number}p"), edit(handle.file, f"{number}d"), "", [])


def overrule_line(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """A later line with another value, which wins; the right one still stands above it."""
    number = find_line(healthy, handle) if isinstance(handle, Line) else None
    if not isinstance(handle, Line) or not number or not handle.wrong:
        return None
    wrong = dice.choice(handle.wrong)
    later = insert(handle.file, number, handle.text.replace(handle.value, wrong))
    # Inserted before and then swapped with the line below it: sed has no insertion after the last line that keeps leading blanks.
    swap = edit(handle.file, f"{number}{{h;d}};{number + 1}{{G}}")
    return _state("overruled_line", handle, f"{later}\n{swap}", edit(handle.file, f"{number + 1}d"), wrong, [handle.value])


def indent_with_blanks(healthy: Healthy, handle: Handle, dice: random.Random) -> Fault | None:
    """Blanks where a tab has to stand."""
    number = find_line(healthy, handle) if isinstance(handle, Line) else None
    if not isinstance(handle, Line) or not number or not read_lines(healthy, handle.file)[number - 1].startswith("\t"):
        return None
    broken, mended = edit(handle.file, f"{number}s|^\\t|        |"), edit(handle.file, f"{number}s|^        |\\t|")
    return _state("blanks_for_tab", handle, broken, mended, "", [])


def _write(operator: str, handle: Line, text: str, wrong: str, right: list[str]) -> Fault:
    broken, mended = substitute(handle.file, handle.text, text), substitute(handle.file, text, handle.text)
    return _state(operator, handle, broken, mended, wrong, right)


def _state(operator: str, handle: Line, broken: str, mended: str, wrong: str, right: list[str]) -> Fault:
    needed = [*(each for each in right if each), *handle.facts]
    return Fault(
        operator=operator,
        handle=handle.name,
        places=[handle.file],
        break_script=broken,
        mend_script=mended,
        wrong=wrong,
        right=needed,
    )
