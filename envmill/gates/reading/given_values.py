"""Values that people know without being told: values listed in a tool's interface, and numbers that
other words stand for.

schema, descriptions ─► values listed there                  `planned, under_way, done or cancelled`
`the third floor`, `a dozen`, `25 kg`, `one more` ─► 3, 12, 25000, an existing amount plus one
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from envmill.gates.reading.known_values import KnownValues, holds_words, read_day, read_plain_number
from envmill.gates.reading.question import stem
from envmill.language.words import normalise, split_words
from schemas.base import Json, is_array, is_object
from schemas.environment import Tool

_EXAMPLES = re.compile(
    r"(?i)\b(?:such as|for example|for instance|e\.g\.|like|say)\b[^.;)]*|\((?:e\.g\.|such as|for "
    r"example)[^)]*\)"
)
"""Examples in a description, which do not count as listed."""
_ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
_TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_COUNTS: Mapping[str, Decimal] = {
    **{word: Decimal(place) for place, word in enumerate(_ORDINALS)},
    **{word: Decimal(13 + place) for place, word in enumerate(_TEENS)},
    **{word: Decimal(10 * (2 + place)) for place, word in enumerate(_TENS)},
    **dict.fromkeys(("single", "once"), Decimal(1)),
    **dict.fromkeys(("both", "couple", "pair", "twice", "double", "twin", "twins"), Decimal(2)),
    **{
        "triple": Decimal(3),
        "triplets": Decimal(3),
        "dozen": Decimal(12),
        "fortnight": Decimal(14),
        "score": Decimal(20),
    },
    **{
        "hundred": Decimal(100),
        "thousand": Decimal(1000),
        "half": Decimal("0.5"),
        "halves": Decimal("0.5"),
        "quarter": Decimal("0.25"),
    },
    **{
        "ground": Decimal(0),
        "nothing": Decimal(0),
        "none": Decimal(0),
        "free": Decimal(0),
        "empty": Decimal(0),
    },
}
"""Words for numbers, other than the plain ones up to twelve."""
_FACTORS = tuple(map(Decimal, (7, 12, 24, 30, 60, 100, 1000, 3600)))
"""Days per week, months per year, units per dozen, hours per day, minutes per hour, cents per euro,
grams per kilogram, and the like."""
_UNITS = re.compile(
    r"(?i)\d\s*(?:kg|km|kilo\w*|g|grams?|t|tonnes?|tons?|m|metres?|meters?|cm|mm|l|lit\w+|ml|h|"
    r"hrs?|hours?|min\w*|s|secs?|seconds?|days?"
    r"|weeks?|months?|years?|eur\w*|usd|gbp|dollars?|pounds?|dozens?|percent|per cent|k)\b|"
    r"[$€£]\s?\d|\d\s?[€£%]"
)
_HUNDREDFOLD = re.compile(
    r"(?i)\b(?:euros?|eur|usd|gbp|chf|dollars?|pounds?|francs?|metres?|meters?)\b|\d\s?(?:m|"
    r"eur)\b|[$€£]"
)
"""Units that programs count in hundredths."""
_STEP = re.compile(
    r"\b(?:more|less|fewer|another|extra|additional|further|increase\w*|rais\w+|lower\w*|reduc\w+|"
    r"cut|up by|down by"
    r"|on top|than|longer|shorter"
    r"|later|earlier|plus|minus|off|discount)\b"
)
_SHARE = re.compile(
    r"\b(?:as many|as much|just as|each|apiece|every|per|times|twice|double\w*|triple\w*|half|"
    r"quarter|percent"
    r"|per cent|same|equal\w*|split|share"
    r"|(?:day|week|month|year|night)(?:s'|'s))|%"
)
_WHOLE = re.compile(
    r"\b(?:both|everything|remain\w*|left(?! to (?:do|be done|ask|say)\b)|total|sum|difference|"
    r"whatever|whole"
    r"|as (?:early|late|soon|long|few|little|far)|earliest|latest)\b"
)
"""Words that derive an amount from existing ones: by adding, as a share, or as the whole."""


def list_values(tool: Tool | None, path: str) -> tuple[list[Json], str]:
    """Values in the schema of an argument, and the interface's words about it without examples."""
    schema: Json = tool.parameters if tool else {}
    for name in path.split("."):
        schema = _unwrap(schema)
        properties: Json = schema.get("properties", {}) if is_object(schema) else {}
        schema = properties.get(name, {}) if is_object(properties) else {}
    listed = list(_list_choices(schema))
    described = str(schema.get("description", "")) if is_object(schema) else ""
    words = f"{described}\n{tool.description if tool else ''}"
    return listed, normalise(_EXAMPLES.sub(" ", words))


