"""Scan of what is about to leave: data of real people, secrets, and licence notices that a row's own licence does not cover.

row ─► its texts ─► patterns of data/scan.toml, checksums, entropy ─► findings, masked ─► the row stays until somebody accepts it

Authors are to invent their worlds: domains, numbers and addresses that are reserved for examples are nobody's, and are never found.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import AddressValueError, IPv4Address
from typing import TypeAlias

from envmill.settings import ROOT
from schemas.base import Json, is_array, is_object

Check: TypeAlias = Callable[[re.Match[str]], bool]
RULES = ROOT / "data/scan.toml"
_RESERVED = re.compile(
    r"(?:^|\.)(?:example(?:\.(?:com|org|net|edu))?|test|invalid|localhost|local|internal|lan|home\.arpa)$", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|change.?me|placeholder|your[-_]|xxxx|\*\*\*|<[^>]+>|\.\.\.|…|redacted|fake|(.)\1{5}", re.IGNORECASE
)
_CARDS = frozenset((
    "4111111111111111", "4242424242424242", "4012888888881881", "4000056655665556", "4000000000000002", "4000002500003155",
    "5555555555554444", "5105105105105100", "5200828282828210", "2223003122003222", "378282246310005", "371449635398431",
    "6011111111111117", "6011000990139424",
))  # fmt: skip
"""Numbers that payment services publish for tests; below are those of banks and offices."""
_IBANS = frozenset(("DE89370400440532013000", "GB29NWBK60161331926819", "GB82WEST12345698765432", "FR1420041010050500013M02606"))
_IDS = frozenset(("078051120", "219099999", "123456789", "111223333", "QQ123456C", "12345678Z"))
_CARD = re.compile(r"4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}")
_FICTION = re.compile(
    r"\+?1?(?:\d{3}555\d{4}|555\d{7})"
    r"|(?:\+44|0)(?:1632960\d{3}|7700900\d{3}|2079460\d{3}|11[3-8]4960\d{3}|1[2-9]14960\d{3}|8081570\d{3}|9098790\d{3})"
    r"|(?:\+33|0)199000\d{3}|(?:\+61|0)[2378]\d{3}5550\d{3}"
)
"""Telephone numbers that are kept for films and examples."""
_RANDOM = 3.6
"""Bits a character from which a value was made by chance, and not by a person."""


@dataclass(frozen=True)
class ScanFinding:
    """Something that should not leave."""

    kind: str
    place: str
    """Path within the row."""
    shown: str
    """Its beginning: enough to find it, too little to use it."""

    def describe(self) -> dict[str, Json]:
        return {"kind": self.kind, "place": self.place, "shown": self.shown}


def scan(row: Json, licence: str = "") -> list[ScanFinding]:
    """What of a row should not leave. `licence`: what the row is said to be under."""
    found: dict[tuple[str, str], ScanFinding] = {}
    rules, notices = _read_rules()
    for place, text in _list_texts(row, ""):
        for kind, pattern, holds in rules:
            for match in pattern.finditer(text):
                if holds(match):
                    value = match[0].strip()
                    found.setdefault((kind, value), ScanFinding(kind, place, f"{value[:4]}… ({len(value)} characters)"))
        for name, pattern in notices:
            if (match := pattern.search(text)) and not (name and name in licence.casefold()):
                found.setdefault(("licence", match[0]), ScanFinding("licence", place, match[0][:60]))
    return [*found.values()]


@cache
def _read_rules() -> tuple[tuple[tuple[str, re.Pattern[str], Check], ...], tuple[tuple[str, re.Pattern[str]], ...]]:
    told = tomllib.loads(RULES.read_text(encoding="utf-8"))
    rules = tuple((one["kind"], re.compile(pattern), _CHECKS[one["check"]]) for one in told["rules"] for pattern in one["patterns"])
    return rules, tuple((one["name"], re.compile("|".join(one["patterns"]), re.IGNORECASE)) for one in told["notices"])


def _list_texts(value: Json, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**8:
        yield place, str(value)
    elif is_object(value):
        for name, one in value.items():
            yield f"{place}.{name}", name
            yield from _list_texts(one, f"{place}.{name}")
            if isinstance(one, str) and len(one) < 200:
                # A secret is told by its name, which stands apart from it here.
                yield f"{place}.{name}", f"{name} = {one}"
    elif is_array(value):
        for number, one in enumerate(value):
            yield from _list_texts(one, f"{place}[{number}]")


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _is_no_placeholder(match: re.Match[str]) -> bool:
    return not _PLACEHOLDER.search(match[0])


def _is_real_mail(match: re.Match[str]) -> bool:
    return not _RESERVED.search(match["domain"]) and _is_no_placeholder(match)


def _is_real_phone(match: re.Match[str]) -> bool:
    digits = _digits(match[0])
    spelled = f"+{digits}" if match[0].startswith("+") else digits
    return 9 <= len(digits) <= 15 and not _FICTION.fullmatch(spelled) and len({*digits}) > 3


def _is_card(match: re.Match[str]) -> bool:
    digits = _digits(match[0])
    if digits in _CARDS or len({*digits}) < 4 or not _CARD.fullmatch(digits):
        return False
    doubled = [int(one) * (2 if place % 2 else 1) for place, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def _is_iban(match: re.Match[str]) -> bool:
    value = re.sub(r"\s", "", match[0])
    return 15 <= len(value) <= 34 and value not in _IBANS and int("".join(str(int(one, 36)) for one in value[4:] + value[:4])) % 97 == 1


def _is_public_address(match: re.Match[str]) -> bool:
    """Numbers of versions are small, and resolvers that everybody knows are nobody's."""
    try:
        address = IPv4Address(match[0])
    except AddressValueError:
        return False
    parts = [int(one) for one in match[0].split(".")]
    return address.is_global and not address.is_multicast and sum(one >= 20 for one in parts) >= 2 and len({*parts}) > 1


def _is_social_number(match: re.Match[str]) -> bool:
    digits = _digits(match[0])
    return digits not in _IDS and digits[:3] not in ("000", "666") and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"


def _is_insurance_number(match: re.Match[str]) -> bool:
    value = re.sub(r"\s", "", match[0])
    return value not in _IDS and value[:2] not in ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ")


def _is_identity_card(match: re.Match[str]) -> bool:
    return match[0] not in _IDS and "TRWAGMYFPDXBNJZSQVHLCKE"[int(match[0][:8]) % 23] == match[0][-1]


def _is_random(match: re.Match[str]) -> bool:
    value = match["value"]
    if _PLACEHOLDER.search(value) or not re.search(r"\d", value) or not re.search(r"[A-Za-z]", value):
        return False
    mixed = re.search(r"[a-z]", value) and re.search(r"[A-Z]", value)
    bits = -sum(one / len(value) * math.log2(one / len(value)) for one in Counter(value).values())
    return bool(mixed) and bits >= _RANDOM


_CHECKS: Mapping[str, Check] = {
    "any": bool,
    "placeholder": _is_no_placeholder,
    "mail": _is_real_mail,
    "address": _is_real_mail,
    "phone": _is_real_phone,
    "card": _is_card,
    "iban": _is_iban,
    "public_address": _is_public_address,
    "social_number": _is_social_number,
    "insurance_number": _is_insurance_number,
    "identity_card": _is_identity_card,
    "random": _is_random,
}
