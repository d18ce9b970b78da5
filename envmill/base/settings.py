"""Where things lie and who answers: read once, at the top, from the environment. Nothing else reads
it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from envmill.base.errors import SettingsError

ROOT = Path(__file__).resolve().parents[2]


_VENDORS = ("openai", "anthropic")
_ENDPOINT = re.compile(r"ENVMILL_ENDPOINT_([A-Z][A-Z0-9_]*?)(_KEY|_STREAM)?")


class Secret:
    """A key that shows itself to nobody who does not ask for it by `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text.strip()

    def reveal(self) -> str:
        """The key, for the one header that bears it."""
        return self._text

    def mask(self, text: str) -> str:
        """A text with the key taken out, such as a server's message that quotes it."""
        return text.replace(self._text, "***") if self._text else text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(***)" if self._text else "Secret()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A key is never written to disk or sent to another process.")


@dataclass(frozen=True)
class Endpoint:
    """Where models are asked, and with which key."""

    url: str
    """Base URL; empty means the vendor's own."""
    key: Secret = field(default_factory=Secret)
    """Key; a server of one's own needs none."""
    key_name: str = ""
    """Variable the key is read from, for messages."""
    stream: bool | None = None
    """Whether answers come in pieces; None has all of them come so but those that are asked for log
    probabilities."""


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
    diagnose_denials: bool
    """Name the system calls that programs are denied. Slower: for finding out why a program fails
    in the jail."""
    listen: str = "127.0.0.1"
    """Address that the local Prefect server listens on. Anything but loopback is for containers: by
    what name it may be asked there is one of `origins`."""
    origins: frozenset[str] = frozenset()
    """Further origins by which browsers reach the local Prefect server, like `https://mill.example`
    of a proxy that adds TLS."""
    database: Secret = field(default_factory=Secret)
    """Database of the local Prefect server, like `postgresql://user:password@host/name`; none for a
    file in the home."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    """Where models are asked: `openai` and `anthropic`, and servers named by
    `ENVMILL_ENDPOINT_NAME`."""
    prices: Path = ROOT / "data/prices.toml"
    """What models cost, as somebody read it."""
    protected: Path = ROOT / "data/protected"
    """Texts and sketches of benchmarks that nothing we make may repeat, as somebody put them
    there."""
    sketches: Path = ROOT / "data/sketches"
    """Sketches of public benchmarks that EnvMill brings along."""
    terms: Path | None = None
    """Terms of models' providers that every export is held to; None holds it to none."""
    calibrations: Path = ROOT / "data/calibration"
    """How judges of suspicions answered known cases: a folder of JSON lines."""
    images: Path = ROOT / "data/images"
    """Root file systems that containers begin with."""
    docker: str = "unix:///var/run/docker.sock"
    """Docker's daemon, for containers."""
    pool_image: str = "envmill"
    """Image of the containers in which the profile `docker` runs flows."""
    dask: str = ""
    """Address of a Dask scheduler, like `tls://host:8786`; empty starts workers on this machine
    when they are asked for."""
    ray: str = ""
    """Address of a Ray cluster, like `host:6379`; empty starts one on this machine when it is asked
    for."""
    engine: str = ""
    """What makes containers, `box` or `docker`; empty for the first that holds here."""
    in_flight: int = 64
    """Most calls of one model at once, shared by all processes of this home; so are the two
    below."""
    requests_per_minute: float | None = None
    """Most requests to one model; None until its server complains."""
    tokens_per_minute: float | None = None
    """Most tokens of one model, input and output."""
    call_seconds: float = 900.0
    """Most a model call may take, retries included. A server that works so long is asked once."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """Read `ENVMILL_*`; paths default to folders inside the checkout."""
        home = Path(environ.get("ENVMILL_HOME") or ROOT / ".envmill").absolute()
        port = environ.get("ENVMILL_PORT") or "4270"
        if not port.isdigit() or int(port) > 65535:
            raise SettingsError(
                f"ENVMILL_PORT is {port!r}, which is not a port: use a number from 0 to 65535."
            )
        return cls(
            home=home,
            lake=_render_place(environ.get("ENVMILL_LAKE") or str(ROOT / "data/lake")),
            bundles=Path(environ.get("ENVMILL_BUNDLES") or ROOT / "data/bundles").absolute(),
            port=int(port),
            author_url=environ.get("ENVMILL_AUTHOR_URL", ""),
            trust_generated_code=environ.get("ENVMILL_TRUST_GENERATED_CODE") == "1",
            diagnose_denials=environ.get("ENVMILL_DIAGNOSE_DENIALS") == "1",
            listen=_read_listen(environ.get("ENVMILL_LISTEN", "")),
            origins=_read_origins(environ.get("ENVMILL_ORIGINS", "")),
            database=_read_database(environ.get("ENVMILL_DATABASE", "").strip()),
            endpoints=_read_endpoints(environ),
            prices=Path(environ.get("ENVMILL_PRICES") or ROOT / "data/prices.toml").absolute(),
            protected=_find_folder(environ, "ENVMILL_PROTECTED", ROOT / "data/protected"),
            sketches=_find_folder(environ, "ENVMILL_SKETCHES", ROOT / "data/sketches"),
            terms=Path(environ["ENVMILL_TERMS"]).absolute()
            if environ.get("ENVMILL_TERMS")
            else None,
            calibrations=Path(
                environ.get("ENVMILL_CALIBRATIONS") or ROOT / "data/calibration"
            ).absolute(),
            docker=environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock",
            engine=environ.get("ENVMILL_ENGINE", ""),
            pool_image=environ.get("ENVMILL_POOL_IMAGE", "").strip() or "envmill",
            dask=environ.get("ENVMILL_DASK", "").strip(),
            ray=environ.get("ENVMILL_RAY", "").strip(),
            images=Path(environ.get("ENVMILL_IMAGES") or ROOT / "data/images").absolute(),
            in_flight=int(_read_number(environ, "ENVMILL_IN_FLIGHT") or 64),
            requests_per_minute=_read_number(environ, "ENVMILL_REQUESTS_PER_MINUTE"),
            tokens_per_minute=_read_number(environ, "ENVMILL_TOKENS_PER_MINUTE"),
            call_seconds=_read_number(environ, "ENVMILL_CALL_SECONDS") or 900.0,
        )


def _read_number(environ: Mapping[str, str], name: str) -> float | None:
    """A number of one or more; None when it is not set."""
    text = environ.get(name, "").strip()
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) or float(text) < 1:
        raise SettingsError(f"{name} is {text!r}: write a number of one or more, or unset it.")
    return float(text)


def _read_listen(text: str) -> str:
    if text and not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", text):
        raise SettingsError(
            f"ENVMILL_LISTEN is {text!r}: write an IPv4 address, like 0.0.0.0 in a container, or unset it."
        )
    return text or "127.0.0.1"


def _read_origins(text: str) -> frozenset[str]:
    origins = {origin.strip().lower() for origin in text.split(",") if origin.strip()}
    for origin in origins:
        if not re.fullmatch(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?", origin):
            raise SettingsError(
                f"ENVMILL_ORIGINS holds {origin!r}: write origins like https://mill.example, "
                "separated by commas."
            )
    # Browsers leave out the usual port.
    return frozenset(
        origin.removesuffix(":443" if origin.startswith("https:") else ":80") for origin in origins
    )


def _read_database(text: str) -> Secret:
    """The address may hold a password: it is never shown."""
    scheme, _, rest = text.partition("://")
    if text and (scheme not in ("postgresql", "postgresql+asyncpg", "postgres") or not rest):
        raise SettingsError(
            "ENVMILL_DATABASE is not a PostgreSQL address: write it like "
            "postgresql://user:password@host:5432/name, or unset it."
        )
    return Secret(f"postgresql+asyncpg://{rest}" if text else "")


def _find_folder(environ: Mapping[str, str], name: str, usual: Path) -> Path:
    """One that was named must be there: looking nowhere would find nothing."""
    if not (text := environ.get(name, "").strip()):
        return usual
    if not Path(text).is_dir():
        raise SettingsError(
            f"{name} is {text!r}, and there is no such folder: name one that exists, or unset it."
        )
    return Path(text).absolute()


def _render_place(text: str) -> str:
    """A URL as it is, a path made absolute."""
    return text if "://" in text else str(Path(text).absolute())


def _read_endpoints(environ: Mapping[str, str]) -> dict[str, Endpoint]:
    vendors = {
        name: (f"ENVMILL_{name.upper()}", f"ENVMILL_{name.upper()}_URL", f"{name.upper()}_API_KEY")
        for name in _VENDORS
    }
    named = [match[1] for name in environ if (match := _ENDPOINT.fullmatch(name)) and not match[2]]
    if taken := {name.lower() for name in named} & vendors.keys():
        raise SettingsError(
            f"ENVMILL_ENDPOINT_{taken.pop().upper()} has a vendor's name: choose another for a "
            "server of your own."
        )
    roots = {name.lower(): f"ENVMILL_ENDPOINT_{name}" for name in sorted(named)}
    variables_of = vendors | {name: (root, root, f"{root}_KEY") for name, root in roots.items()}
    return {name: _read_endpoint(environ, *variables) for name, variables in variables_of.items()}


def _read_endpoint(environ: Mapping[str, str], root: str, url_name: str, key_name: str) -> Endpoint:
    url = environ.get(url_name, "").strip()
    if url and not re.fullmatch(r"https?://[^\s@]+", url):
        raise SettingsError(
            f"{url_name} is not an address: write it like http://127.0.0.1:8000/v1, and give a key as "
            f"{key_name}."
        )
    stream = environ.get(f"{root}_STREAM", "").strip()
    if stream not in ("", "0", "1"):
        raise SettingsError(
            f"{root}_STREAM is {stream!r}: write 1 for streamed answers, 0 for whole answers, or unset it."
        )
    return Endpoint(
        url, Secret(environ.get(key_name, "")), key_name, stream == "1" if stream else None
    )
