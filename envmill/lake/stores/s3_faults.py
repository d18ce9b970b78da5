"""Why S3 did not do what was asked, and what to do about it."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (botocore ships no types)

from envmill.base.errors import LakeError, LakeUnreachable

_KEYS = "Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for keys that end, AWS_SESSION_TOKEN; then `envmill up`, and run again"
_MENDS = {
    "InvalidAccessKeyId": f"The store does not know the access key. {_KEYS}.",
    "SignatureDoesNotMatch": f"The secret key does not belong to the access key. {_KEYS}.",
    "ExpiredToken": f"The session's keys have expired; what is finished is saved. Get new ones. {_KEYS}.",
    "ExpiredTokenException": f"The session's keys have expired; what is finished is saved. Get new ones. {_KEYS}.",
    "InvalidToken": f"The session token is not valid. {_KEYS}.",
    "NoCredentialsError": f"There are no keys. {_KEYS}.",
    "PartialCredentialsError": f"Half of the keys is missing. {_KEYS}.",
    "AccessDenied": "The keys may not do this. Allow them to get, put, list and delete below the prefix, then run again.",
    "403": "The keys may not do this, or are wrong. Check them and what they may do below the prefix, then run again.",
    "RequestTimeTooSkewed": "This machine's clock differs from the store's by more than the store allows (15 minutes). Set the clock "
    "(timedatectl set-ntp true), then run again.",
    "NoSuchBucket": "The object store has no such bucket. Check ENVMILL_LAKE and AWS_ENDPOINT_URL, or make the bucket, then run again.",
}
_AWAY = (
    "InternalError",
    "ServiceUnavailable",
    "SlowDown",
    "RequestTimeout",
    "500",
    "502",
    "503",
    "504",
)
_LOST = (
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ConnectionClosedError",
    "HTTPClientError",
)


def describe(what: str, place: str, error: BaseException) -> LakeError:
    """The error to raise: LakeUnreachable where asking again may help."""
    code = find_code(error)
    if mend := _MENDS.get(code):
        return LakeError(f"Cannot {what} {place}: {error}. {mend}", code=code)
    if (
        code in _AWAY
        or any(name in _LOST for name in _names(error))
        or isinstance(error, ConnectionError | TimeoutError)
    ):
        return LakeUnreachable(
            f"Cannot {what} {place}: the store cannot be reached or cannot serve now ({error}). It is safe to run again."
        )
    return LakeError(
        f"Cannot {what} {place}: {error}. Check the object-store bucket, its rights and AWS_ENDPOINT_URL, then run again.",
        code=code,
    )


def find_code(error: BaseException) -> str:
    """The service's own error code, below what s3fs made of it; the name of an error that came before any answer."""
    for each in (error.__cause__, error):
        if code := str((getattr(each, "response", None) or {}).get("Error", {}).get("Code", "")):
            return code
    return type(error).__name__


def _names(error: BaseException) -> list[str]:
    """Of the error's classes, and of its cause's."""
    return [
        kind.__name__
        for each in (error, error.__cause__)
        if each is not None
        for kind in type(each).__mro__
    ]
