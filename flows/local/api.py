"""Prefect's HTTP interface, as little of it as the command line needs. Importing Prefect takes seconds; this does not."""

import time
from types import TracebackType
from typing import Any

import httpx

from flows.local.errors import NoServer, Refused


class Api:
    """A connection to one server."""

    def __init__(self, url: str, patience: float = 30) -> None:
        self.url = url
        self._patience = patience
        # A proxy from the environment must never see loopback requests.
        self._client = httpx.Client(base_url=f"{url}/api", timeout=httpx.Timeout(10, read=30), trust_env=False)

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        return self._ask("POST", path, body)

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
                    f"The server at {self.url} does not answer ({error or type(error).__name__}). Start it with `envmill up`."
                )
            else:
                if answer.status_code < 400:
                    return answer.json() if answer.content else None
                failure = Refused(
                    f"The server refused {method} {path}: {answer.status_code} {answer.text[:500]}", status=answer.status_code
                )
                if answer.status_code != 503:
                    raise failure
            if time.monotonic() > deadline:
                raise failure
            time.sleep(0.5)

    def find_deployment(self, name: str) -> str:
        """Deployment id by `flow/deployment`."""
        try:
            return self.get(f"/deployments/name/{name}")["id"]
        except Refused as error:
            if error.facts["status"] != 404:
                raise
            raise NoServer(f"The server at {self.url} has no deployment {name}. Bring it back with `envmill up`.") from error
