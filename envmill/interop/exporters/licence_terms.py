"""Terms of providers and licences, as a user of EnvMill wrote them down: which rows may be used for
training.

terms.toml ─► TermsFile ─► of each source: allowed, forbidden, or nobody said ─► rows that stay at home
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.interop.exporters.sources import SCRIPT, RowSource, SourceRole
from schemas.base import Contract

OWN = "own"
"""Terms of scripts and of the embedded author, which are the factory's own."""
_OWN = (f"{SCRIPT}*", "offline", "offline:*")
_ALL: tuple[SourceRole, ...] = ("seed", "author", "judge", "user", "teacher")
TermsVerdict = Literal["allowed", "forbidden", "unknown"]
_EXAMPLE = '[[terms]]\nid = "acme-2026"\nmodels = ["openai:acme-*"]\ntrain = false'


class ProviderTerms(Contract):
    """What a provider's terms say about its models' output, or what a licence says."""

    id: str
    """Short name, as cards show it."""
    models: tuple[str, ...] = ()
    """Models to which it applies, as `provider:model@server`; `*` stands for anything. Without a
    server it applies to all servers."""
    licences: tuple[str, ...] = ()
    """Licences of seeds to which it applies."""
    roles: tuple[SourceRole, ...] = _ALL
    """Roles in which these models or seeds count."""
    train: bool = True
    """Whether rows from these sources may be used for training."""


class _TermsTable(Contract):
    terms: list[ProviderTerms]


@dataclass(frozen=True)
class TermsFile:
    """Terms that apply to an export."""

    terms: tuple[ProviderTerms, ...]
    mark: str
    """Hash of the file, for cards."""

    @classmethod
    def read(cls, path: Path) -> "TermsFile":
        try:
            content = path.read_bytes()
            table = _TermsTable.model_validate(tomllib.loads(content.decode("utf-8")))
        except FileNotFoundError as error:
            raise SettingsError(
                f"There is no file {path}. It says which models' rows may be trained on, like:\n"
                f"{_EXAMPLE}"
            ) from error
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{path} cannot be read as TOML: {error}") from error
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise SettingsError(
                f"{path}: {place}: {fault['msg']}. It is written like:\n{_EXAMPLE}"
            ) from error
        if idle := [one.id for one in table.terms if not one.models and not one.licences]:
            raise SettingsError(
                f"{path}: terms {idle[0]!r} name neither models nor licences. Name some, or leave "
                "the entry out."
            )
        return cls(tuple(table.terms), blake2b(content, digest_size=6).hexdigest())

    def find(self, source: RowSource) -> list[ProviderTerms]:
        """All entries that apply to a source. No entry hides another one."""
        return [one for one in self.terms if source.role in one.roles and is_about(one, source)]

    def judge(self, source: RowSource) -> TermsVerdict:
        """Permission for a source. One entry that forbids is enough; without an entry it is
        unknown."""
        if any(not one.train for one in self.find(source)):
            return "forbidden"
        known = (
            source.role == "seed"
            or _is_own(source)
            or any(is_about(one, source) for one in self.terms)
        )
        return "allowed" if known else "unknown"

    def name(self, source: RowSource) -> str:
        """Ids of the terms that apply to a source; empty if none does."""
        return ", ".join(one.id for one in self.find(source)) or (OWN if _is_own(source) else "")


def read_terms(path: Path | None) -> TermsFile | None:
    """Terms of a file, if one is given."""
    return TermsFile.read(path) if path else None


def judge_row(terms: TermsFile, sources: Iterable[RowSource]) -> TermsVerdict:
    """The strictest permission among a row's sources."""
    found = {terms.judge(one) for one in sources}
    return "forbidden" if "forbidden" in found else "unknown" if "unknown" in found else "allowed"


def _is_own(source: RowSource) -> bool:
    return source.role != "seed" and any(fnmatchcase(source.name, pattern) for pattern in _OWN)


def is_about(terms: ProviderTerms, source: RowSource) -> bool:
    """Whether the entry's patterns fit a source."""
    if source.role == "seed":
        return any(_fits(pattern, source.licence) for pattern in terms.licences)
    return any(
        _fits(pattern, name)
        for pattern in terms.models
        for name in _list_names(pattern, source.name)
    )


def _fits(pattern: str, name: str) -> bool:
    return fnmatchcase(name.casefold(), pattern.casefold())


def _list_names(pattern: str, name: str) -> list[str]:
    """The source's name, and its name without the server if the pattern has none. An `@` before a
    date belongs to the model's name."""
    bare = re.sub(r"@[a-z][a-z0-9_]*$", "", name)
    return [name] if _SERVER.search(pattern) else [name, bare]


_SERVER = re.compile(r"@[a-z*][a-z0-9_*]*$", re.IGNORECASE)
