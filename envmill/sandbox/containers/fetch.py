# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A base image by reference: what a registry or Docker's daemon holds, as one tarball in the
cache."""

import contextlib
import tempfile
from pathlib import Path

from docker.errors import APIError, DockerException, NotFound

from envmill.base.errors import SandboxError
from envmill.sandbox.containers.docker import connect
from envmill.sandbox.containers.image import CachedImage, import_base


def fetch_base(images: Path, host: str, reference: str) -> CachedImage:
    """Take the root file system of an image. It needs bash, and for Docker python3; nobody looks
    whether the packages are in it."""
    with tempfile.TemporaryDirectory(prefix="envmill-") as folder:
        tarball = Path(folder) / "root.tar"
        try:
            _export(host, reference, tarball)
        except (DockerException, OSError) as error:
            raise SandboxError(
                f"{reference} cannot be fetched: {str(error)[:300]}. `envmill base` without --from "
                "makes one here."
            ) from None
        return import_base(images, tarball, reference)


def _export(host: str, reference: str, target: Path) -> None:
    client = connect(host)
    with contextlib.closing(client):
        try:
            client.inspect_image(reference)
        except NotFound:
            client.pull(reference)
        number: str = client.create_container(reference, command=["true"])["Id"]
        try:
            with target.open("wb") as file:
                for piece in client.export(number):
                    file.write(piece)
        finally:
            with contextlib.suppress(APIError):
                client.remove_container(number, force=True)
