"""Scan of an export: data of real people, secrets, and licence notices that a row's own licence
does not cover.

row ─► its texts ─► patterns of data/scan.toml, checksums, entropy ─► findings, masked ─► the row stays until somebody accepts it

Authors are to invent their worlds: domains, numbers and addresses that are reserved for examples
are nobody's, and are never found.
"""

import math
import re
import tomllib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from envmill.base.settings import ROOT
from envmill.interop.exporters.checksums import is_card, is_iban, is_national
from schemas.base import Json, is_array, is_object

Check: TypeAlias = Callable[[re.Match[str]], bool]
RULES = ROOT / "data/scan.toml"
_RESERVED = re.compile(
    r"(?:^|\.)(?:example(?:\.(?:com|org|net|edu))?|test|invalid|localhost|local|internal|lan|"
    r"home\.arpa)$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|change.?me|placeholder|your[-_]|xxxx|\*\*\*|<[^>]+>|\.\.\.|…|redacted|"
    r"fake|(.)\1{5}",
    re.IGNORECASE,
)
_NOBODY = re.compile(r"(?:git|no-?reply|mailer-daemon)@", re.IGNORECASE)
_ENDINGS = frozenset((
    "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "name", "pro", "museum", "aero", "coop", "jobs", "mobi",
    "travel", "xxx", "app", "dev", "cloud", "online", "site", "store", "tech", "xyz", "club", "blog", "email", "live", "life",
    "world", "today", "agency", "academy", "school", "clinic", "health", "care", "bank", "insurance", "law", "legal", "group",
    "team", "company", "business", "solutions", "services", "systems", "network", "digital", "media", "studio", "design",
    "art", "news", "press", "social", "support", "software", "games", "finance", "money", "house", "garden", "coffee",
    "restaurant", "hotel", "global", "eco", "earth", "farm", "wine", "berlin", "london", "paris", "wien", "bayern", "hamburg",
    "koeln", "cat", "asia", "fm", "tv",
))  # fmt: skip
"""Domain endings other than countries. `getty@tty1.service` and `weights@self.bias` are not
addresses."""
_CARDS = frozenset((
    "4111111111111111", "4242424242424242", "4012888888881881", "4000056655665556", "4000000000000002", "4000002500003155",
    "5555555555554444", "5105105105105100", "5200828282828210", "2223003122003222", "378282246310005", "371449635398431",
    "6011111111111117", "6011000990139424", "30569309025904", "38520000023237", "3530111333300000", "3566002020360505",
))  # fmt: skip
"""Card numbers that payment services publish for tests. The next two sets hold test numbers of banks
and offices."""
_IBANS = frozenset(
    (
        "DE89370400440532013000",
        "GB29NWBK60161331926819",
        "GB82WEST12345698765432",
        "FR1420041010050500013M02606",
    )
)
_IDS = frozenset(
    ("078051120", "219099999", "123456789", "111223333", "QQ123456C", "12345678Z", "7569217076985")
)
_RESOLVERS = frozenset(
    ("2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111", "2606:4700:4700::1001")
)
_FICTION = re.compile(
    r"\+?1?(?:\d{3}555\d{4}|555\d{7})|.*(?:5550\d{3}|555\d{4})"
    r"|(?:\+44|0)(?:1632960\d{3}|7700900\d{3}|2079460\d{3}|11[3-8]4960\d{3}|1[2-9]14960\d{3}|"
    r"1914980\d{3}|8081570\d{3}|9098790\d{3}"
    r"|2896496\d{3}|2920180\d{3}|3069990\d{3})"
    r"|(?:\+49|0)(?:3023125\d{3}|6990009\d{3}|4066969\d{3}|2214710\d{3}|8999998\d{3}|"
    r"17139200\d{2}|176040690\d{2})"
    r"|(?:\+33|0)(?:19900|26191|35301|46571|53649|63998)\d{4}|(?:\+61|0)(?:[2378](?:5550|"
    r"7010)\d{4}|491570\d{3})"
    r"|(?:\+46|0)(?:3139006\d{2}|406280[45]\d{2}|8465004\d{2}|7017406\d{2})"
)
"""Telephone numbers that are reserved for films and examples."""
_COUNTED = ("01234567890123456789", "98765432109876543210")
_DAY = re.compile(
    r"(?:19|20)\d\d[-./ ]?[01]\d[-./ ]?[0-3]\d|[0-3]?\d[-./][01]?\d[-./](?:19|20)\d\d"
)
_RANDOM, _RANDOM_OF_FEWER = 3.4, 4.2
"""Bits per character from which a value counts as random; the second bound is for values without
letters of one case."""
_BETWEEN = "\0\n\0"
"""Separator of a row's texts, which are searched as one text. No pattern matches across it."""
_COMMON_HOMES = frozenset(
    (
        "/",
        "/root",
        "/home/user",
        "/home/ubuntu",
        "/home/runner",
        "/home/agent",
        "/home/app",
        "/home/dev",
        "/home/vagrant",
    )
)


