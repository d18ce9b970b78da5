"""A corpus to mine themes from: rows of a JSONL or Parquet file, each text once, in order."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# (pyarrow ships no types)

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
from pyarrow import ArrowException, parquet

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from schemas.base import Json, digest, is_object

OWN = "own"
"""Names the texts that come with the factory."""
_OWN_FILE = ROOT / "data/seeds/tasks.jsonl"
OWN_LICENCE = "Apache-2.0"
"""Of what was written for the factory."""
_NO_LICENCE = "unknown"


@dataclass(frozen=True)
class Text:
    """One text of a corpus."""

    text: str
    licence: str

    @property
    def id(self) -> str:
        """By its words alone, so that its place in the file is of no account."""
        return f"txt_{digest(self.text)}"


def read_corpus(place: str, column: str, most: int | None = None) -> list[Text]:
    """Texts that say something, each once; of several the first counts."""
    path = _OWN_FILE if place == OWN else Path(place)
    texts: dict[str, Text] = {}
    for number, row in enumerate(_read_rows(path), 1):
        said = row.get(column)
        if not isinstance(said, str):
            known = ", ".join(sorted(row)) or "none"
            raise SettingsError(
                f"{path}, row {number}, has no text under {column!r}; its columns are {known}. "
                "Name one with `column`."
            )
        licence = row.get("licence") or row.get("license") or _NO_LICENCE
        if words := " ".join(said.split()):
            texts.setdefault(words, Text(words, str(licence)))
    if not texts:
        raise SettingsError(
            f"{path} holds no text under {column!r}. Give another file with `corpus`."
        )
    return list(texts.values())[:most]


def _read_rows(path: Path) -> Iterator[dict[str, Json]]:
    if not path.is_file():
        raise SettingsError(
            f"There is no file {path} to mine. Give `corpus` a JSONL or Parquet file, or {OWN!r} "
            "for the texts that come along."
        )
    if path.suffix == ".parquet":
        yield from _read_parquet(path)
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row: Json = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise SettingsError(
                    f"{path}, line {number}, is not JSON ({error}). A corpus is JSONL, one object "
                    "a line, or Parquet."
                ) from error
            if not is_object(row):
                raise SettingsError(
                    f"{path}, line {number}, is not an object. A corpus is JSONL, one object a line, "
                    "or Parquet."
                )
            yield row


def _read_parquet(path: Path) -> Iterator[dict[str, Json]]:
    try:
        for batch in parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except ArrowException as error:
        raise SettingsError(
            f"{path} is not a readable Parquet file ({error}). Write it again, or give JSONL."
        ) from error
