"""`protect`: a sketch of a benchmark, with which gate F3 finds copies of it."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.printing import print_text
from flows.local.home import Home


def protect(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="What the benchmark is called on cards and in evidence.")
    ],
    folder: Annotated[
        Path, typer.Argument(help="Folder that holds its files: .json, .jsonl, .txt and .md.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; NAME.sketch among the protected sets when left out."),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            help="How the folder is laid out: bfcl, tau2 or any. By default the files tell."
        ),
    ] = "",
    embed: Annotated[
        str,
        typer.Option(
            help="Embed tasks with minilm (extra `minilm`), to find paraphrases. Embeddings tell "
            "what a text is about."
        ),
    ] = "",
    version: Annotated[str, typer.Option(help="Version of the benchmark.")] = "",
    licence: Annotated[str, typer.Option(help="Licence of the benchmark.")] = "",
    address: Annotated[str, typer.Option(help="Where the benchmark is published.")] = "",
) -> None:
    """Make a sketch of a benchmark: salted hashes that gate F3 compares texts with. The file holds
    no text of the benchmark.

    Measures which share of planted copies the sketch finds, since that cannot be measured later.
    The same files make the same sketch.
    """
    from envmill.base.errors import SettingsError
    from envmill.gates.protected_texts import make_sketch
    from envmill.gates.protecting.layouts import read_benchmark
    from envmill.gates.protecting.reading import SUFFIX
    from envmill.gates.protecting.sketch import BenchmarkSource, render_sketch

    home: Home = context.obj
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise SettingsError(f"{name!r} is not a file name: use letters, digits, dots and dashes.")
    if embed not in ("", "minilm"):
        raise SettingsError(
            f"{embed!r} is not an embedder of tasks: use minilm, or leave --embed out."
        )
    sketch = make_sketch(
        read_benchmark(folder, layout), BenchmarkSource(name, version, licence, address), embed
    )
    target = out or home.settings.protected / f"{name}{SUFFIX}"
    content = render_sketch(sketch)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    found = (
        ", ".join(f"{kind} {rate:.0%}" for kind, rate in sorted(sketch.power.items()))
        or "not measured: all its texts are short"
    )
    size = (
        f"{len(sketch.names)} texts, {sketch.short} of them short, {len(sketch.tasks)} tasks, "
        f"{len(content)} bytes"
    )
    print_text(f"{target}: {size}; planted copies found: {found}")