@dataclass(frozen=True)
class ScanFinding:
    """A text that should not be exported."""

    kind: str
    place: str
    """Path within the row."""
    shown: str
    """The beginning of the text: enough to find it, too little to use it."""
    value: str = field(default="", repr=False)
    """The whole text, which is never written down."""

    def describe(self) -> dict[str, Json]:
        return {"kind": self.kind, "place": self.place, "shown": self.shown}


def scan(
    row: Json, licence: str = "", clean: set[tuple[str, str]] | None = None
) -> list[ScanFinding]:
    """Findings in a row. `licence`: the row's own licence. `clean`: texts without findings, with
    the licence of their row; they are not searched again, and this row's clean texts are added."""
    found: dict[tuple[str, str], ScanFinding] = {}
    rules = _read_rules()
    home = str(Path.home())
    places: dict[str, str] = {}
    clean = set() if clean is None else clean
    for place, text in _list_texts(row, ""):
        if (text, licence) not in clean:
            places.setdefault(text, place)
    whole = _BETWEEN.join(places)
    ends = [*accumulate(len(text) + len(_BETWEEN) for text in places)]
    texts, marked = [*places], set[str]()

    def note(kind: str, match: re.Match[str], value: str, shown: str = "") -> None:
        text = texts[bisect(ends, match.start())]
        marked.add(text)
        found.setdefault((kind, value), _note(kind, places[text], value, shown))

    for rule in rules.rules:
        for match in rule.pattern.finditer(whole) if rule.needs in whole else ():
            value = (match.groupdict().get("value") or match[0]).strip()
            if rule.holds(match) and not (rules.allowed and rules.allowed.search(value)):
                note(rule.kind, match, value)
    if home not in _COMMON_HOMES:
        for match in re.finditer(re.escape(home), whole):
            note("home", match, home)
    for name, pattern in rules.notices:
        if not (name and name in licence.casefold()):
            for match in pattern.finditer(whole):
                note("licence", match, match[0], match[0][:60])
    clean.update((text, licence) for text in texts if text not in marked)
    return [*found.values()]


def _note(kind: str, place: str, value: str, shown: str) -> ScanFinding:
    return ScanFinding(kind, place, shown or f"{value[:4]}… ({len(value)} characters)", value)


