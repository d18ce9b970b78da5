"""Faults in one line of a file: a wrong value, or a line that is missing, doubled, overruled or no
longer parsed."""

from functools import partial

from envmill.kinds.terminal.breaking.base import (
    Operator,
    OperatorInput,
    edit,
    find_line,
    insert,
    read_lines,
    substitute,
)
from schemas.system import Fault, FileLine


def spoil_value(operator: str) -> Operator:
    """A value that looks right. What sort of value it is gives the operator its name: what is
    noticed and where one looks differ."""
    return partial(_spoil_value, operator)


def _spoil_value(operator: str, spot: OperatorInput) -> Fault | None:
    if (
        not isinstance(spot.handle, FileLine)
        or not spot.handle.wrong
        or not find_line(spot.healthy, spot.handle)
    ):
        return None
    wrong = spot.dice.choice(spot.handle.wrong)
    return _write(
        operator,
        spot.handle,
        spot.handle.text.replace(spot.handle.value, wrong),
        wrong,
        [spot.handle.value],
    )


def swap_keys(spot: OperatorInput) -> Fault | None:
    """Two values of a line in each other's place."""
    if (
        not isinstance(spot.handle, FileLine)
        or not spot.handle.partner
        or not find_line(spot.healthy, spot.handle)
    ):
        return None
    swapped = (
        spot.handle.text.replace(spot.handle.value, "\0")
        .replace(spot.handle.partner, spot.handle.value)
        .replace("\0", spot.handle.partner)
    )
    return _write(
        "swapped_keys", spot.handle, swapped, swapped, [spot.handle.value, spot.handle.partner]
    )


def break_syntax(spot: OperatorInput) -> Fault | None:
    """The last character is gone: a semicolon, a brace, a quote."""
    if not isinstance(spot.handle, FileLine) or not find_line(spot.healthy, spot.handle):
        return None
    return _write("broken_syntax", spot.handle, spot.handle.text[:-1], spot.handle.text[:-1], [])


def miss_line(spot: OperatorInput) -> Fault | None:
    number = find_line(spot.healthy, spot.handle) if isinstance(spot.handle, FileLine) else None
    if (
        not isinstance(spot.handle, FileLine)
        or not number
        or number >= len(read_lines(spot.healthy, spot.handle.file)) - 1
    ):
        return None
    whole = read_lines(spot.healthy, spot.handle.file)[number - 1]
    broken, mended = edit(spot.handle.file, f"{number}d"), insert(spot.handle.file, number, whole)
    return _state("missing_line", spot.handle, broken, mended, "", [spot.handle.value])


def comment_line(spot: OperatorInput) -> Fault | None:
    number = find_line(spot.healthy, spot.handle) if isinstance(spot.handle, FileLine) else None
    if not isinstance(spot.handle, FileLine) or not number:
        return None
    broken, mended = (
        edit(spot.handle.file, f"{number}s|^|#|"),
        edit(spot.handle.file, f"{number}s|^#||"),
    )
    return _state("commented_line", spot.handle, broken, mended, "", [], shares=True)


def double_line(spot: OperatorInput) -> Fault | None:
    """The same line twice, where it may stand once."""
    number = find_line(spot.healthy, spot.handle) if isinstance(spot.handle, FileLine) else None
    if not isinstance(spot.handle, FileLine) or not number:
        return None
    return _state(
        "doubled_line",
        spot.handle,
        edit(spot.handle.file, f"{number}p"),
        edit(spot.handle.file, f"{number}d"),
        "",
        [],
    )


def overrule_line(spot: OperatorInput) -> Fault | None:
    """A later line with another value, which wins; the right one still stands above it."""
    number = find_line(spot.healthy, spot.handle) if isinstance(spot.handle, FileLine) else None
    if not isinstance(spot.handle, FileLine) or not number or not spot.handle.wrong:
        return None
    wrong = spot.dice.choice(spot.handle.wrong)
    later = insert(spot.handle.file, number, spot.handle.text.replace(spot.handle.value, wrong))
    # Inserted before and then swapped with the line below it: sed has no insertion after the last
    # line that keeps leading blanks.
    swap = edit(spot.handle.file, f"{number}{{h;d}};{number + 1}{{G}}")
    return _state(
        "overruled_line",
        spot.handle,
        f"{later}\n{swap}",
        edit(spot.handle.file, f"{number + 1}d"),
        wrong,
        [spot.handle.value],
    )


def indent_with_blanks(spot: OperatorInput) -> Fault | None:
    """Blanks where a tab has to stand."""
    number = find_line(spot.healthy, spot.handle) if isinstance(spot.handle, FileLine) else None
    if (
        not isinstance(spot.handle, FileLine)
        or not number
        or not read_lines(spot.healthy, spot.handle.file)[number - 1].startswith("\t")
    ):
        return None
    broken, mended = (
        edit(spot.handle.file, f"{number}s|^\\t|        |"),
        edit(spot.handle.file, f"{number}s|^        |\\t|"),
    )
    return _state("blanks_for_tab", spot.handle, broken, mended, "", [])


def _write(operator: str, handle: FileLine, text: str, wrong: str, right: list[str]) -> Fault:
    broken, mended = (
        substitute(handle.file, handle.text, text),
        substitute(handle.file, text, handle.text),
    )
    return _state(operator, handle, broken, mended, wrong, right, shares=True)


def _state(
    operator: str,
    handle: FileLine,
    broken: str,
    mended: str,
    wrong: str,
    right: list[str],
    shares: bool = False,
) -> Fault:
    needed = [*(each for each in right if each), *handle.facts]
    return Fault(
        operator=operator,
        handle=handle.name,
        places=[handle.file],
        break_script=broken,
        mend_script=mended,
        shares=shares,
        wrong=wrong,
        right=needed,
    )
