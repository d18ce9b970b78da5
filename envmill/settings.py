"""Where things lie and who answers: read once, at the top, from the environment. Nothing else reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from envmill.errors import SettingsError

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Settings:
    """One process's settings."""

    home: Path
    """Server, journals, locks, pids, logs."""
    lake: str
    """Parquet tables: a folder, or a URL like `s3://bucket/prefix`."""
    bundles: Path
    """Exported folders."""
    port: int
    """Port of the local Prefect server; 0 picks a free one."""
    author_url: str
    """Where the offline author is served; empty means in this process."""
    trust_generated_code: bool
    """Run generated code even where the kernel offers no isolation."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """Read `ENVMILL_*`; paths default to folders inside the checkout."""
        home = Path(environ.get("ENVMILL_HOME") or ROOT / ".envmill").absolute()
        port = environ.get("ENVMILL_PORT") or "4270"
        if not port.isdigit() or int(port) > 65535:
            raise SettingsError(f"ENVMILL_PORT is {port!r}, which is no port: use a number from 0 to 65535.")
        return cls(
            home=home,
            lake=_spell_place(environ.get("ENVMILL_LAKE") or str(ROOT / "data/lake")),
            bundles=Path(environ.get("ENVMILL_BUNDLES") or ROOT / "data/bundles").absolute(),
            port=int(port),
            author_url=environ.get("ENVMILL_AUTHOR_URL", ""),
            trust_generated_code=environ.get("ENVMILL_TRUST_GENERATED_CODE") == "1",
        )


def _spell_place(text: str) -> str:
    """A URL as it is, a path made absolute."""
    return text if "://" in text else str(Path(text).absolute())
