"""An object-store bucket on S3; `If-None-Match: *` is its put-if-absent."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingImports=false
# (s3fs ships no types and is an extra)

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, cast

from envmill.base.errors import LakeError, SettingsError
from envmill.lake.stores.base import StoredFile
from envmill.lake.stores.s3_faults import describe, find_code

_PATIENCE, _LONGEST_PAUSE = (
    120.0,
    5.0,
)  # seconds: partitions mend themselves, and a step that fails waits for somebody's hands
_TRIES, _PAUSE = 6, 0.05  # S3 answers 409 to a put that meets another put of the same name


class S3Store:
    """Objects below one prefix. Endpoint and keys come from the usual AWS settings
    (`AWS_ENDPOINT_URL` and the like)."""

    whole_listing = 1000  # one page
    at_once = 16  # a request takes tens of milliseconds, nearly all of them waiting

    def __init__(self, url: str) -> None:
        try:
            from botocore.exceptions import BotoCoreError, ClientError
            from s3fs import S3FileSystem
        except ImportError as error:
            raise SettingsError(
                "A lake on S3 needs the extra `s3`: pip install 'envmill[s3]'."
            ) from error
        self.url = url.rstrip("/")
        self.filesystem: Any = S3FileSystem(use_listings_cache=False)
        """For DuckDB's `register_filesystem`."""
        self.patience = _PATIENCE
        """Seconds for which a store that cannot be reached is asked again."""
        self._faults = (OSError, BotoCoreError, ClientError)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        for attempt in range(_TRIES):
            try:
                self._ask(
                    "write",
                    name,
                    lambda: self.filesystem.pipe_file(self.locate(name), content, mode="create"),
                )
                return True
            except FileExistsError:
                return self._is_ours(name, content)
            except LakeError as error:
                if error.facts.get("code") != "ConditionalRequestConflict" or attempt == _TRIES - 1:
                    raise
                time.sleep(_PAUSE * 2**attempt)
        return False

    def entries(self, folder: str, start: str = "") -> list[StoredFile]:
        """By pages: a folder of a million files would take 1.5 GB as s3fs lists it."""
        return sorted(
            (
                StoredFile(
                    f"{folder}/{_base(one['Key'])}",
                    int(one["Size"]),
                    cast(datetime, one["LastModified"]).timestamp(),
                )
                for page in self._list(folder, start)
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

    def states(self, folder: str, before: float | None = None) -> dict[str, str]:  # noqa: ARG002  (names are no times)
        """All names below the folder, a thousand with each request."""
        start = len("/".join(filter(None, (self._prefix, folder)))) + 1
        found: dict[str, Any] = {}
        for page in self._list(folder, delimiter=""):
            for one in page.get("Contents", ()):
                name, _, rest = one["Key"][start:].partition("/")
                if rest:
                    found.setdefault(name, blake2b(digest_size=8)).update(f"{rest}\n".encode())
        return {name: hashed.hexdigest() for name, hashed in found.items()}

    def read(self, name: str) -> bytes:
        return cast(
            bytes, self._ask("read", name, lambda: self.filesystem.cat_file(self.locate(name)))
        )

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._ask("delete", name, lambda: self.filesystem.rm_file(self.locate(name)))

    def sweep(self, before: float) -> int:  # noqa: ARG002  (a store has it)
        """An object is whole or absent: there is nothing half-written to remove."""
        return 0

    def locate(self, name: str) -> str:
        return f"{self.url}/{name}"

    @property
    def _prefix(self) -> str:
        return self.url.removeprefix("s3://").partition("/")[2]

    def _list(
        self, folder: str, start: str = "", delimiter: str = "/"
    ) -> Iterator[Mapping[str, Any]]:
        asked: dict[str, str] = {
            "Bucket": self.url.removeprefix("s3://").partition("/")[0],
            "Prefix": "/".join([*filter(None, (self._prefix, folder)), start]),
            "Delimiter": delimiter,
        }
        while True:
            try:
                page = self._ask(
                    "list", folder, lambda: self.filesystem.call_s3("list_objects_v2", **asked)
                )
            except FileNotFoundError:
                return
            yield page
            if not (token := page.get("NextContinuationToken")):
                return
            asked["ContinuationToken"] = token

    def _ask(self, what: str, name: str, question: Callable[[], Any]) -> Any:
        """Ask, and ask again while the store cannot be reached. A missing object-store bucket is not reported as a missing file."""
        until, pause = time.monotonic() + self.patience, _PAUSE
        while True:
            try:
                return question()
            except (FileExistsError, FileNotFoundError) as error:
                if find_code(error) == "NoSuchBucket":
                    raise describe(what, self.locate(name), error) from error
                raise
            except self._faults as error:
                fault = describe(what, self.locate(name), self._find_cause(error))
                if not fault.retryable or time.monotonic() >= until:
                    raise fault from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _find_cause(self, error: BaseException) -> BaseException:
        """A request for the head of an object is refused without a reason; a listing is told one."""
        if find_code(error) in ("400", "403"):
            try:
                self.filesystem.ls(self.locate("_runs"), refresh=True)
            except self._faults as cause:
                return cause
        return error

    def _is_ours(self, name: str, content: bytes) -> bool:
        """A put that was retried after a lost answer meets its own object."""
        try:
            return self.read(name) == content
        except FileNotFoundError:
            return False


def _base(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]
