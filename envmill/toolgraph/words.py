"""Names as words: `DBInstanceIdentifiers` and `db_instance_id` mean the same, `id` means whatever
it is the id of."""

import re
from functools import lru_cache

Words = tuple[str, ...]

IDENTIFIERS = frozenset(
    {
        "id",
        "arn",
        "token",
        "uuid",
        "guid",
        "handle",
        "etag",
        "hash",
        "checksum",
        "signature",
        "url",
        "uri",
        "href",
    }
)
"""Last words of what a user cannot be expected to say."""
REFERENCES = IDENTIFIERS | {"name", "key", "code", "number", "title", "email"}
"""Last words of what selects one thing: worth nothing for a thing of another kind."""
LABELS = frozenset({"tag", "label", "annotation"})
"""First words of what is put on things of any kind."""
CONTROL = frozenset(
    {"limit", "offset", "page", "cursor", "marker", "sort", "size", "format", "filter", "field"}
)
"""Last words of what steers a reply and says nothing about any record."""
BOUNDS = frozenset({"max", "min", "maximum", "minimum"})
"""First words of the same."""
COMMON = (
    REFERENCES
    | CONTROL
    | {
        "status",
        "state",
        "type",
        "kind",
        "value",
        "description",
        "date",
        "time",
        "version",
        "count",
        "message",
    }
)
"""Words that say nothing alone: equal only when what they are said of is equal."""
FREE_TEXTS = frozenset(
    {
        "body",
        "caption",
        "comment",
        "content",
        "description",
        "detail",
        "memo",
        "message",
        "note",
        "reason",
        "remark",
        "subject",
        "summary",
        "text",
        "title",
    }
)
"""Last words of parameters that a text made of others may go into. A bucket, a type or an address
is no such text."""
WRAPPERS = frozenset(
    {
        "data",
        "result",
        "item",
        "response",
        "body",
        "value",
        "list",
        "member",
        "payload",
        "output",
        "input",
        "content",
        "entry",
    }
)
"""Names of objects that only hold what is meant."""

ENDINGS = frozenset({"delete", "remove", "terminate", "deregister", "destroy", "drop", "purge"})
"""Verbs after which a thing is gone."""
BACKING_OUT = frozenset(
    {"cancel", "withdraw", "revoke", "retract", "void", "annul", "undo", "reverse"}
)
"""Verbs after which a thing is there, and is as if it had never been."""

_PART = re.compile(r"[A-Z]+s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
_STOPS = frozenset(
    {"by", "for", "of", "from", "to", "in", "with", "on", "at", "and", "or", "into", "via"}
)
_ALIKE = {"identifier": "id", "ident": "id"}
_ODD = {"aliases": "alias", "indices": "index", "indexes": "index", "statuses": "status", "children": "child", "people": "person",
        "analyses": "analysis", "buses": "bus", "movies": "movie", "cookies": "cookie"}  # fmt: skip
_SINGULAR = frozenset(
    {
        "status",
        "address",
        "access",
        "dns",
        "alias",
        "sms",
        "sns",
        "sqs",
        "ses",
        "aws",
        "ebs",
        "rds",
        "ecs",
        "eks",
        "efs",
        "kms",
    }
)


@lru_cache(maxsize=100_000)
def split_name(name: str) -> Words:
    """Words in small letters and the singular."""
    return tuple(
        _ALIKE.get(word, word)
        for word in map(make_singular, (part.lower() for part in _PART.findall(name)))
    )


@lru_cache(maxsize=100_000)
def make_singular(word: str) -> str:
    """By spelling alone; a word it gets wrong it gets wrong everywhere, so that the same stays the
    same."""
    if (len(word) < 4 and word != "ids") or word in _SINGULAR or word.endswith(("ss", "us", "is")):
        return word
    if word in _ODD:
        return _ODD[word]
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def find_entity(tool: str) -> Words:
    """What a tool is about by its name: what follows the verb, up to the first preposition."""
    words = split_name(tool)
    verbs = 2 if words[:1] == ("batch",) else 1
    rest = words[verbs:] or words[1:] or words
    stop = next((place for place, word in enumerate(rest) if word in _STOPS), len(rest))
    return rest[:stop] or rest


def find_meaning(path: str, entity: Words) -> Words:
    """What a value means: its own name, and for a single word what it is said of (`orders[].id` is
    an order's id)."""
    *around, own = path.replace("[]", "").split(".")
    words = split_name(own) or (own.casefold(),)
    if len(words) > 1:
        return words
    holders = (
        found
        for name in reversed(around)
        if (found := split_name(name)) and not set(found) <= WRAPPERS
    )
    holder = next(holders, entity)
    return words if holder[-1:] == words else (*holder, *words)


def is_ending(tool: str) -> bool:
    """Whether a tool ends what it is about, by its verb; a service's name may stand before it."""
    return bool(ENDINGS & set(split_name(tool)[:2]))


def is_taking_back(tool: str) -> bool:
    """Whether nobody calls it of what they have just made."""
    return bool((ENDINGS | BACKING_OUT) & set(split_name(tool)[:2]))


def is_control(words: Words) -> bool:
    """Paging, sorting and the like, whose values say nothing of records."""
    if words[-1] in CONTROL or (words[0] in BOUNDS and words[1:]):
        return True
    return words[-1] == "token" and bool(
        {"next", "page", "continuation", "client", "pagination"} & set(words)
    )
