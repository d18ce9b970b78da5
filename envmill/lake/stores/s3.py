"""An S3 bucket; `If-None-Match: *` is its put-if-absent."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingImports=false
# (s3fs ships no types and is an extra)

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from envmill.errors import LakeError, SettingsError
from envmill.lake.stores.base import StoredFile

_TRIES, _PAUSE = 6, 0.05  # S3 answers 409 to a put that meets another put of the same name


class S3Store:
    """Objects below one prefix. Endpoint and keys come from the usual AWS settings
    (`AWS_ENDPOINT_URL` and the like)."""

    whole_listing = 1000  # one page
    at_once = 16  # a request takes tens of milliseconds, nearly all of them waiting

    def __init__(self, url: str) -> None:
        try:
            from s3fs import S3FileSystem
        except ImportError as error:
            raise SettingsError(
                "A lake on S3 needs the extra `s3`: pip install 'envmill[s3]'."
            ) from error
        self.url = url.rstrip("/")
        self.filesystem: Any = S3FileSystem(use_listings_cache=False)
        """For DuckDB's `register_filesystem`."""

    def put_if_absent(self, name: str, content: bytes) -> bool:
        for attempt in range(_TRIES):
            try:
                self.filesystem.pipe_file(self.locate(name), content, mode="create")
                return True
            except FileExistsError:
                return self._is_ours(name, content)
            except OSError as error:
                if _code(error) != "ConditionalRequestConflict" or attempt == _TRIES - 1:
                    raise self._cannot("write", name, error) from error
                time.sleep(_PAUSE * 2**attempt)
        return False

    def entries(self, folder: str) -> list[StoredFile]:
        """By pages: a folder of a million files would take 1.5 GB as s3fs lists it."""
        return sorted(
            (
                StoredFile(
                    f"{folder}/{_base(one['Key'])}",
                    int(one["Size"]),
                    cast(datetime, one["LastModified"]).timestamp(),
                )
                for page in self._list(folder)
                for one in page.get("Contents", ())
                if not one["Key"].endswith("/")
            ),
            key=lambda entry: entry.name,
        )

    def folders(self, folder: str) -> list[str]:
        return sorted(
            _base(one["Prefix"])
            for page in self._list(folder)
            for one in page.get("CommonPrefixes", ())
        )

    def read(self, name: str) -> bytes:
        try:
            return cast(bytes, self.filesystem.cat_file(self.locate(name)))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._cannot("read", name, error) from error

    def delete(self, name: str) -> None:
        try:
            self.filesystem.rm_file(self.locate(name))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._cannot("delete", name, error) from error

    def sweep(self, before: float) -> int:  # noqa: ARG002  (a store has it)
        """An object is whole or absent: there is nothing half-written to remove."""
        return 0

    def locate(self, name: str) -> str:
        return f"{self.url}/{name}"

    def _list(self, folder: str) -> Iterator[Mapping[str, Any]]:
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        asked: dict[str, str] = {
            "Bucket": bucket,
            "Prefix": "/".join(filter(None, (prefix, folder))) + "/",
            "Delimiter": "/",
        }
        try:
            while True:
                page = self.filesystem.call_s3("list_objects_v2", **asked)
                yield page
                if not (token := page.get("NextContinuationToken")):
                    return
                asked["ContinuationToken"] = token
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._cannot("list", folder, error) from error

    def _is_ours(self, name: str, content: bytes) -> bool:
        """A put that was retried after a lost answer meets its own object."""
        try:
            return self.read(name) == content
        except FileNotFoundError:
            return False

    def _cannot(self, what: str, name: str, error: OSError) -> LakeError:
        return LakeError(
            f"Cannot {what} {self.locate(name)}: {error}. Check the bucket, its rights and "
            "AWS_ENDPOINT_URL, then run again."
        )


def _base(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]


def _code(error: BaseException) -> str:
    """The service's own error code, below what s3fs made of it."""
    response = getattr(error.__cause__, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))