def is_listed(value: Json, tool: Tool | None, path: str) -> bool:
    """Whether the interface lists the value. A number in a description is only a limit; one among
    choices is listed."""
    listed, words = list_values(tool, path)
    return value in listed or (
        isinstance(value, str) and holds_words(words.replace("_", " "), value.replace("_", " "))
    )


def _unwrap(schema: Json) -> Json:
    """The object inside lists and optional parts."""
    while is_object(schema) and "properties" not in schema:
        options: Json = schema.get("anyOf", [])
        inside: Json = schema.get("items") or next(
            (one for one in options if is_object(one) and one.get("type") != "null"), None
        )
        if not is_object(inside):
            break
        schema = inside
    return schema


def _list_choices(schema: Json) -> Iterator[Json]:
    if not is_object(schema):
        return
    choices: Json = schema.get("enum", [])
    yield from choices if is_array(choices) else ()
    if "const" in schema:
        yield schema["const"]
    options: Json = schema.get("anyOf", [])
    for inside in [schema.get("items"), *(options if is_array(options) else [])]:
        yield from _list_choices(inside)


def list_spoken(normal: str) -> set[Decimal]:
    """Numbers that a text says in words: ordinals, dozens, tens. `twenty-five` gives 20, 5 and
    25."""
    words = re.findall(r"[a-z]+", normal)
    found = [(place, _COUNTS[word]) for place, word in enumerate(words) if word in _COUNTS]
    tens = {place: number for place, number in found if number in range(20, 100, 10)}
    units = dict(
        zip(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
            map(Decimal, range(1, 10)),
            strict=True,
        )
    )
    joined = {
        number + units[words[place + 1]]
        for place, number in tens.items()
        if words[place + 1 : place + 2] and words[place + 1] in units
    }
    digits = {Decimal(one) for one in re.findall(r"\b(\d+)(?:st|nd|rd|th)\b", normal)}
    times = re.findall(r"\b(\d{1,2})(?:[:.h](\d\d))?\s?(p\.?m|a\.?m|o'clock|uhr)?\b", normal)
    hours = {
        Decimal(int(hour) + 12 * (half.startswith("p") and int(hour) < 12))
        for hour, minute, half in times
        if minute or half
    }
    return {number for _, number in found} | joined | digits | hours


def amounts_to(number: Decimal, told: KnownValues, there: set[Decimal]) -> bool:
    """Whether the number was said in other words or units, or words such as `more` derive it from
    existing amounts."""
    spoken = list_spoken(told.normal)
    if number in spoken:
        return True
    if _UNITS.search(told.plain) and any(
        number in (said * factor, said / factor) for said in told.numbers for factor in _FACTORS
    ):
        return True
    if is_in_hundredths(number, told):
        return True
    return is_combined(number, told.normal, told.numbers | spoken, there)


