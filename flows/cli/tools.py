"""`tools`: documents of tools read, audited, and parted into domains, before anything is made of
them."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text

if TYPE_CHECKING:
    from envmill.interop.importers.tools.base import ToolHarvest
    from envmill.toolgraph.outlining import OutlinePart
    from schemas.sketch import ToolSketch

_ACTIONS = ("read", "audit", "propose")


def tools(
    context: typer.Context,  # noqa: ARG001  every command has it
    action: Annotated[
        str,
        typer.Argument(
            help="read: what the documents hold. audit: arguments that cannot be supplied. propose: domains."
        ),
    ],
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            help="Like botocore:sqs, openapi:FILE, mcp:FILE; the factory's own when left out."
        ),
    ] = None,
    remarks: Annotated[
        bool, typer.Option("--remarks", help="With read: what was not mapped as it stood, and why.")
    ] = False,
    seed: Annotated[
        int, typer.Option(help="With propose: seed of the partition and of the walks.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="With propose: JSON file for the domains with tools, tables, walks and what is "
            "left out."
        ),
    ] = None,
) -> None:
    """Read documents of tools: what they hold, what prevents calls, and which environments could be made of them.

    No model is asked and no code is written. A recipe that starts from documents makes the
    environments: see `envmill run --documents`.
    """
    from envmill.interop.importers.tools import read_sources
    from flows.cli.table import show

    if action not in _ACTIONS:
        raise SettingsError(f"There is no action {action}. Known: {', '.join(_ACTIONS)}.")
    harvests = read_sources(",".join(documents or []))
    sketches = [sketch for harvest in harvests.values() for sketch in harvest.sketches]
    if action == "read":
        return _show_read(harvests, sketches, remarks=remarks)
    if action == "audit":
        return show(["tool", "input", "means"], list(asyncio.run(_audit(sketches))))
    parts = asyncio.run(_propose(sketches, seed))
    if out:
        _write(parts, out)
    columns = ["domain", "tools", "write", "tables", "walks", "left out", "licence"]
    return show(columns, [_describe(part) for part in parts])


def _show_read(
    harvests: "dict[str, ToolHarvest]", sketches: "Sequence[ToolSketch]", *, remarks: bool
) -> None:
    from flows.cli.table import show

    found = [remark for harvest in harvests.values() for remark in harvest.remarks]
    if remarks:
        show(
            ["tool", "part", "weight", "code", "detail"],
            [tuple(vars(remark).values()) for remark in found],
        )
    else:
        rows = [
            (
                one.name,
                one.service,
                one.effect,
                len(one.inputs.get("properties", {})),
                one.source,
                one.licence,
            )
            for one in sketches
        ]
        show(["tool", "service", "effect", "inputs", "source", "licence"], rows)
    held = sum(harvest.found for harvest in harvests.values())
    print_text(
        f"{len(sketches)} of {held} tools, {len(found)} "
        f"remarks{'' if remarks else ' (--remarks shows them)'}",
        err=True,
    )


async def _audit(sketches: "Sequence[ToolSketch]") -> "Iterator[tuple[str, str, str]]":
    from envmill.toolgraph.audit import audit_graph
    from envmill.toolgraph.evidence.naming import NameEvidence
    from envmill.toolgraph.weaving import weave

    audit = audit_graph(await weave(sketches, [NameEvidence()]))
    print_text(
        f"{len(audit.out_of_reach)} of {len(sketches)} tools cannot be called, whatever is "
        "called before them",
        err=True,
    )
    return ((one.tool, one.path, one.means) for one in audit.unsuppliable)


async def _propose(sketches: "Sequence[ToolSketch]", seed: int) -> "list[OutlinePart]":
    from envmill.toolgraph.outlining import add_walks, outline_proposal
    from envmill.toolgraph.proposing import propose_domains

    parts = [
        part for one in await propose_domains(sketches, seed=seed) for part in outline_proposal(one)
    ]
    return [await add_walks(part, seed) for part in parts]


def _describe(part: "OutlinePart") -> tuple[Any, ...]:
    outline = part.outline
    writing = sum(tool.effect != "query" for tool in outline.tools)
    tables = " ".join(table.name for table in outline.tables)
    return (
        part.name,
        len(outline.tools),
        writing,
        tables,
        len(outline.walks),
        len(outline.left_out),
        part.licence,
    )


def _write(parts: "list[OutlinePart]", out: Path) -> None:
    import json

    if out.exists():
        raise SettingsError(f"{out} exists already. Name a file that does not, or remove it first.")
    told = [
        {
            "name": part.name,
            "licence": part.licence,
            "outline": part.outline.model_dump(mode="json"),
        }
        for part in parts
    ]
    out.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
