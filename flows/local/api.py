"""Prefect's HTTP interface, as little of it as the command line needs. Importing Prefect takes
seconds; this does not."""

import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx

from flows.local.errors import NoServer, ServerRefused
from flows.local.home import Home

_ASKS_LOGIN = (
    "The server at {url} asks for another login. For one of your own home: `envmill down`, then "
    "`envmill up`. For another: set "
    "PREFECT_API_AUTH_STRING, PREFECT_API_KEY or PREFECT_CLIENT_CUSTOM_HEADERS as its operator "
    "says."
)


def connect(home: Home, url: str, patience: float = 30) -> "Api":
    """A connection to one server, with the credential that this home has for it."""
    return Api(url, patience, home.make_headers(url), _make_verify(url, home.login))


def _make_verify(url: str, login: Mapping[str, str]) -> ssl.SSLContext | bool:
    """How certificates are checked. Reading the machine's own takes 20 ms, which plain HTTP is spared."""
    if url.startswith("http:"):
        return False
    if login.get("PREFECT_API_TLS_INSECURE_SKIP_VERIFY", "").lower() in ("1", "true", "yes", "on"):
        return False
    if certificates := login.get("PREFECT_API_SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=certificates)
    return True


class Api:
    """A connection to one server."""

    def __init__(
        self,
        url: str,
        patience: float = 30,
        headers: Mapping[str, str] | None = None,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self.url = url
        self._patience = patience
        # A proxy from the environment must never see loopback requests.
        self._client = httpx.Client(
            base_url=f"{url}/api",
            timeout=httpx.Timeout(10, read=30),
            trust_env=False,
            headers=headers,
            verify=verify,
        )

    def __enter__(self) -> "Api":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        return self._ask("POST", path, body)

    def patch(self, path: str, body: Any) -> Any:
        return self._ask("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path, None)

    def _ask(self, method: str, path: str, body: Any) -> Any:
        """SQLite under load is answered as 503: wait and ask again."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                answer = self._client.request(method, path, json=body)
            except httpx.TransportError as error:
                failure = NoServer(
                    f"The server at {self.url} does not answer ({error or type(error).__name__}). "
                    "Start it with `envmill up`."
                )
            else:
                if answer.status_code < 400:
                    return answer.json() if answer.content else None
                failure = ServerRefused(
                    f"The server refused {method} {path}: {answer.status_code} {answer.text[:500]}",
                    status=answer.status_code,
                )
                if answer.status_code == 401:
                    failure = ServerRefused(_ASKS_LOGIN.format(url=self.url), status=401)
                if answer.status_code != 503:
                    raise failure
            if time.monotonic() > deadline:
                raise failure
            time.sleep(0.5)

    def find_deployment(self, name: str) -> str:
        """Deployment id by `flow/deployment`."""
        try:
            return self.get(f"/deployments/name/{name}")["id"]
        except ServerRefused as error:
            if error.facts["status"] != 404:
                raise
            raise NoServer(
                f"The server at {self.url} has no deployment {name}. Bring it back with `envmill "
                "up`."
            ) from error
