"""Names as words: `DBInstanceIdentifiers` and `db_instance_id` have the same meaning, and `id`
takes the meaning of the thing that it identifies."""

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
"""Last words of names of values that a user cannot know."""
REFERENCES = IDENTIFIERS | {"name", "key", "code", "number", "title", "email"}
"""Last words of names of references. A reference cannot select a thing of another kind."""
LABELS = frozenset({"tag", "label", "annotation"})
"""First words of names of labels that can be attached to things of any kind."""
CONTROL = frozenset(
    {"limit", "offset", "page", "cursor", "marker", "sort", "size", "format", "filter", "field"}
)
"""Last words of names of parameters that control a reply, such as paging, and say nothing about
records."""
BOUNDS = frozenset({"max", "min", "maximum", "minimum"})
"""First words of names of such parameters."""
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
"""Words without a meaning of their own: two are equal only if the things that they describe are
equal."""
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
"""Last words of parameters that may take a composed text. A bucket, a type or an address may
not."""
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
"""Names of wrapper objects."""

ENDINGS = frozenset({"delete", "remove", "terminate", "deregister", "destroy", "drop", "purge"})
"""Verbs of tools that remove a thing."""
BACKING_OUT = frozenset(
    {"cancel", "withdraw", "revoke", "retract", "void", "annul", "undo", "reverse"}
)
"""Verbs of tools that keep a thing but take back its effect."""

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
    """The words of a name in lower case and singular."""
    return tuple(
        _ALIKE.get(word, word)
        for word in map(make_singular, (part.lower() for part in _PART.findall(name)))
    )


@lru_cache(maxsize=100_000)
def make_singular(word: str) -> str:
    """Uses the spelling only. A wrong result is the same everywhere, so equal words stay equal."""
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
    """Entity in a tool's name: the words between the verb and the first preposition."""
    words = split_name(tool)
    verbs = 2 if words[:1] == ("batch",) else 1
    rest = words[verbs:] or words[1:] or words
    stop = next((place for place, word in enumerate(rest) if word in _STOPS), len(rest))
    return rest[:stop] or rest


def find_meaning(path: str, entity: Words) -> Words:
    """Meaning of a value: its own name, and for a single word also the thing that it describes
    (`orders[].id` is an order's id)."""
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
    """Whether the tool's verb says that it ends its entity. A service's name may precede the
    verb."""
    return bool(ENDINGS & set(split_name(tool)[:2]))


def is_taking_back(tool: str) -> bool:
    """Whether the tool takes back something, so that no request asks for it on a record that was
    just made."""
    return bool((ENDINGS | BACKING_OUT) & set(split_name(tool)[:2]))


def is_control(words: Words) -> bool:
    """Whether the parameter controls paging, sorting and the like: its values say nothing about
    records."""
    if words[-1] in CONTROL or (words[0] in BOUNDS and words[1:]):
        return True
    return words[-1] == "token" and bool(
        {"next", "page", "continuation", "client", "pagination"} & set(words)
    )