def is_combined(number: Decimal, normal: str, said: set[Decimal], there: set[Decimal]) -> bool:
    """Whether the words derive it from a said and an existing number, or from existing ones
    alone."""
    pairs = [(one, other) for one in said for other in there]
    if _STEP.search(normal) and any(
        number in (one + other, other - one, other + one * other / 100, other - one * other / 100)
        for one, other in pairs
    ):
        return True
    factors = [(one, other) for one, other in pairs if one not in (0, 1)]
    if _SHARE.search(normal) and (
        number in there
        or any(
            number in (one * other, one * other / 100, other / one, other - one * other / 100)
            for one, other in factors
        )
    ):
        return True
    if not _WHOLE.search(normal):
        return False
    return number in there or any(
        number in (one + other, one - other) for one in there for other in there
    )


def is_relative(normal: str) -> bool:
    """Whether a text derives an amount from existing ones."""
    return any(words.search(normal) for words in (_STEP, _SHARE, _WHOLE))


def has_units(text: str) -> bool:
    return _UNITS.search(text) is not None


def is_converted(number: Decimal, known: set[Decimal]) -> bool:
    """Whether it is a known number in another unit."""
    return any(number * factor in known or number / factor in known for factor in _FACTORS)


def is_in_hundredths(value: Json | Decimal, told: KnownValues) -> bool:
    """Whether the amount counts hundredths of what was said, as cents of euros."""
    number = read_plain_number(value)
    return number is not None and number / 100 in told.numbers and has_hundredths(told.plain)


def has_hundredths(text: str) -> bool:
    return _HUNDREDFOLD.search(text) is not None


def is_written_otherwise(value: str, told: KnownValues, seen: KnownValues) -> bool:
    """Whether a time of day, a weekday, a telephone number or a plural was said in another form."""
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?", value):
        return _mentions_time(told.normal)
    if value.casefold() in _WEEKDAYS:
        return (
            value.casefold()[:3] in re.findall(r"\b[a-z]{3}\b", told.normal)
            or _SOON.search(told.normal) is not None
            or value.casefold()
            in [_WEEKDAYS[date.fromisoformat(day).weekday()] for day in told.dates if read_day(day)]
            or (bool(told.dates) and _FROM_THERE.search(told.normal) is not None)
        )
    digits = re.sub(r"\D", "", value)
    if len(digits) >= _FEWEST_DIGITS and len(digits) > len(re.findall(r"[^\W\d_]", value)):
        return digits in re.sub(r"\D", "", told.plain)
    words = split_words(value.replace("_", " "))
    known = {find_root(word.removesuffix("'s")) for word in split_words(told.normal + seen.normal)}
    return bool(words) and all(find_root(word) in known for word in words)


def find_root(word: str) -> str:
    """One form for singular and plural, and for `ends`, `ended` and `ending`."""
    root = re.sub(r"(?:ing|ed)$", "", stem(word))
    return (root if len(root) >= _SHORTEST_ROOT else stem(word)).removesuffix("e")


_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SOON = re.compile(r"\b(?:today|tomorrow|tonight|yesterday|day after|weekend)\b")
_FROM_THERE = re.compile(r"\b(?:days|weeks?|nights|next|following|later|earlier)\b")
"""Words that count a day from another one."""
_SHORTEST_ROOT = 3
"""Length of the shortest verb without its ending."""
_FEWEST_DIGITS = 6
"""Digits of the shortest telephone or account number."""


def _mentions_time(normal: str) -> bool:
    return (
        re.search(
            r"\b\d{1,2}(?:[.:h]\d\d)?\s?(?:[ap]\.?m\b|o'clock|h\b|hrs?\b|hours?\b|uhr\b)|"
            r"\b(?:noon|midday|midnight"
            r"|half past|quarter (?:past|to)"
            r"|o'clock|same (?:time|hour)|hours? (?:later|earlier)|at (?:one|two|three|four|five|"
            r"six|seven|eight|nine|ten"
            r"|eleven|twelve))\b"
            r"|\b\d{4}\s?(?:h|hrs?|hours)\b|\bat \d{1,2}\b",
            normal,
        )
        is not None
    )
