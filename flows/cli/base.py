"""`base`: the root file system that terminal environments begin with, made on this machine or taken
from a registry."""

from typing import Annotated

import typer

from flows.cli.printing import print_text


def base(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="An image that a registry or Docker's daemon holds, instead of making one.",
            metavar="REFERENCE",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make it again where there is one, with newer packages.")
    ] = False,
) -> None:
    """Make the base image of terminal environments: Debian with the packages of
    data/seeds/base/packages.txt, by debootstrap, as root.

    It takes a minute or two and needs Debian's archive only. It is stored as one tarball with its digest
    under data/images, or ENVMILL_IMAGES.
    """
    from envmill.base.errors import SandboxError
    from envmill.sandbox.containers.fetch import fetch_base
    from envmill.sandbox.containers.image import build_base, find_base

    settings = context.obj.settings
    try:
        image, told = find_base(settings.images), "is there"
    except SandboxError:
        image, told = None, ""
    if image is None or again or source:
        image, told = (
            (
                fetch_base(settings.images, settings.docker, source)
                if source
                else build_base(settings.images)
            ),
            "made",
        )
    packages = f", {len(image.packages)} packages" if image.packages else ""
    print_text(f"{told}: {image.folder}, sha256:{image.digest}{packages}")
