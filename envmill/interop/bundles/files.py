"""Files of a bundle folder as the factory reads them: with the reader that exported folders carry,
and into records."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from envmill.base.errors import SettingsError
from envmill.interop.bundles.envrun import files as carried
from envmill.interop.bundles.envrun.files import MAX_FILE, MAX_FOLDER, render_fault
from schemas.base import Json

__all__ = ["MAX_FILE", "MAX_FOLDER", "Files", "fault"]

M = TypeVar("M", bound=BaseModel)


def fault(file: str, what: str, mend: str, place: str = "") -> SettingsError:
    """A complaint about a folder."""
    return SettingsError(render_fault(file, what, mend, place), file=file, place=place)


class Files(carried.PlainFiles):
    """The files of one folder; complaints are errors of the factory."""

    complain = staticmethod(fault)

    def read(self, path: str, record: type[M]) -> M:
        """A file as a record."""
        return self.fit(path, self.json(path), record)

    def fit(self, path: str, value: Json, record: type[M], place: str = "") -> M:
        """A value out of a file as a record."""
        try:
            return record.model_validate(value)
        except ValidationError as error:
            raise fault(path, *_explain(error, record), _render_place(place, error)) from None


def _explain(error: ValidationError, record: type[BaseModel]) -> tuple[str, str]:
    """The first error, and how to mend it."""
    first = error.errors(include_url=False)[0]
    more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        return (
            f"the field {first['loc'][-1]!r} is unknown{more}",
            f"Known to {record.__name__}: {', '.join(record.model_fields)}.",
        )
    if first["type"] == "missing":
        return f"the field {first['loc'][-1]!r} is missing{more}", "Add it."
    return (
        f"{first['msg']}, and it is {str(first['input'])[:80]!r}{more}",
        "Correct it; docs/bundle-folder.md says what stands there.",
    )


def _render_place(place: str, error: ValidationError) -> str:
    return ".".join(
        [*([place] if place else []), *map(str, error.errors(include_url=False)[0]["loc"])]
    )
