"""Documents on disk: JSON, or YAML where a file says so by its ending."""

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.interop.importers.tools.base import ToolHarvest
from schemas.base import Json, is_array, is_object

ENDINGS = (".json", ".yaml", ".yml")
MOST = 64 * 2**20
"""Bytes of a document: the largest public ones have 15 MB."""
MOST_VALUES = MOST // 16
"""About: in memory an empty list of three characters takes 64 bytes."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def read_files(sources: Sequence[str], harvest: ToolHarvest) -> Iterator[tuple[Path, Json]]:
    """Each file, and each file of a folder that ends like a document; what cannot be read is a
    remark."""
    for source in sources:
        place = Path(source)
        if not place.exists():
            raise SettingsError(
                f"There is nothing at {place}. Name a document, or a folder of documents "
                f"({', '.join(ENDINGS)})."
            )
        for path in (
            sorted(one for one in place.rglob("*") if one.suffix in ENDINGS)
            if place.is_dir()
            else [place]
        ):
            try:
                yield path, _read(path, followed=path is place)
            except (ValueError, RecursionError, OSError) as error:
                harvest.refuse(
                    path.name,
                    "unreadable",
                    str(error).splitlines()[0][:200] or type(error).__name__,
                )


def _read(path: Path, *, followed: bool) -> Json:
    """A link is followed where the operator named it, and not where a folder of strangers holds
    it."""
    handle = os.open(
        path, os.O_RDONLY | os.O_CLOEXEC | (0 if followed else os.O_NOFOLLOW | os.O_NONBLOCK)
    )
    with os.fdopen(handle, "rb") as opened:
        if not followed and not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("no plain file: links and devices are not followed")
        content = opened.read(MOST + 1)
    if len(content) > MOST:
        raise ValueError(f"larger than {MOST >> 20} MB")
    if sum(map(content.count, (b",", b"[", b"{", b"\n-"))) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")
    text = content.decode("utf-8-sig")
    return _read_json(text) if path.suffix == ".json" else _read_yaml(text)


def _read_json(text: str) -> Json:
    value = json.loads(text, parse_constant=_refuse)
    if "\\u" in text:
        # Half a character could never be written again.
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _refuse(word: str) -> Json:
    raise ValueError(f"{word} is no JSON")


def _read_yaml(text: str) -> Json:
    """What JSON could say: keys as texts (`200:` is a number to YAML), dates as they are
    written."""
    import yaml  # late: only those who read YAML

    if _HALF.search(text):
        raise ValueError("half a character")

    class Plain(yaml.SafeLoader):
        """Safe, and without dates."""

    Plain.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return _render_keys(yaml.load(text, Plain), {})
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from error


def _render_keys(value: Json, done: dict[int, Json]) -> Json:
    """What an alias repeats is rendered once and stays shared: written out, nine lines can be
    gigabytes."""
    if id(value) in done:
        return done[id(value)]
    if is_object(value):
        done[id(value)] = {_render(key): _render_keys(item, done) for key, item in value.items()}
    elif is_array(value):
        done[id(value)] = [_render_keys(item, done) for item in value]
    else:
        return value
    return done[id(value)]


def _render(key: Json) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