@dataclass(frozen=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    holds: Check
    needs: str
    """Strings of which a text must contain one to be searched with this pattern. Most texts are
    skipped quickly."""


@dataclass(frozen=True)
class _Rules:
    rules: tuple[_Rule, ...]
    notices: tuple[tuple[str, re.Pattern[str]], ...]
    allowed: re.Pattern[str] | None


@cache
def _read_rules() -> _Rules:
    told = tomllib.loads(RULES.read_text(encoding="utf-8"))
    labels: Mapping[str, str] = told["labels"]
    rules = tuple(
        _Rule(
            one["kind"],
            re.compile(_fill(pattern, labels)),
            _CHECKS[one["check"]],
            one.get("needs", ""),
        )
        for one in told["rules"]
        for pattern in one["patterns"]
    )
    notices = tuple(
        (one["name"], re.compile("|".join(one["patterns"]), re.IGNORECASE))
        for one in told["notices"]
    )
    return _Rules(
        rules, notices, re.compile("|".join(told["allowed"])) if told["allowed"] else None
    )


def _fill(pattern: str, labels: Mapping[str, str]) -> str:
    """A pattern with the labels in it."""
    for name, label in labels.items():
        pattern = pattern.replace(f"<{name}>", label)
    return pattern


def _list_texts(value: Json, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**8:
        yield place, str(value)
    elif is_object(value):
        for name, one in value.items():
            if isinstance(one, str) and len(one) < 200:
                # A secret is told by its name, which stands apart from it here.
                yield f"{place}.{name}", f"{name} = {one}"
            else:
                yield f"{place}.{name}", name
                yield from _list_texts(one, f"{place}.{name}")
    elif is_array(value):
        for number, one in enumerate(value):
            yield from _list_texts(one, f"{place}[{number}]")


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _is_no_placeholder(match: re.Match[str]) -> bool:
    return not _PLACEHOLDER.search(match[0])


def _is_real_mail(match: re.Match[str]) -> bool:
    ending = match["domain"].rsplit(".", 1)[-1].casefold()
    known = len(ending) == 2 or ending in _ENDINGS
    return known and not _NOBODY.match(match[0]) and _is_real_address(match)


def _is_real_address(match: re.Match[str]) -> bool:
    return not _RESERVED.search(match["domain"]) and _is_no_placeholder(match)


def _is_real_phone(match: re.Match[str]) -> bool:
    value = match.groupdict().get("value") or match[0]
    digits = _digits(re.sub(r"\(0\)", "", value))
    number = (
        f"+{digits}"
        if value.startswith("+")
        else f"+{digits[2:]}"
        if digits.startswith("00")
        else digits
    )
    counted = any(digits[-10:] in one for one in _COUNTED)
    least = 10 if number.startswith("+") else 8
    return (
        least <= len(digits) <= 15
        and not _FICTION.fullmatch(number)
        and not counted
        and len({*digits}) > 3
        and not _DAY.match(value)
    )


def _is_card(match: re.Match[str]) -> bool:
    return (digits := _digits(match[0])) not in _CARDS and is_card(digits)


def _is_iban(match: re.Match[str]) -> bool:
    return (value := re.sub(r"\s", "", match[0])) not in _IBANS and is_iban(value)


def _is_public_address(match: re.Match[str]) -> bool:
    """Version numbers have small parts, and public resolvers belong to no person."""
    try:
        address = ip_address(match[0])
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or match[0].casefold() in _RESOLVERS:
        return False
    parts = [int(one) for one in match[0].split(".")] if address.version == 4 else []
    return not parts or (sum(one >= 20 for one in parts) >= 2 and len({*parts}) > 1)


def _is_social_number(match: re.Match[str]) -> bool:
    digits = _digits(match[0])
    return (
        digits not in _IDS
        and digits[:3] not in ("000", "666")
        and digits[0] != "9"
        and digits[3:5] != "00"
        and digits[5:] != "0000"
    )


def _is_insurance_number(match: re.Match[str]) -> bool:
    value = re.sub(r"\s", "", match[0])
    return value not in _IDS and value[:2] not in ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ")


def _is_national(match: re.Match[str]) -> bool:
    value = match.groupdict().get("value") or match[0]
    bare = re.sub(r"[ ./-]", "", value)
    return bare not in _IDS and not any(bare in one for one in _COUNTED) and is_national(value)


def _is_random(match: re.Match[str]) -> bool:
    """Whether characters are mixed as in no word. Hexadecimal digits alone may be an id and do not
    count."""
    value = match["value"]
    if (
        _PLACEHOLDER.search(value)
        or not re.search(r"\d", value)
        or not re.search(r"[A-Za-z]", value)
    ):
        return False
    bits = -sum(one / len(value) * math.log2(one / len(value)) for one in Counter(value).values())
    if re.search(r"[a-z]", value) and re.search(r"[A-Z]", value):
        return bits >= _RANDOM
    return (
        bits >= _RANDOM_OF_FEWER
        and len(re.findall(r"\d+", value)) >= 3
        and not re.fullmatch(r"[0-9A-Fa-f-]+", value)
    )


_CHECKS: Mapping[str, Check] = {
    "any": bool,
    "placeholder": _is_no_placeholder,
    "mail": _is_real_mail,
    "address": _is_real_address,
    "phone": _is_real_phone,
    "card": _is_card,
    "iban": _is_iban,
    "public_address": _is_public_address,
    "social_number": _is_social_number,
    "insurance_number": _is_insurance_number,
    "national": _is_national,
    "random": _is_random,
}
