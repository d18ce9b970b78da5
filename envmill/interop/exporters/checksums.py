"""Numbers with checksums: cards, accounts and national identification numbers. A random number is
seldom valid.

digits ─► weights of the number's office ─► whether the last digits follow from the others
"""

import re
from collections.abc import Callable, Mapping, Sequence

_CARD = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|"
    r"[3-8]\d)\d{12}|6(?:011|5\d\d|2\d\d)\d{12}"
)


def passes_luhn(digits: str) -> bool:
    """Luhn's checksum, used by cards and by national numbers of Canada and Sweden."""
    doubled = [int(one) * (2 if place % 2 else 1) for place, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def is_card(digits: str) -> bool:
    """Whether a card number has a known issuer and a valid checksum."""
    return bool(_CARD.fullmatch(digits)) and len({*digits}) >= 4 and passes_luhn(digits)


def is_iban(value: str) -> bool:
    """Whether it is a valid IBAN without spaces."""
    return (
        15 <= len(value) <= 34
        and int("".join(str(int(one, 36)) for one in value[4:] + value[:4])) % 97 == 1
    )


def is_national(value: str) -> bool:
    """Whether it is a valid national identification number of some country."""
    bare = re.sub(r"[ ./-]", "", value).upper()
    if re.fullmatch(r"\d{9}", bare) and re.fullmatch(r"\d{3}-\d{2}-\d{4}", value):
        return False  # of the United States, whose numbers have a rule of their own
    return len({*bare}) > 3 and any(
        holds(bare) for shape, holds in _NATIONAL.items() if re.fullmatch(shape, bare)
    )


def _weigh(digits: str, weights: Sequence[int]) -> int:
    return sum(int(one) * weight for one, weight in zip(digits, weights, strict=False))


def _is_netherlands(digits: str) -> bool:
    return _weigh(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _is_canada_or_netherlands(digits: str) -> bool:
    return (digits[0] not in "08" and passes_luhn(digits)) or _is_netherlands(digits)


def _is_poland(digits: str) -> bool:
    return _weigh(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0 and _is_day(
        int(digits[2:4]) % 20, digits[4:6]
    )


def _is_brazil(digits: str) -> bool:
    return all(
        _weigh(digits[:length], range(length + 1, 1, -1)) * 10 % 11 % 10 == int(digits[length])
        for length in (9, 10)
    )


def _is_turkey(digits: str) -> bool:
    odd, even = sum(map(int, digits[0:9:2])), sum(map(int, digits[1:8:2]))
    return (
        digits[0] != "0"
        and (odd * 7 - even) % 10 == int(digits[9])
        and sum(map(int, digits[:10])) % 10 == int(digits[10])
    )


def _is_norway(digits: str) -> bool:
    first = _weigh(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
    return first and _weigh(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _is_germany(digits: str) -> bool:
    product = 10
    for one in digits[:10]:
        product = ((int(one) + product) % 10 or 10) * 2 % 11
    return digits[0] != "0" and (11 - product) % 10 == int(digits[10])


def _has_eleven(digits: str) -> bool:
    return any(
        holds(digits) for holds in (_is_poland, _is_brazil, _is_turkey, _is_norway, _is_germany)
    )


def _is_romania(digits: str) -> bool:
    rest = _weigh(digits, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return (1 if rest == 10 else rest) == int(digits[12]) and _is_day(int(digits[3:5]), digits[5:7])


def _is_switzerland(digits: str) -> bool:
    return digits.startswith("756") and _weigh(digits, (1, 3) * 6 + (1,)) % 10 == 0


def _has_thirteen(digits: str) -> bool:
    korea = digits[6] in "12345678" and _is_day(int(digits[2:4]), digits[4:6])
    return korea or _is_romania(digits) or _is_switzerland(digits)


def _is_france(digits: str) -> bool:
    return (
        digits[0] in "12"
        and 1 <= int(digits[3:5]) <= 12
        and 97 - int(digits[:13]) % 97 == int(digits[13:])
    )


def _is_china(value: str) -> bool:
    rest = _weigh(value[:17], (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)) % 11
    return (
        "10X98765432"[rest] == value[17]
        and _is_day(int(value[10:12]), value[12:14])
        and value[6:8] in ("19", "20")
    )


def _is_sweden(digits: str) -> bool:
    return passes_luhn(digits) and _is_day(int(digits[2:4]), digits[4:6])


def _is_finland(value: str) -> bool:
    digits = re.sub(r"\D", "", value[:6] + value[-4:-1])
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(digits) % 31] == value[-1] and _is_day(
        int(value[2:4]), value[:2]
    )


def _is_spain(value: str) -> bool:
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(value[:8]) % 23] == value[-1]


def _is_day(month: int, day: str) -> bool:
    return 1 <= month <= 12 and 1 <= int(day) <= 31


_NATIONAL: Mapping[str, Callable[[str], bool]] = {
    r"\d{9}": _is_canada_or_netherlands,
    r"\d{10}": _is_sweden,
    r"\d{11}": _has_eleven,
    r"\d{13}": _has_thirteen,
    r"\d{15}": _is_france,
    r"\d{17}[\dX]": _is_china,
    r"\d{6}[+A-F]?\d{3}[0-9A-Y]": _is_finland,
    r"\d{8}[A-Z]": _is_spain,
    r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]": bool,
}
"""Pattern without separators → checksum rule."""
