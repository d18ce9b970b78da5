"""Names of lake files: what made a file can be read off its name.

<table>/run=<run>/<step>-<bucket>-<fp8>-a<n>.parquet              a batch; counts once its commit is there
attrition/run=<run>/<step>-<bucket>-<fp8>-a<n>-<prefixes>.parquet its commit; names the tables it
has files in by their id prefixes
<table>/run=<run>/merged-<n>-<writer>-<k>.parquet                 made by compaction; counts once record n names it
<table>/run=<run>/<anything else>.parquet                         run events, sealed journals; counts at once
"""

import re
from dataclasses import dataclass

from schemas.tables import TABLES

_STEM = re.compile(
    r"(?P<step>[a-z]+-[a-z]+)-(?P<bucket>\d{2,})-(?P<fp8>[0-9a-f]{8})-a(?P<attempt>\d+)(?P<holds>(-[a-z]+)*)"
)
_MERGED = re.compile(r"merged-(?P<number>\d{6})-(?P<writer>[0-9a-f]{8})-(?P<part>\d+)")


@dataclass(frozen=True)
class Fingerprint:
    """A step as it was configured: rows of another mark are somebody else's work."""

    step: str
    fingerprint: str
    """Empty for the step however it was configured: of another run nobody knows."""

    @property
    def fp8(self) -> str:
        return self.fingerprint[:8]


@dataclass(frozen=True)
class BatchName:
    """Which batch made a file."""

    step: str
    bucket: int
    fp8: str
    attempt: int
    holds: tuple[str, ...] = ()
    """Id prefixes of the tables it has files in besides attrition; only its commit and its claim
    know."""

    @property
    def stem(self) -> str:
        """Of its content files."""
        return f"{start_of(self.step, self.bucket)}{self.fp8}-a{self.attempt}"

    @property
    def commit(self) -> str:
        """Stem of the attrition file that commits it."""
        return "-".join((self.stem, *self.holds))

    def is_in(self, table: str) -> bool:
        """Whether it has a file of that table."""
        return TABLES[table].prefix in self.holds

    @classmethod
    def parse(cls, stem: str) -> "BatchName | None":
        """None for files that no batch made."""
        found = _STEM.fullmatch(stem)
        if not found:
            return None
        return cls(
            found["step"],
            int(found["bucket"]),
            found["fp8"],
            int(found["attempt"]),
            tuple(found["holds"].split("-")[1:]),
        )


@dataclass(frozen=True)
class MergedName:
    """Which compaction made a file."""

    number: int
    writer: str
    part: int

    @property
    def stem(self) -> str:
        return f"merged-{self.number:06d}-{self.writer}-{self.part}"

    @classmethod
    def parse(cls, stem: str) -> "MergedName | None":
        """None for files that no compaction made."""
        found = _MERGED.fullmatch(stem)
        return cls(int(found["number"]), found["writer"], int(found["part"])) if found else None


def start_of(step: str, bucket: int) -> str:
    """How the names of all batches of a bucket start, and of no other's."""
    return f"{step}-{bucket:02d}-"


def folder_of(table: str, run: str) -> str:
    """Where a table keeps a run."""
    return f"{table}/run={run}"


def file_name(table: str, run: str, stem: str) -> str:
    """Where a Parquet file lies in its store."""
    return f"{folder_of(table, run)}/{stem}.parquet"
