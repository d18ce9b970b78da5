"""A report's data as the page reads it."""

import base64
import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any


def overview(folder: Path) -> dict[str, Any]:
    text = (folder / "data/overview.js").read_text("utf-8")
    assert text.startswith("OVERVIEW = ")
    return json.loads(text.removeprefix("OVERVIEW = ").rstrip().removesuffix(";"))


def unpack(folder: Path, name: str) -> Any:
    text = (folder / f"data/{name}.js").read_text("ascii")
    found = re.fullmatch(r'receive\("([a-z0-9-]+)","([A-Za-z0-9+/=]*)"\);\n', text)
    assert found is not None
    assert found[1] == name
    return json.loads(gzip.decompress(base64.b64decode(found[2])))


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """A list, row by row."""
    packed = unpack(folder, name)
    columns = {
        key: held if isinstance(held, list) else [held["of"][one] for one in held["is"]]
        for key, held in packed["columns"].items()
    }
    return [{key: values[row] for key, values in columns.items()} for row in range(packed["count"])]


def record(folder: Path, id: str) -> dict[str, Any]:
    return unpack(folder, f"records-{zlib.crc32(id.encode()) % overview(folder)['parts']}")[id]
