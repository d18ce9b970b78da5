"""A store that refuses or is away: each cause has a message that says what to do, and what mends itself is waited for."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from s3fs import S3FileSystem

from envmill.base.errors import LakeError, LakeUnreachable
from envmill.lake.stores import S3Store
from tests.lake.conftest import KEYS

ASKED: dict[str, Callable[[S3Store], object]] = {
    "list": lambda store: store.entries("attrition"),
    "read": lambda store: store.read("a"),
    "write": lambda store: store.put_if_absent("a", b"a"),
    "delete": lambda store: store.delete("a"),
}


@contextlib.contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, *words: str) -> Iterator[S3Store]:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.lake.s3_refusing", *words], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        for name, value in (
            KEYS | {"AWS_ENDPOINT_URL": server.stdout.readline().strip(), "AWS_MAX_ATTEMPTS": "1"}
        ).items():
            monkeypatch.setenv(name, value)
        S3FileSystem.clear_instance_cache()
        store = S3Store("s3://envmill/lake")
        store.filesystem.retries = 1
        store.patience = 0.0
        yield store
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        S3FileSystem.clear_instance_cache()


@pytest.mark.long(cases=2)
@pytest.mark.parametrize(
    ("code", "status", "mend"),
    [
        ("InvalidAccessKeyId", 403, "does not know the access key.*AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", 403, "secret key does not belong.*AWS_SECRET_ACCESS_KEY"),
        ("ExpiredToken", 400, "keys have expired; what is finished is saved.*AWS_SESSION_TOKEN"),
        ("AccessDenied", 403, "Allow them to get, put, list and delete"),
        ("RequestTimeTooSkewed", 403, "clock differs.*timedatectl"),
        ("NoSuchBucket", 404, "no such bucket.*ENVMILL_LAKE"),
    ],
)
def test_what_the_store_refuses_for_good_is_named(
    code: str, status: int, mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing(monkeypatch, code, str(status)) as store:
        for what, ask in ASKED.items():
            if (what, code) == ("delete", "NoSuchBucket"):
                continue
            with pytest.raises(
                LakeError, match=f"(?s)Cannot {what} s3://envmill/lake/.*{mend}"
            ) as refused:
                ask(store)
            assert not refused.value.retryable


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("code", ["InternalError", "SlowDown", "ServiceUnavailable"])
def test_what_mends_itself_is_asked_again(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing(monkeypatch, code, "503", "4") as store:
        store.patience = 30.0
        assert store.entries("attrition") == []
    with (
        refusing(monkeypatch, code, "503") as store,
        pytest.raises(LakeUnreachable, match=r"cannot serve now.*safe to run again") as away,
    ):
        store.entries("attrition")
    assert away.value.retryable


def test_a_store_that_nobody_serves_is_away_and_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing(monkeypatch, "x", "500") as store:
        pass
    for ask in ASKED.values():
        with pytest.raises(LakeUnreachable, match="cannot be reached"):
            ask(store)


def test_no_keys_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with refusing(monkeypatch, "x", "500"):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("HOME", str(tmp_path))
        S3FileSystem.clear_instance_cache()
        with pytest.raises(LakeError, match=r"There are no keys.*AWS_ACCESS_KEY_ID"):
            S3Store("s3://envmill/lake").entries("attrition")
