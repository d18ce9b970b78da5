"""A server elsewhere, with a login and a certificate of its own."""

import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from envmill.base.errors import SettingsError
from flows.local.api import connect
from flows.local.errors import NoServer, ServerRefused
from flows.local.home import Home
from flows.local.private import make_headers

AUTH = "me:there"


@dataclass
class Elsewhere:
    url: str
    certificate: Path
    seen: list[str | None] = field(default_factory=list)


def write_certificate(place: Path) -> None:
    """One file with the key and a certificate for 127.0.0.1 that signs itself."""
    key, name, now = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")]),
        datetime.now(UTC),
    )
    made = (
        x509.CertificateBuilder(
            name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1)
        )
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    place.write_bytes(private + made.public_bytes(pem))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    certificate = tmp_path / "server.pem"
    write_certificate(certificate)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers["Authorization"]
            found.seen.append(given)
            body = json.dumps(True).encode()
            self.send_response(200 if given == make_headers(AUTH)["Authorization"] else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        found = Elsewhere(f"https://127.0.0.1:{server.server_address[1]}", certificate)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


def ask(folder: Path, url: str, **login: str) -> Any:
    home = Home.read(
        {"ENVMILL_HOME": str(folder / "home"), "PREFECT_API_URL": f"{url}/api", **login}
    )
    with connect(home, url, patience=0) as api:
        return api.get("/health")


def test_a_login_and_a_certificate_are_shown_and_checked(
    tmp_path: Path, elsewhere: Elsewhere
) -> None:
    known = {"PREFECT_API_SSL_CERT_FILE": str(elsewhere.certificate)}
    assert ask(tmp_path, elsewhere.url, PREFECT_API_AUTH_STRING=AUTH, **known) is True
    custom = json.dumps(make_headers(AUTH))
    assert (
        ask(
            tmp_path,
            elsewhere.url,
            PREFECT_CLIENT_CUSTOM_HEADERS=custom,
            PREFECT_API_TLS_INSECURE_SKIP_VERIFY="true",
        )
        is True
    )
    elsewhere.seen.clear()
    with pytest.raises(NoServer, match="certificate"):
        ask(tmp_path, elsewhere.url, PREFECT_API_AUTH_STRING=AUTH)
    assert elsewhere.seen == [], "what is not trusted is told nothing"
    with pytest.raises(ServerRefused, match="set PREFECT_API_AUTH_STRING"):
        ask(tmp_path, elsewhere.url, PREFECT_API_KEY="wrong", **known)


@pytest.mark.parametrize("custom", ["x", "[]", "1"])
def test_headers_that_are_none_are_told(tmp_path: Path, custom: str) -> None:
    with pytest.raises(SettingsError, match="is not a JSON object"):
        ask(tmp_path, "http://127.0.0.1:1", PREFECT_CLIENT_CUSTOM_HEADERS=custom)
