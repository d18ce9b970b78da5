"""Names of lake files: what made a file can be read off its name.

<table>/run=<run>/<step>-<bucket>-<fp8>-a<n>.parquet     a batch; counts once its attrition file is there
<table>/run=<run>/merged-<n>-<writer>-<k>.parquet        made by compaction; counts once record n names it
<table>/run=<run>/<anything else>.parquet                run events, sealed journals; counts at once
"""

import re
from dataclasses import dataclass

_STEM = re.compile(r"(?P<step>[a-z]+-[a-z]+)-(?P<bucket>\d{2})-(?P<fp8>[0-9a-f]{8})-a(?P<attempt>\d+)")
_MERGED = re.compile(r"merged-(?P<number>\d{6})-(?P<writer>[0-9a-f]{8})-(?P<part>\d+)")


@dataclass(frozen=True)
class Mark:
    """A step as it was configured: rows of another mark are somebody else's work."""

    step: str
    fingerprint: str

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

    @property
    def stem(self) -> str:
        return f"{self.step}-{self.bucket:02d}-{self.fp8}-a{self.attempt}"

    @classmethod
    def parse(cls, stem: str) -> "BatchName | None":
        """None for files that no batch made."""
        found = _STEM.fullmatch(stem)
        return cls(found["step"], int(found["bucket"]), found["fp8"], int(found["attempt"])) if found else None


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


def folder_of(table: str, run: str) -> str:
    """Where a table keeps a run."""
    return f"{table}/run={run}"


def file_name(table: str, run: str, stem: str) -> str:
    """Where a Parquet file lies in its store."""
    return f"{folder_of(table, run)}/{stem}.parquet"
